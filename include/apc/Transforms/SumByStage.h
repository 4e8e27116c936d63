// module -> the module in which each stage of a pipeline adds up its own terms of shared sums.
#pragma once

#include "apc/Graph/SharedSums.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace apc {

/// `module`, whose graph (`buildGraph`) is `graph`, with the ops of `withParts`, in their order and with their names:
/// `buildGraph` of the result gives that graph.
///
///   %g = "apc.accumulate"(%looked_up, %multiplied)      %0 = "apc.accumulate"(%looked_up)  ... "g.stage0"
///                                                       %7 = "apc.accumulate"(%multiplied) ... "g.stage7"
///   apc.micro_batch_end 4                               apc.micro_batch_end 4
///                                                       %g = "apc.sum"(%0, %7)
mlir::OwningOpRef<mlir::ModuleOp> sumByStage(mlir::ModuleOp module, const OpGraph &graph,
                                             llvm::ArrayRef<SharedSum> sums);

} // namespace apc
