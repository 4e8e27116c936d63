// Numbers of workers one after the other, and the step without a pipeline.
#include "ChoosePipeline.h"

#include "Bounds/BoundPipelines.h"
#include "PipelineTrials.h"
#include "PlanAgain.h"
#include "WithoutPipeline.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

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

Plan withTimeLimit(Plan plan, const PlanRequest &request) {
  plan.request.timeLimitSeconds = request.timeLimitSeconds;
  return plan;
}

/// Success where one number of workers among several is impossible: the model has too few layers for it, or the
/// schedule does not take it.
llvm::Error unlessImpossible(const PlanRequest &request, llvm::Error error) {
  if (!error)
    return error;
  auto [fault, message] = takeMessage(std::move(error));
  if (fault == Fault::Input && !request.pipeline.count)
    return llvm::Error::success();
  return llvm::make_error<PlannerError>(fault, message);
}

/// The numbers of workers that a bound of all has to count.
std::vector<int64_t> workersOfBound(std::vector<int64_t> workers, const Without &without) {
  if (!without.isBounded)
    workers.insert(workers.begin(), 1);
  return workers;
}

/// Begins with one number of workers after the other, until two in a row gave nothing better. \p end: seconds that are
/// to be left.
llvm::Error beginAll(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, double end, PipelineTrials &trials) {
  unsigned worse = 0;
  constexpr unsigned patience = 2;
  constexpr double shareOfOne = 0.25; // once something fits
  for (int64_t count : workers) {
    const double share = trials.all().found() ? shareOfOne * (trials.secondsLeft() - end) : 0;
    const double endOfOne = share > 0 ? trials.secondsLeft() - share : end;
    std::optional<PlanRank> before = trials.all().found() ? std::optional(rankOf(*trials.all().found())) : std::nullopt;
    if (llvm::Error error = unlessImpossible(request, trials.begin(count, endOfOne)))
      return error;
    worse = trials.all().found() && before && !isBetter(rankOf(*trials.all().found()), *before) ? worse + 1 : 0;
    if (worse >= patience || trials.secondsLeft() <= end)
      break;
  }
  return llvm::Error::success();
}

/// Begins with each number of workers, and goes on with those that began best: few micro-batches and many workers, or
/// the other way round, take most of the time and are rarely the fastest.
llvm::Error tryAll(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, PipelineTrials &trials) {
  const double ofProofs = request.timeLimitSeconds / 3;
  if (llvm::Error error = beginAll(request, workers, ofProofs, trials))
    return error;
  constexpr size_t most = 2; // numbers of workers that are worth it
  const std::vector<int64_t> begun = trials.begun();
  const size_t count = std::min(most, begun.size());
  for (auto [index, own] : llvm::enumerate(llvm::ArrayRef(begun).take_front(count))) {
    const double left = trials.secondsLeft();
    const double share = std::max(0.0, left - ofProofs) / static_cast<double>(count - index);
    if (llvm::Error error = trials.improve(own, left - share))
      return error;
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Plan> choosePipeline(const PlanRequest &request, const PointPlanner &points) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  const Pool &pool = target->cluster.pool;
  const std::vector<int64_t> workers = workersToTry(request, pool);
  const Stopwatch watch(*points.control.clock);
  auto without = planWithout(request, points);
  if (!without)
    return without.takeError();
  PlanRequest rest = request;
  rest.timeLimitSeconds -= watch.seconds();
  auto bounded = boundedRequests(request);
  if (!bounded)
    return bounded.takeError();
  OuterBounds bounds(request, *bounded, points);
  PipelineTrials trials(rest, points, pool);
  if (llvm::Error error = tryAll(rest, workers, trials))
    return std::move(error);
  const std::optional<Plan> &found = trials.all().found();
  without = planWithoutAgain(std::move(*without), found, request, points, trials.secondsLeft() / 2);
  if (!without)
    return without.takeError();
  bool isPipeline = found && (!without->plan || isBetter(rankOf(*found), rankOf(*without->plan)));
  if (!isPipeline && !without->plan)
    return trials.all().tried().empty() ? noPlanError("stopped before a plan was found that fits; nothing was written")
                                        : noPlanError("{0}", trials.all().lastFailure());
  constexpr double shareOfBounds = 0.7; // the plan's own numbers are searched in the rest
  const double known = isPipeline ? found->stepSeconds : without->plan->stepSeconds;
  auto ofAll =
      boundPipelines(request, workersOfBound(workers, *without), bounds, known, trials.secondsLeft() * shareOfBounds);
  if (!ofAll)
    return ofAll.takeError();
  if (*ofAll && without->plan && without->isBounded)
    ofAll = std::min(**ofAll, without->plan->lowerBoundSeconds);
  llvm::Expected<Plan> best = isPipeline ? planAgain(trials, points.whole) : std::move(*without->plan);
  if (!best)
    return best;
  best = withBoundOfAll(std::move(*best), request, *ofAll);
  best->tried = withTried(isPipeline ? best->tried : trials.all().tried(), without->tried);
  return withTimeLimit(std::move(*best), request);
}

} // namespace apc
