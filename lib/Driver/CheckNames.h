// Names that a plan can keep.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "llvm/Support/Error.h"

namespace apc {

/// An error (input) for a name of an op or value that is no UTF-8, as ONNX wants it: JSON could not hold it, and emit
/// and verify would look for another. `source` is the model.
llvm::Error checkNames(const OpGraph &graph, llvm::StringRef source);

} // namespace apc
