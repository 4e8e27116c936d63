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

} // namespace apc
