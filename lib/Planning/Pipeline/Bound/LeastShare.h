// A bound of the work of the busiest of several workers.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace apc {

/// The least work that the busiest of several workers has when each part is done whole by one of them, who have so much
/// to do already: `begun`, by worker. None greater than that of any distribution. Exact where all parts but a few are
/// equal: six of them, or fewer where workers have begun differently and are many; otherwise a bound that leaves
/// further parts out or spreads them evenly. Parts of 1, 1, 1, 1 and 2.5 on 2 workers: 3.5, not 3.25; 4 where the first
/// has begun with 1. O(k log p) for k equal parts.
double leastLargestShare(llvm::ArrayRef<double> parts, std::vector<double> begun);

/// The same of workers that have nothing to do yet.
double leastLargestShare(llvm::ArrayRef<double> parts, size_t workers);

} // namespace apc
