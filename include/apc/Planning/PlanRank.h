// The one order of whole plans: which of several plans of a task is the best.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Sums of thousands of terms, added in two orders, agree to about 1e-13 of their value. Seconds of plans are equal
/// when they agree to this share of the smaller.
constexpr double sumRounding = 1e-12;

/// Are seconds that were added in two orders the same?
bool areEqualSeconds(double a, double b);

/// The merits of a plan, most important first. Example: of {1 ms, 6 GiB, 96, 8} and {1 ms, 6 GiB, 64, 8} the second is
/// the better plan, for it takes as long and as much memory with fewer collectives.
struct PlanRank {
  double seconds = 0;      ///< of one step
  int64_t bytes = 0;       ///< of a device at its fullest
  int64_t collectives = 0; ///< of one step
  int64_t devices = 0;     ///< that the plan uses
};

/// The index of the best plan: among those with the least seconds that with the fewest bytes, then the fewest
/// collectives, then the fewest devices, then the smallest index. Equality is to the least seconds of all, so that the
/// answer does not depend on the order in which plans are compared. There must be at least one.
size_t bestOf(llvm::ArrayRef<PlanRank> ranks);

/// True when `a` is better than `b`; false when they are alike.
bool isBetter(const PlanRank &a, const PlanRank &b);

} // namespace apc
