// Numbers of workers one after the other, and the step without a pipeline.
#include "ChoosePipeline.h"

#include "Bounds/BoundPipelines.h"
#include "PlanAgain.h"
#include "TimeShare.h"
#include "WithoutPipeline.h"
#include "Workers/TryWorkers.h"

#include "apc/Support/Error.h"

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

/// Is a pipeline known that stages can begin with? It is tried before the step without one.
bool knowsPipeline(const PointPlanner &points) {
  const std::optional<ParallelDegrees> &layout = points.control.knownLayout;
  return layout && layout->pipeline > 1;
}

/// Takes bounds before any trial where a layout is known: trials seldom find anything faster then, and take all the
/// time that they are given.
llvm::Error boundBeforeTrials(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, OuterBounds &bounds,
                              const PointPlanner &points) {
  const std::optional<double> &known = points.control.knownSeconds;
  if (!known || !knowsPipeline(points))
    return llvm::Error::success();
  constexpr double share = 0.5;
  return boundPipelines(request, workers, bounds, *known, share * request.timeLimitSeconds).takeError();
}

/// The step without a pipeline behind the pipelines that were tried, of which \p found is the best.
llvm::Expected<Without> planWithoutBehind(Without before, const std::optional<Plan> &found, const PlanRequest &request,
                                          const PointPlanner &points, const PipelineTrials &trials) {
  if (knowsPipeline(points) && (!found || trials.secondsLeft() > 0)) {
    PlanRequest own = request;
    constexpr double least = 0.1; // where nothing was found at all
    own.timeLimitSeconds = std::max(least, trials.secondsLeft());
    llvm::Expected<Without> without = planWithout(own, points);
    if (!without)
      return without;
    before = std::move(*without);
  }
  return planWithoutAgain(std::move(before), found, request, points, trials.secondsLeft() / 2);
}

llvm::Error nothingFound(const TrainingTrials &trials) {
  if (llvm::Error refused = trials.refusedAll())
    return refused;
  return trials.tried().empty() ? noPlanError("stopped before a plan was found that fits; nothing was written")
                                : noPlanError("{0}", trials.lastFailure());
}

} // namespace

llvm::Expected<Plan> choosePipeline(const PlanRequest &request, const PointPlanner &points) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  const Pool &pool = target->cluster.pool;
  const std::vector<int64_t> workers = workersToTry(request, pool);
  const Stopwatch watch(*points.control.clock);
  llvm::Expected<Without> without = knowsPipeline(points) ? Without() : planWithout(request, points);
  auto bounded = without ? boundedRequests(request) : without.takeError();
  if (!bounded)
    return bounded.takeError();
  OuterBounds bounds(request, *bounded, points);
  if (llvm::Error error = boundBeforeTrials(request, workersOfBound(workers, *without), bounds, points))
    return std::move(error);
  PlanRequest rest = request;
  rest.timeLimitSeconds -= watch.seconds();
  const bool hasPlan = without->plan || points.control.knownSeconds;
  PipelineTrials trials(rest, points, pool, hasPlan);
  if (llvm::Error error = tryWorkers(rest, workers, points.control.knownLayout, trials))
    return std::move(error);
  if (llvm::Error error = trials.tryAllAlone())
    return std::move(error);
  const std::optional<Plan> &found = trials.all().found();
  without = planWithoutBehind(std::move(*without), found, request, points, trials);
  if (!without)
    return without.takeError();
  bool isPipeline = found && (!without->plan || isBetter(rankOf(*found), rankOf(*without->plan)));
  if (!isPipeline && !without->plan)
    return nothingFound(trials.all());
  constexpr double share = 0.7; // of what is left; the plan's own numbers are searched in the rest
  const double known = isPipeline ? found->stepSeconds : without->plan->stepSeconds;
  auto ofAll = boundPipelines(request, workersOfBound(workers, *without), bounds, known, share * trials.secondsLeft());
  if (!ofAll)
    return ofAll.takeError();
  if (*ofAll && without->plan && without->isBounded)
    ofAll = std::min(**ofAll, without->plan->lowerBoundSeconds);
  llvm::Expected<Plan> best = isPipeline ? planAgain(trials, points.whole) : std::move(*without->plan);
  if (!best)
    return best;
  best = withBoundOfAll(std::move(*best), request, *ofAll);
  best->tried = withTried(isPipeline ? best->tried : trials.all().tried(), without->tried);
  return withTimeLimitOf(request, std::move(*best));
}

} // namespace apc
