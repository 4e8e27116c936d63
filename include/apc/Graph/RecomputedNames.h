// Names of what a step of training computes again.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace apc {

/// The end of the name of an op that runs again before the backward pass, behind that of the forward pass: "h.3/Add"
/// runs again as "h.3/Add.recomputed". The same of its values.
inline constexpr llvm::StringLiteral recomputedSuffix = ".recomputed";

} // namespace apc
