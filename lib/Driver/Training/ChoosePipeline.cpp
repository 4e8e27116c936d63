// Numbers of workers one after the other, and the step without a pipeline.
#include "ChoosePipeline.h"

#include "BoundPipelines.h"
#include "PipelineTrials.h"
#include "WithoutPipeline.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The numbers of workers to try.
llvm::Expected<std::vector<int64_t>> workersToTry(const PlanRequest &request) {
  if (request.pipeline.count)
    return std::vector<int64_t>{*request.pipeline.count};
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  std::vector<int64_t> workers = pipelineWorkers(target->cluster.pool);
  llvm::erase(workers, 1);
  return workers;
}

/// The best of the quick plans, or a better one that the rest of the time finds for its numbers.
llvm::Expected<Plan> planAgain(const PipelineTrials &trials, PlanOfRequest plan) {
  const Plan &first = *trials.all().found();
  PlanRequest own = first.request;
  own.schedule = first.pipeline->schedule;
  own.chunks = {first.pipeline->chunks};
  own.timeLimitSeconds = trials.secondsLeft();
  constexpr double least = 0.1;
  llvm::Expected<Plan> again = own.timeLimitSeconds > least ? plan(own) : Plan(first);
  if (!again) {
    auto [fault, message] = takeMessage(again.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    again = Plan(first); // the user stopped, or the time was over
  }
  std::vector<TriedPoint> tried = withTried(trials.all().tried(), again->tried);
  bool isBetter = apc::isBetter(rankOf(*again), rankOf(first));
  double bound = std::max(again->lowerBoundSeconds, first.lowerBoundSeconds); // of the same numbers
  if (!isBetter)
    *again = first;
  Plan best = boundByAll(std::move(*again), bound);
  best.request.schedule = first.request.schedule;
  best.request.chunks = first.request.chunks;
  best.tried = std::move(tried);
  return best;
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

/// Tries one number of workers after the other, until two in a row gave nothing better.
llvm::Error tryAll(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, PipelineTrials &trials) {
  unsigned worse = 0;
  constexpr unsigned patience = 2;
  const double ofProofs = request.timeLimitSeconds / 3;
  for (auto [index, count] : llvm::enumerate(workers)) {
    std::optional<PlanRank> before = trials.all().found() ? std::optional(rankOf(*trials.all().found())) : std::nullopt;
    double share = std::max(0.0, trials.secondsLeft() - ofProofs) /
                   static_cast<double>(std::min<size_t>(3, workers.size() - index));
    if (llvm::Error error = unlessImpossible(request, trials.tryWorkers(count, trials.secondsLeft() - share)))
      return error;
    worse = trials.all().found() && before && !isBetter(rankOf(*trials.all().found()), *before) ? worse + 1 : 0;
    if (worse >= patience || trials.secondsLeft() <= ofProofs)
      break;
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Plan> choosePipeline(const PlanRequest &request, const PointPlanner &points) {
  auto workers = workersToTry(request);
  if (!workers)
    return workers.takeError();
  auto without = planWithout(request, points);
  if (!without)
    return without.takeError();
  PipelineTrials trials(request, points.first, points.control);
  if (llvm::Error error = tryAll(request, *workers, trials))
    return std::move(error);
  const std::optional<Plan> &found = trials.all().found();
  bool isPipeline = found && (!without->plan || isBetter(rankOf(*found), rankOf(*without->plan)));
  if (!isPipeline && !without->plan)
    return trials.all().tried().empty() ? noPlanError("stopped before a plan was found that fits; nothing was written")
                                        : noPlanError("{0}", trials.all().lastFailure());
  const double known = isPipeline ? found->stepSeconds : without->plan->stepSeconds;
  auto ofAll = boundPipelines(request, *workers, points, known, trials.secondsLeft() / 3);
  if (!ofAll)
    return ofAll.takeError();
  if (*ofAll && without->plan)
    ofAll = std::min(**ofAll, without->plan->lowerBoundSeconds);
  llvm::Expected<Plan> best = isPipeline ? planAgain(trials, points.whole) : std::move(*without->plan);
  if (!best)
    return best;
  best = withBoundOfAll(std::move(*best), request, *ofAll);
  best->tried = withTried(isPipeline ? best->tried : trials.all().tried(), without->tried);
  return withTimeLimit(std::move(*best), request);
}

} // namespace apc
