// A bound of the work of the busiest of several workers.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>

namespace apc {

/// The least work that the busiest of `workers` has when each part is done whole by one of them; none greater than that
/// of any distribution. Exact where all parts but six are equal; otherwise a bound that leaves further parts out or
/// spreads them evenly. Parts of 1, 1, 1, 1 and 2.5 on 2 workers: 3.5, not 3.25. O(k log p) for k equal parts.
double leastLargestShare(llvm::ArrayRef<double> parts, size_t workers);

} // namespace apc
