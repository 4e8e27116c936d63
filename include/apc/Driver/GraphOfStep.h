// module -> OpGraph, as a request has it run.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/PlanRequest.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

namespace apc {

/// The graph of a module (`graphOfModel`), in training with collectives beside ops where `request` asks for that.
/// `source` names the model in messages.
llvm::Expected<OpGraph> graphOfStep(mlir::ModuleOp module, llvm::StringRef source, const PlanRequest &request);

/// The second half of it: \p graph, which `graphOfModel` has made, with the collectives and the runtime of `request`.
llvm::Expected<OpGraph> graphAsRun(OpGraph graph, const PlanRequest &request);

/// A step of one micro-batch as it is, and one of several with \p count of them, which are several, too: of their
/// number a graph says nothing but how often ops run. Micro-batches have one copy each.
OpGraph withMicroBatches(OpGraph graph, int64_t count);

} // namespace apc
