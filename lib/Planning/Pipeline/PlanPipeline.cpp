// The fastest pipeline, its proofs and bounds, in words.
#include "PlanPipeline.h"

#include "BalancedCuts.h"
#include "Bound/PipelineBound.h"
#include "DescribePipeline.h"
#include "PipelineParts.h"
#include "PointTrials.h"
#include "Workers/ChooseWorkers.h"

#include "apc/Planning/NothingFits.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

/// The best pipeline with its bound, and what else was tried. \p isProven: its stages were searched to the end.
Plan describe(const PlanningTask &whole, const FoundPipeline &found, double leastSeconds, bool isProven) {
  Plan plan = describePipeline(whole, *found.best);
  plan.isByMemory = plan.isByMemory || !found.reason.empty();
  plan.search = whole.search.name.str();
  plan.lowerBoundSeconds = std::min(plan.stepSeconds, leastSeconds);
  plan.gap = plan.stepSeconds > 0 ? 1 - plan.lowerBoundSeconds / plan.stepSeconds : 0;
  TriedPoint own = triedPointOf(plan);
  own.isQuick = !isProven;
  plan.tried = withTried(found.tried, own);
  return plan;
}

/// The plan of the best that was found, with proofs and a bound where they are asked for.
llvm::Expected<Plan> finish(const PlanningTask &whole, const WorkerPools &workers, FoundPipeline &found) {
  if (whole.control.effort == PlanningEffort::FirstAnswers || whole.isStopped())
    return describe(whole, found, leastSharedSeconds(whole), /*isProven=*/false);
  constexpr double share = 0.25; // of the time that is left
  const double seconds = share * whole.secondsLeft(PlanningTask::Part::Search);
  llvm::Expected<PipelineBound> bound = leastPipelineSeconds(whole, workers, seconds);
  if (!bound)
    return bound.takeError();
  whole.report("searching the stages of the pipeline");
  llvm::Expected<PipelineAnswer> proven = found.stages->prove(std::move(*found.best));
  if (!proven)
    return proven.takeError();
  found.best = std::move(*proven);
  const std::optional<double> least = bound->seconds(whole.request, bound->microBatches);
  Plan plan = describe(whole, found, least.value_or(bound->shareSeconds), /*isProven=*/true);
  if (!whole.isOutOfTime(PlanningTask::Part::Reasons))
    plan.parallelism = contributionsOf(*found.stages, *found.best);
  return plan;
}

/// Errors (input): workers of unequal devices are to have several stages each.
llvm::Error checkUnequalWorkers(const PlanRequest &request) {
  const std::string source = "--pipeline " + request.pipeline.str();
  if (const int64_t chunks = request.chunks.count.value_or(1); chunks != 1)
    return inputError("{0} with --chunks {1}: workers of unequal devices have one stage each; accepted is --chunks 1",
                      source, chunks);
  if (request.schedule == "auto" || leastChunksOf(request.schedule).value_or(1) == 1)
    return llvm::Error::success();
  std::vector<llvm::StringRef> accepted;
  for (const PipelineSchedule &schedule : allPipelineSchedules())
    if (schedule.leastChunks == 1)
      accepted.push_back(schedule.name);
  return inputError("{0} with --schedule {1}: workers of unequal devices have one stage each, and the schedule has "
                    "several chunks on a worker; accepted are workers of equal devices, or the schedules {2}",
                    source, request.schedule, llvm::join(accepted, ", "));
}

} // namespace

llvm::Expected<Plan> planPipeline(const PlanningTask &whole) {
  const std::string source = "--pipeline " + whole.request.pipeline.str();
  auto workers = chooseWorkers(whole);
  if (!workers)
    return workers.takeError();
  // Schedules of more workers than the model has stages can be too long to be written down.
  if (llvm::Error error = checkStages(whole.graph, workers->count(), source))
    return std::move(error);
  const std::optional<int64_t> chunks = whole.request.chunks.count;
  if (!workers->areEqual())
    if (llvm::Error error = checkUnequalWorkers(whole.request))
      return std::move(error);
  whole.report("planning the stages of a pipeline");
  llvm::Expected<FoundPipeline> tried = tryPipelines(whole, *workers);
  if (!tried)
    return tried.takeError();
  FoundPipeline &found = *tried;
  if (found.best)
    return finish(whole, *workers, found);
  if (whole.isStopped())
    return llvm::make_error<NothingFits>("stopped before a pipeline was found that fits; nothing was written",
                                         std::move(found.tried));
  if (!found.reason.empty())
    return llvm::make_error<NothingFits>(
        llvm::formatv("{0}: nothing that was tried fits the memory: {1}", source, found.reason),
        std::move(found.tried));
  return inputError("{0}: no schedule takes {1} workers, {2} and {3} micro-batches", source, workers->count(),
                    chunks ? std::to_string(*chunks) + " chunks" : "any chunks", whole.graph.wholeMicroBatches());
}

} // namespace apc
