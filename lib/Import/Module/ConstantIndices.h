// Indices that a model fixes, against the tables that they pick from.
#pragma once

#include "ImportState.h"

namespace apc::onnx {

/// Every Gather whose indices follow from the model alone picks what its data holds: positions 0 to 4,095 do not, of a
/// table of 2,048. Errors (input): the first that does not, with the file, the op, the index and the table.
llvm::Error checkConstantIndices(ImportState &state);

} // namespace apc::onnx
