// A program run on all ranks of its mesh.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Interpret/Run.h"
#include "apc/Sharding/Sharding.h"

namespace apc {

/// The piece that `rank` holds of a whole tensor, padded at the end of each uneven dim with poison: NaN for floats,
/// `padding` for integers and bools. 1 is neutral for no sum, maximum or minimum, yet an index and a divisor that most
/// ops accept. Padding that reaches a result is seen there. `sharding` must not be partial.
Tensor shardOf(const Tensor &whole, const Sharding &sharding, const Mesh &mesh, int64_t rank, int64_t padding = 1);

/// The whole tensor of dims `dims` from the pieces of all ranks. An error (no plan: a check failed) when two ranks that
/// hold the same element differ in it.
llvm::Expected<Tensor> assemble(llvm::ArrayRef<Tensor> pieces, llvm::ArrayRef<int64_t> dims, const Sharding &sharding,
                                const Mesh &mesh);

/// Runs a program on every rank of its meshes (`apc.mesh`) and returns its results, whole, in the order of the model.
/// Whole inputs and parameters are cut as their `apc.sharding` says; the module of a stage without a mesh is for one
/// rank.
///
/// Micro-batches are those of `run`. Ranks run in turn, each until it must wait. A collective takes place when all
/// ranks of its group have reached it, and reduces in the order of ranks: runs are reproducible. With a pipeline, each
/// rank runs the actions of its worker. Nobody waits for a receiver: a value is whole as soon as every rank of its
/// stage has sent its piece, and is cut anew for each rank that receives it.
///
/// Faults are errors (no plan: a check failed), found exactly and without a clock: ranks of one group that meet at
/// different collectives; pieces of a value that differ in an element; an action whose part is not the next of its
/// micro-batch; ranks that wait for ever, named with the places they wait at, their actions and values.
///
/// Where an op cannot be evaluated with integers padded with 1 (an index into a table of one row), all ranks run again
/// with 0, which is what those who run emitted programs pad with.
llvm::Expected<std::vector<Tensor>> runGrid(const Program &program, llvm::ArrayRef<Tensor> inputs,
                                            const ParameterSource &parameters);

/// The same from modules: one for all ranks of the mesh, or one for each.
llvm::Expected<std::vector<Tensor>> runRanks(llvm::ArrayRef<mlir::ModuleOp> programs, llvm::ArrayRef<Tensor> inputs,
                                             const ParameterSource &parameters);

} // namespace apc
