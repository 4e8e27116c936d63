// Seconds first, then bytes, collectives and devices.
#include "apc/Planning/PlanRank.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace apc {

bool areEqualSeconds(double a, double b) { return std::abs(a - b) <= sumRounding * std::min(a, b); }

size_t bestOf(llvm::ArrayRef<PlanRank> ranks) {
  assert(!ranks.empty() && "the best of no plans");
  double least = ranks.front().seconds;
  for (const PlanRank &rank : ranks)
    least = std::min(least, rank.seconds);
  auto rest = [](const PlanRank &rank) { return std::tie(rank.bytes, rank.collectives, rank.devices); };
  const PlanRank *best = nullptr;
  for (const PlanRank &rank : ranks)
    if (areEqualSeconds(rank.seconds, least) && (!best || rest(rank) < rest(*best)))
      best = &rank;
  return best - ranks.begin();
}

bool isBetter(const PlanRank &a, const PlanRank &b) { return bestOf({b, a}) == 1; }

} // namespace apc
