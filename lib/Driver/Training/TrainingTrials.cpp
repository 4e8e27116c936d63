// One plan for each point that is tried, and a bound for those that are not.
#include "TrainingTrials.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/Support/FormatVariadic.h"

namespace apc {

llvm::Expected<std::optional<TrainingTrials::Fitting>> TrainingTrials::tryOne(PlanRequest own, double seconds) {
  own.timeLimitSeconds = std::max(0.1, seconds);
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<Plan> found = plan(own);
  if (!found) {
    llvm::Error error = found.takeError();
    if (error.isA<TooMuchHeld>()) // with every other point as well
      return std::move(error);
    auto [fault, message] = takeMessage(std::move(error));
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    bool isOutOfTime = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >= seconds;
    lines.push_back(describe(own) + (isOutOfTime ? ": nothing was found in its share of the time" : ": does not fit"));
    reason = std::move(message);
    return std::nullopt;
  }
  lines.push_back(llvm::formatv("{0}: {1} with {2}", describe(own), formatSeconds(found->stepSeconds),
                                formatBytes(static_cast<double>(found->memory.total())))
                      .str());
  bound = std::min(bound.value_or(found->lowerBoundSeconds), found->lowerBoundSeconds);
  Fitting fitting{rankOf(*found), found->memoryLimitBytes, found->lowerBoundSeconds, found->unlimitedBoundSeconds,
                  found->isByMemory};
  if (!best || apc::isBetter(fitting.rank, rankOf(*best)))
    best = std::move(*found);
  return fitting;
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
