// One plan for each point that is tried, and a bound for those that are not.
#include "TrainingTrials.h"

#include "apc/Driver/TrainModel.h"
#include "apc/Planning/Planning.h"
#include "apc/Planning/RecomputedLayers.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

llvm::Expected<std::optional<TrainingTrials::Fitting>> TrainingTrials::tryOne(PlanRequest own, double seconds) {
  own.timeLimitSeconds = std::max(0.1, seconds);
  llvm::Expected<Plan> found = plan(own);
  if (!found) {
    llvm::Error error = found.takeError();
    if (error.isA<TooMuchHeld>()) // with every other point as well
      return std::move(error);
    auto [fault, message] = takeMessage(std::move(error));
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    lines.push_back(describe(own) + ": does not fit");
    reason = std::move(message);
    return std::nullopt;
  }
  lines.push_back(llvm::formatv("{0}: {1} with {2}", describe(own), formatSeconds(found->stepSeconds),
                                formatBytes(static_cast<double>(found->memory.total())))
                      .str());
  bound = std::min(bound.value_or(found->lowerBoundSeconds), found->lowerBoundSeconds);
  Fitting fitting{rankOf(*found), found->memoryLimitBytes};
  if (!best || apc::isBetter(fitting.rank, rankOf(*best)))
    best = std::move(*found);
  return fitting;
}

llvm::Error TrainingTrials::tryFewerLayers(const PlanRequest &own, const Fitting &all, double end) {
  llvm::Expected<int64_t> layers = repeatedLayers(own);
  if (!layers)
    return layers.takeError();
  LayerSearch search(*layers, all.rank.bytes, all.limitBytes);
  double fastest = all.rank.seconds;
  for (auto next = search.next(); next && secondsLeft() > end; next = search.next()) {
    PlanRequest fewer = own;
    fewer.recompute.layers = *next;
    auto fitting = tryOne(fewer, secondsLeft() - end);
    if (!fitting)
      return fitting.takeError();
    bool isGood = *fitting && (*fitting)->rank.seconds <= fastest;
    search.add(*next, isGood, isGood ? (*fitting)->rank.bytes : 0);
    if (isGood)
      fastest = (*fitting)->rank.seconds;
  }
  return llvm::Error::success();
}

llvm::Expected<std::optional<double>> TrainingTrials::tryPolicies(const PlanRequest &point, double end) {
  std::vector<std::pair<PlanRequest, Fitting>> fitting;
  std::optional<double> leastOfAll;
  for (auto [index, policy] : llvm::enumerate(policies)) {
    PlanRequest own = point;
    own.recompute = policy;
    constexpr size_t mostShares = 3; // the first policies are often enough
    auto found =
        tryOne(own, (secondsLeft() - end) / static_cast<double>(std::min(mostShares, policies.size() - index)));
    if (!found)
      return found.takeError();
    if (!*found || policies.size() == 1)
      continue;
    fitting.emplace_back(own, **found);
    if (llvm::Error error = leastSecondsFrom(point).moveInto(leastOfAll))
      return std::move(error);
    if ((*found)->rank.seconds * (1 - request.gapTolerance) <= *leastOfAll)
      return leastOfAll;
  }
  llvm::stable_sort(fitting,
                    [](const auto &a, const auto &b) { return a.second.rank.seconds < b.second.rank.seconds; });
  for (auto [index, entry] : llvm::enumerate(fitting)) {
    double left = secondsLeft() - end;
    if (entry.first.recompute == RecomputeChoice::None || left <= 0) // keeping everything is faster, or time is over
      break;
    if (llvm::Error error = tryFewerLayers(entry.first, entry.second,
                                           secondsLeft() - left / static_cast<double>(fitting.size() - index)))
      return std::move(error);
  }
  return leastOfAll;
}

llvm::Expected<bool> TrainingTrials::tryPoint(const PlanRequest &point, size_t pointsLeft) {
  constexpr size_t mostExpected = 4; // further points are rarely tried
  double end = secondsLeft() * (1 - 1 / static_cast<double>(std::min(pointsLeft, mostExpected)));
  std::optional<PlanRank> before = best ? std::optional(rankOf(*best)) : std::nullopt;
  std::optional<double> others = std::exchange(bound, std::nullopt);
  auto leastOfAll = tryPolicies(point, end);
  if (!leastOfAll)
    return leastOfAll.takeError();
  if (*leastOfAll) // of numbers of layers that were not tried, too
    bound = **leastOfAll;
  if (others)
    bound = std::min(*others, bound.value_or(*others));
  return best && (!before || apc::isBetter(rankOf(*best), *before));
}

llvm::Expected<double> TrainingTrials::leastSecondsFrom(const PlanRequest &point) {
  auto known = least.find(point.microBatch);
  if (known != least.end())
    return known->second;
  PlanRequest own = point;
  own.recompute = policies.front();
  own.memoryLimitBytes = int64_t(1) << 50; // 1 PiB: more than any device has
  own.timeLimitSeconds = std::max(0.1, secondsLeft());
  llvm::Expected<Plan> found = plan(own);
  if (!found)
    return found.takeError();
  return least[point.microBatch] = found->lowerBoundSeconds;
}

} // namespace apc
