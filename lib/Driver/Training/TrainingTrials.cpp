// One plan for each point that is tried, and a bound for those that are not.
#include "TrainingTrials.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/NothingFits.h"
#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

void TrainingTrials::report(llvm::StringRef what, const PlanRequest &own) const {
  if (!control.report)
    return;
  std::string text = what.str() + describePoint(own, policies.size() > 1);
  const std::optional<double> known = best ? secondsToBeat() : control.knownSeconds;
  if (known)
    text += ": best " + formatSeconds(*known);
  if (double bound = best ? leastBound() : 0; bound > 0)
    text += llvm::formatv(", bound {0}, gap {1:f2} %", formatSeconds(bound), 100 * std::max(0.0, 1 - bound / *known));
  control.report(text);
}

llvm::Error TrainingTrials::takeRefusal(const PlanRequest &own, std::string message) {
  const bool isTheSame = !best && refusal && refusal->message == message && refusal->microBatch != own.microBatch;
  if (!hasOpenMicroBatches(request) || isTheSame) // with every other micro-batch as well
    return llvm::make_error<PlannerError>(Fault::Input, std::move(message));
  points = withTried(std::move(points), failedPointOf(own, microBatchesOf(own), "is refused: " + message));
  refusal = Refusal{own.microBatch, std::move(message)};
  isRefused = true;
  return llvm::Error::success();
}

llvm::Error TrainingTrials::refusedAll() const {
  return refusal && !best && !failed ? lastRefusal() : llvm::Error::success();
}

llvm::Error TrainingTrials::takeFailure(const PlanRequest &own, llvm::Error error, bool isOutOfTime) {
  const bool isOfOneSample = own.microBatch == 1; // which has fewer ops, between which there is no place to cut
  const bool haveTooManyStages = error.isA<TooManyStages>() && !isOfOneSample;
  if (error.isA<TooMuchHeld>() || haveTooManyStages) // with every other point as well
    return error;
  auto [same, tried] = triedBefore(std::move(error));
  auto [fault, message] = takeMessage(std::move(same));
  if (fault == Fault::Input)
    return takeRefusal(own, std::move(message));
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  std::string why = isStopped()   ? "the search was stopped before anything was found"
                    : isOutOfTime ? "nothing was found in its share of the time"
                                  : "does not fit the memory";
  if (tried.empty())
    tried.push_back(failedPointOf(own, microBatchesOf(own), why));
  points = withTried(std::move(points), tried);
  reason = std::move(message);
  failed = own;
  return llvm::Error::success();
}

llvm::Expected<std::optional<TrainingTrials::Fitting>> TrainingTrials::tryOne(PlanRequest own, double seconds,
                                                                              PlanRequested by) {
  own.timeLimitSeconds = std::max(0.1, seconds);
  isRefused = false;
  report("", own);
  const Stopwatch ofPoint(*control.clock);
  llvm::Expected<Plan> found = by(own);
  if (!found) {
    if (llvm::Error error = takeFailure(own, found.takeError(), ofPoint.seconds() >= seconds))
      return std::move(error);
    return std::nullopt;
  }
  points = withTried(std::move(points), triedOf(*found));
  double &bound = bounds[own.microBatch].ofPoints.try_emplace(own.recompute.str(), 0).first->second;
  bound = std::max(bound, found->lowerBoundSeconds);
  Fitting fitting{rankOf(*found),    found->memoryLimitBytes, found->lowerBoundSeconds, found->unlimitedBoundSeconds,
                  found->isByMemory, found->unsharedSeconds};
  if (!best || apc::isBetter(fitting.rank, rankOf(*best)))
    best = std::move(*found);
  return fitting;
}

llvm::Expected<std::optional<TrainingTrials::Fitting>> TrainingTrials::tryOne(PlanRequest own, double seconds) {
  auto found = tryOne(own, seconds, plan.quick);
  if (found && *found && (*found)->isByMemory)
    unfinished.emplace_back((*found)->rank.seconds, std::move(own));
  return found;
}

llvm::Expected<bool> TrainingTrials::tryPoint(const PlanRequest &point, size_t pointsLeft) {
  constexpr size_t mostExpected = 2; // further points are rarely better, and a short search gives poor answers
  double end = secondsLeft() * (1 - 1 / static_cast<double>(std::min(pointsLeft, mostExpected)));
  std::optional<PlanRank> before = best ? std::optional(rankOf(*best)) : std::nullopt;
  auto leastOfAll = tryPolicies(point, end);
  if (!leastOfAll)
    return leastOfAll.takeError();
  if (*leastOfAll)
    bounds[point.microBatch].ofAll = *leastOfAll;
  return best && (!before || apc::isBetter(rankOf(*best), *before));
}

llvm::Error TrainingTrials::finish() {
  const size_t most = takesAny(request) || isLed() ? 0 : 3; // points that are worth a longer search
  keptSeconds = 0;
  llvm::stable_sort(unfinished, [](const auto &a, const auto &b) { return a.first < b.first; });
  const size_t count = std::min(unfinished.size(), most);
  unfinished.resize(count);
  for (auto [index, point] : llvm::enumerate(std::exchange(unfinished, {}))) {
    double share = secondsLeft() / static_cast<double>(count - index);
    if (share <= 0)
      break;
    if (auto found = tryOne(point.second, share, plan.whole); !found)
      return found.takeError();
  }
  return llvm::Error::success();
}

} // namespace apc
