// Names by which a plan's repeated layers are told.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace apc {

/// The name of an op with its numbers as `*`, the same for all repeated layers: "/h.12/MatMul_3" -> "/h.*/MatMul_*".
std::string layerPattern(llvm::StringRef name);

} // namespace apc
