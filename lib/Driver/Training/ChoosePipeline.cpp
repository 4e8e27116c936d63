// Numbers of workers one after the other, and the step without a pipeline.
#include "ChoosePipeline.h"

#include "Bounds/BoundPipelines.h"
#include "PlanAgain.h"
#include "TimeShare.h"
#include "Workers/TryWorkers.h"
#include "Workers/WithoutPipeline.h"

#include "apc/Planning/NothingFits.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The numbers of workers to try.
std::vector<int64_t> workersToTry(const PlanRequest &request, const Pool &pool) {
  if (request.pipeline.count)
    return {*request.pipeline.count};
  std::vector<int64_t> workers = pipelineWorkers(pool);
  llvm::erase(workers, 1);
  return workers;
}

/// The numbers of workers that a bound of all has to count.
std::vector<int64_t> workersOfBound(std::vector<int64_t> workers, const Without &without) {
  if (!without.isBounded)
    workers.insert(workers.begin(), 1);
  return workers;
}

/// The time that trials leave to the bounds behind them where a layout without a pipeline is known, than which
/// pipelines are seldom faster.
double secondsOfBounds(const PlanRequest &request, const PointPlanner &points) {
  constexpr double share = 0.15;
  return points.control.knownSeconds && !points.knowsPipeline() ? share * request.timeLimitSeconds : 0;
}

/// The step without a pipeline behind the pipelines that were tried, of which \p found is the best.
llvm::Expected<Without> planWithoutBehind(Without before, const std::optional<Plan> &found, const PlanRequest &request,
                                          const PointPlanner &points, const PipelineTrials &trials) {
  if (points.knowsPipeline() && !before.plan && (!found || trials.secondsLeft() > 0)) {
    PlanRequest own = request;
    constexpr double least = 0.1; // where nothing was found at all
    own.timeLimitSeconds = std::max(least, trials.secondsLeft());
    llvm::Expected<Without> without = planWithout(own, points);
    if (!without)
      return without;
    without->tried = withTried(std::move(before.tried), without->tried);
    before = std::move(*without);
  }
  return planWithoutAgain(std::move(before), found, request, points, trials.secondsLeft() / 2);
}

/// \p bound: of all plans of the request.
llvm::Error nothingFound(const TrainingTrials &trials, std::optional<double> bound) {
  if (llvm::Error refused = trials.refusedAll())
    return refused;
  return llvm::make_error<NothingFits>(
      trials.tried().empty() ? "stopped before a plan was found that fits; nothing was written" : trials.lastFailure(),
      trials.tried(), bound);
}

} // namespace

llvm::Expected<Plan> choosePipeline(const PlanRequest &request, const PointPlanner &points) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  const Pool &pool = target->cluster.pool;
  const std::vector<int64_t> workers = workersToTry(request, pool);
  const Stopwatch watch(*points.control.clock);
  llvm::Expected<Without> without =
      points.knowsPipeline() ? planLayoutWithout(request, points) : planWithout(request, points);
  auto bounded = without ? boundedRequests(request) : without.takeError();
  if (!bounded)
    return bounded.takeError();
  OuterBounds bounds(request, *bounded, points);
  if (llvm::Error error = boundBeforeTrials(request, workersOfBound(workers, *without), bounds, points))
    return std::move(error);
  PlanRequest rest = request;
  const double ofBounds = secondsOfBounds(request, points);
  const PlanningControl control = beside(*without, points.control);
  const PointPlanner pipelines = points.with(control);
  rest.timeLimitSeconds -= watch.seconds() + ofBounds;
  const bool hasPlan = without->plan || points.control.knownSeconds;
  PipelineTrials trials(rest, pipelines, pool, hasPlan);
  if (llvm::Error error = tryWorkers(rest, workers, points.control.knownLayout, trials))
    return std::move(error);
  if (llvm::Error error = trials.tryAllAlone())
    return std::move(error);
  const std::optional<Plan> &found = trials.all().found();
  without = planWithoutBehind(std::move(*without), found, request, points, trials);
  if (!without)
    return without.takeError();
  if (!found && !without->plan) {
    const double known = points.control.knownSeconds.value_or(0);
    auto bound = boundPipelines(request, workersOfBound(workers, *without), bounds, known, /*seconds=*/0);
    return bound ? nothingFound(trials.all(), known > 0 ? *bound : std::nullopt) : bound.takeError();
  }
  constexpr double share = 0.7; // of what is left; the plan's own numbers are searched in the rest
  const bool isPipeline = found && (!without->plan || isBetter(rankOf(*found), rankOf(*without->plan)));
  const double known = isPipeline ? found->stepSeconds : without->plan->stepSeconds;
  const double left = share * std::max(0.0, trials.secondsLeft()) + ofBounds;
  auto ofAll = boundPipelines(request, workersOfBound(workers, *without), bounds, known, left);
  if (!ofAll)
    return ofAll.takeError();
  if (*ofAll && without->plan && without->isBounded)
    ofAll = std::min(**ofAll, without->plan->lowerBoundSeconds);
  llvm::Expected<Plan> best = fasterOf(trials, without->plan, points.whole);
  if (!best)
    return best;
  best = withBoundOfAll(std::move(*best), request, *ofAll);
  best->tried = withTried(best->tried, without->tried);
  return withTimeLimitOf(request, std::move(*best));
}

} // namespace apc
