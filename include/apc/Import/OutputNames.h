// The outputs of a model, without an import.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace apc {

/// The number of outputs that the graph of a model file declares, read field by field: neither memory nor time depends
/// on the size of the weights. Errors (input): a file that cannot be read or is damaged.
llvm::Expected<int64_t> countOutputs(llvm::StringRef path);

} // namespace apc
