// Numbers of workers one after the other, and the step without a pipeline.
#include "ChoosePipeline.h"

#include "ChooseTraining.h"
#include "PipelineTrials.h"

#include "apc/Planning/Planning.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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
  if (!again)
    return again;
  bool isBetter = apc::isBetter(rankOf(*again), rankOf(first));
  double bound = std::max(again->lowerBoundSeconds, first.lowerBoundSeconds); // of the same numbers
  Plan best = boundByAll(isBetter ? std::move(*again) : first, bound);
  best.request.schedule = first.request.schedule;
  best.request.chunks = first.request.chunks;
  if (trials.all().outcomes().size() > 1)
    best.notes.push_back("chosen among " + llvm::join(trials.all().outcomes(), "; ") +
                         "; the bound says nothing about other workers, micro-batches and recomputation");
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

/// The plan without a pipeline, where it is asked for; none where nothing fits.
llvm::Expected<std::optional<Plan>> planWithout(const PlanRequest &request, PlanOfRequest plan) {
  if (request.pipeline.count)
    return std::nullopt;
  PlanRequest own = request;
  own.pipeline = {1};
  constexpr double share = 1.0 / 3;
  own.timeLimitSeconds *= share;
  llvm::Expected<Plan> found = leavesTrainingOpen(own) ? chooseTraining(own, plan, plan) : plan(own);
  if (found)
    return std::move(*found);
  auto [fault, message] = takeMessage(found.takeError());
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  return std::nullopt;
}

} // namespace

llvm::Expected<Plan> choosePipeline(const PlanRequest &request, PlanOfRequest plan, PlanOfRequest first) {
  auto workers = workersToTry(request);
  if (!workers)
    return workers.takeError();
  auto without = planWithout(request, plan);
  if (!without)
    return without.takeError();
  PipelineTrials trials(request, first);
  unsigned worse = 0;
  constexpr unsigned patience = 2;
  const double ofProofs = request.timeLimitSeconds / 3;
  for (auto [index, count] : llvm::enumerate(*workers)) {
    std::optional<PlanRank> before = trials.all().found() ? std::optional(rankOf(*trials.all().found())) : std::nullopt;
    double share = std::max(0.0, trials.secondsLeft() - ofProofs) /
                   static_cast<double>(std::min<size_t>(3, workers->size() - index));
    if (llvm::Error error = unlessImpossible(request, trials.tryWorkers(count, trials.secondsLeft() - share)))
      return std::move(error);
    worse = trials.all().found() && before && !isBetter(rankOf(*trials.all().found()), *before) ? worse + 1 : 0;
    if (worse >= patience || trials.secondsLeft() <= ofProofs)
      break;
  }
  bool isPipeline = trials.all().found() && (!*without || isBetter(rankOf(*trials.all().found()), rankOf(**without)));
  if (!isPipeline && !*without)
    return noPlanError("{0}", trials.all().lastFailure());
  if (!isPipeline)
    return withTimeLimit(std::move(**without), request);
  llvm::Expected<Plan> best = planAgain(trials, plan);
  if (best && *without)
    best->notes.push_back("without a pipeline a step takes " + formatSeconds((*without)->stepSeconds));
  return best ? withTimeLimit(std::move(*best), request) : std::move(best);
}

} // namespace apc
