// Proof that the stages of a pipeline together do the work of the model.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Every op of `model` stands in exactly one of the modules of its stages (apc/Transforms/StageModule.h), told by its
/// name in the plan, on the side of the end of micro-batches where the model has it: an op that runs with every
/// micro-batch there runs with every one here. Constants and parameters stand wherever they are read. The values that
/// ops read are `verifyStage`'s business. Errors (a failed check) name the op and the stages.
llvm::Error verifyStageOps(mlir::ModuleOp model, llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> stages);

} // namespace apc
