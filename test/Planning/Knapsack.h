// Exact optima of recomputation as a knapsack, to hold the planner's choices to.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>

namespace apc {

/// One way to run a part of a step: {4, 5.0} keeps 4 bytes and takes 5 s longer.
struct RecomputeItem {
  int64_t bytes = 0;
  double seconds = 0;
};

/// The fewest seconds with one item of each of \p parts, in at most \p budget bytes; none where they do not fit.
/// O(parts * items * budget), by the least seconds for each number of bytes.
std::optional<double> fewestRecomputed(llvm::ArrayRef<llvm::ArrayRef<RecomputeItem>> parts, int64_t budget);

} // namespace apc
