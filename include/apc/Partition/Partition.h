// module + plan -> the program that the devices run, with its collectives.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Plan/Plan.h"

namespace apc {

/// The program that every device of a stage runs (SPMD); a plan is one stage. On `[data=2 | model=4]` the MLP `relu(x .
/// w1) . w2` with the hidden dim cut over `model` becomes
///
///   %w1 = apc.parameter "w1" "initializer" {apc.sharding = #apc.sharding<#mesh, [-, model]>, apc.shape = ...} : ...
///   %0 = "apc.matmul"(%x, %w1) {apc.strategy = #apc.strategy<#mesh, b0:data n:model>} : ...
///   %1 = "apc.relu"(%0) ...
///   %2 = "apc.matmul"(%1, %w2) {apc.strategy = #apc.strategy<#mesh, b0:data k:model>} : ...
///   %3 = apc.all_reduce %2 <#mesh, AllReduce{model}, [data, -] sum{model} -> [data, -] of [8, 512]> : ...
///
/// Every op of the result works on the piece of one device. The module has the attribute `apc.mesh`; arguments and
/// results of `main` have `apc.name`, `apc.sharding` and `apc.shape` (the whole tensor's), parameters the last two; an
/// op that stands for a planned one has `apc.strategy` and `apc.op`, the name in the plan. Where a cut is uneven,
/// pieces are padded at the end; padding is masked before it could reach a result. A redistribution that several users
/// share is emitted once.
///
/// `module` is the one that was planned (composites recognised). Errors name op and value: a plan that does not fit the
/// module, an illegal strategy, a redistribution that the plan lacks or that does not lead where an op needs it.
llvm::Expected<Program> partition(mlir::ModuleOp module, const Plan &plan);

/// The same for the module of one stage of a pipeline (apc/Transforms/StageModule.h) and its part of the plan. Values
/// that arrive come in the shardings that the plan says, values that leave in those of the sinks' strategies; both ends
/// say them, as parameters do. No op leaves its part.
///
///   %h = apc.receive "h" "micro_batch" "input" {apc.sharding = #apc.sharding<#mesh, [data, -]>, apc.shape = ...} : ...
///
/// The program has `mostDevices` or fewer.
llvm::Expected<StageProgram> partitionStage(mlir::ModuleOp module, const StagePlan &plan, int64_t mostDevices);

/// The mesh that a plan is for: of all its devices, or of fewer when the others have nothing to do. Errors name the
/// axis.
llvm::Expected<Mesh> meshOfPlan(const Plan &plan);

} // namespace apc
