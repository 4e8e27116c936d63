// The numbers of the best quick plans, searched to the end.
#include "PlanAgain.h"

#include "apc/Support/Error.h"

#include <algorithm>

namespace apc {

namespace {

/// By \p plan; none where the user stopped, or the time was over.
llvm::Expected<std::optional<Plan>> planned(const PlanRequest &own, PlanOfRequest plan) {
  llvm::Expected<Plan> found = plan(own);
  if (found)
    return std::move(*found);
  auto [fault, message] = takeMessage(found.takeError());
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  return std::nullopt;
}

/// The numbers of \p first once more.
llvm::Expected<Plan> searchedAgain(const PipelineTrials &trials, const Plan &first, PlanOfRequest plan) {
  PlanRequest own = first.request;
  own.schedule = first.pipeline->schedule;
  own.chunks = {first.pipeline->chunks};
  own.timeLimitSeconds = trials.secondsLeft();
  if (own.timeLimitSeconds <= trials.secondsOfPoint())
    return first;
  auto again = planned(own, plan);
  if (!again || !*again)
    return again ? llvm::Expected<Plan>(first) : again.takeError();
  std::vector<TriedPoint> tried = withTried(first.tried, (*again)->tried);
  const double bound = std::max((*again)->lowerBoundSeconds, first.lowerBoundSeconds); // of the same numbers
  const bool isBetter = apc::isBetter(rankOf(**again), rankOf(first));
  Plan best = boundByAll(isBetter ? std::move(**again) : first, bound);
  best.request.schedule = first.request.schedule;
  best.request.chunks = first.request.chunks;
  best.tried = std::move(tried);
  return best;
}

/// The best plan of \p trials, which have one, or a better one that the rest of the time finds by \p plan: for its
/// numbers, and where planning takes next to no time, for the best of other numbers of workers. With all points that
/// were tried.
llvm::Expected<Plan> planAgain(const PipelineTrials &trials, const std::optional<Plan> &without, PlanOfRequest plan) {
  constexpr double slack = 1.3; // what searches gain
  Plan first = *trials.all().found();
  first.tried = trials.all().tried();
  auto isNear = [&](double seconds) { return !without || seconds < slack * without->stepSeconds; };
  llvm::Expected<Plan> best = isNear(first.stepSeconds) ? searchedAgain(trials, first, plan) : first;
  for (int64_t workers : trials.begun()) {
    const auto &[rank, point] = trials.bestWith(workers);
    const bool isOther = workers != *first.request.pipeline.count;
    if (!best || !isOther || !trials.hasMuchTime() || rank.seconds >= slack * best->stepSeconds ||
        !isNear(rank.seconds))
      continue;
    PlanRequest own = point;
    own.timeLimitSeconds = trials.secondsLeft() / 2;
    auto other = planned(own, plan);
    if (!other)
      return other.takeError();
    if (!*other)
      continue;
    std::vector<TriedPoint> tried = withTried(best->tried, (*other)->tried);
    if (isBetter(rankOf(**other), rankOf(*best)))
      best = std::move(**other);
    best->tried = std::move(tried);
  }
  return best;
}

} // namespace

llvm::Expected<Plan> fasterOf(const PipelineTrials &trials, const std::optional<Plan> &without, PlanOfRequest plan) {
  std::vector<TriedPoint> tried = trials.all().tried();
  if (trials.all().found()) {
    llvm::Expected<Plan> again = planAgain(trials, without, plan);
    if (!again || !without || isBetter(rankOf(*again), rankOf(*without)))
      return again;
    tried = std::move(again->tried);
  }
  Plan best = *without;
  best.tried = std::move(tried);
  return best;
}

} // namespace apc
