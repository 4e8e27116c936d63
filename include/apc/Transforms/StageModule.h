// module -> the module of one stage of a pipeline.
#pragma once

#include "apc/Graph/StageSplit.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace apc {

/// The module of one stage of `module`, whose graph (`buildGraph`) is `graph`: the ops of `stageGraph`, in its order
/// and with its names, so that `buildGraph` of the stage gives that graph again. `main` takes the inputs that the stage
/// reads and returns the results that it makes.
///
///   x . A = h | h . B = y     stage 1 of a training step:
///   %B = apc.parameter "B" ...
///   %h = apc.receive "h" "micro_batch" "input" ...
///   %y = "apc.matmul"(%h, %B) ...
///   apc.part_end "forward"
///   ... apc.send %dh "dh" "micro_batch" ... apc.part_end "input_gradients" ... (dB)
///   apc.micro_batch_end 4
///   ... (update of B)
///
/// Without `splitsBackward`, gradients of inputs and of weights are one part.
mlir::OwningOpRef<mlir::ModuleOp> stageModule(mlir::ModuleOp module, const OpGraph &graph, const StageSplit &split,
                                              unsigned stage, bool splitsBackward = false);

} // namespace apc
