// The numbers that a training step takes beside the inputs of its model.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace apc {

/// On an argument of `main`: which number of the step it is, whatever its name: "step", "learning_rate" or "draw".
///
///   %arg3: tensor<i64> {apc.name = "step#2", apc.number = "step"}      the model has an input "step"
inline constexpr llvm::StringLiteral numberAttribute = "apc.number";

} // namespace apc
