// Statements that repeat, as loops.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace apc {

/// Statements one behind the other, with runs of them that differ in numbers alone, by equal steps, told as loops:
///
///     x = layer(x, weights["h.0.w"])            for i in range(3):
///     x = layer(x, weights["h.1.w"])     ->         x = layer(x, weights[f"h.{i}.w"])
///     x = layer(x, weights["h.2.w"])
///
/// Numbers may change in texts, and as indices of tables, `x[3]`. Lines of a loop begin with four blanks.
std::vector<std::string> rollLoops(llvm::ArrayRef<std::string> statements);

} // namespace apc
