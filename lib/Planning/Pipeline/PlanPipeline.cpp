// Cuts, stages and schedules of a pipeline, and the fastest of them in words.
#include "PlanPipeline.h"

#include "DescribePipeline.h"
#include "PipelineBound.h"
#include "StagedStep.h"
#include "WorkerPools.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// The best pipeline that was found, and what was tried.
struct Found {
  std::optional<PipelineAnswer> best;
  std::vector<std::string> lines; ///< one for each point that was tried
  std::string reason;             ///< why the last one that does not fit does not; empty where all fit
};

std::string nameOf(const PipelinePoint &point) {
  std::string text = point.schedule->name.str() + " on " + std::to_string(point.counts.workers) + " workers";
  return point.counts.chunks == 1 ? text : text + llvm::formatv(" with {0} chunks", point.counts.chunks).str();
}

/// Steps cut for one number of workers and chunks, with the backward pass in one part and in two.
class StagedSteps {
public:
  StagedSteps(const PlanningTask &whole, int64_t workers, int64_t chunks)
      : whole(whole), workers(workers), chunks(chunks) {}

  llvm::Expected<PipelineTrial> plan(const PipelinePoint &point) {
    std::unique_ptr<StagedStep> &step = point.schedule->splitsBackward ? inTwo : inOne;
    if (!step) {
      auto made = StagedStep::make(whole, workers, chunks, point.schedule->splitsBackward);
      if (!made)
        return made.takeError();
      step = std::move(*made);
    }
    return step->plan(point);
  }

private:
  const PlanningTask &whole;
  int64_t workers, chunks;
  std::unique_ptr<StagedStep> inOne, inTwo;
};

/// Tries the schedules for one number of workers and chunks; those that could be no faster than what is known, by the
/// seconds of stages of schedules before, are left out.
llvm::Error tryChunks(const PlanningTask &whole, int64_t workers, int64_t chunks, Found &found) {
  auto points = pipelinePoints(whole.request, workers, chunks, whole.graph.microBatches());
  if (!points)
    return points.takeError();
  StagedSteps steps(whole, workers, chunks);
  std::optional<PipelineAnswer> last;
  for (const PipelinePoint &point : *points) {
    if (whole.isStopped() || (found.best && whole.isOutOfTime(PlanningTask::Part::Search)))
      break;
    std::optional<double> expected = last ? expectedSeconds(point, *last) : std::nullopt;
    if (expected && found.best && *expected >= found.best->time.stepSeconds)
      continue;
    llvm::Expected<PipelineTrial> trial = steps.plan(point);
    if (!trial)
      return trial.takeError();
    if (!trial->fits()) {
      found.reason = nameOf(point) + ": " + trial->reason;
      found.lines.push_back(nameOf(point) + ": does not fit");
      continue;
    }
    found.lines.push_back(nameOf(point) + ": " + formatSeconds(trial->answer->time.stepSeconds));
    last = *trial->answer;
    if (!found.best || last->time.stepSeconds < found.best->time.stepSeconds)
      found.best = last;
  }
  return llvm::Error::success();
}

/// More chunks until two numbers in a row gave nothing better.
llvm::Error tryWorkers(const PlanningTask &whole, int64_t workers, Found &found) {
  auto places = static_cast<int64_t>(layerCuts(whole.graph).size());
  unsigned worse = 0;
  for (int64_t chunks : chunksToTry(whole.request, (places + 1) / workers)) {
    std::optional<double> before = found.best ? std::optional(found.best->time.stepSeconds) : std::nullopt;
    if (llvm::Error error = tryChunks(whole, workers, chunks, found))
      return error;
    bool isBetter = found.best && (!before || found.best->time.stepSeconds < *before);
    worse = isBetter ? 0 : worse + 1;
    constexpr unsigned patience = 2;
    if (worse >= patience || whole.isStopped() || whole.isOutOfTime(PlanningTask::Part::Search))
      break;
  }
  return llvm::Error::success();
}

/// The best pipeline with its bound, and what else was tried.
Plan describe(const PlanningTask &whole, const Found &found) {
  Plan plan = describePipeline(whole, *found.best);
  plan.isByMemory = plan.isByMemory || !found.reason.empty();
  plan.search = whole.search.name.str();
  plan.lowerBoundSeconds = std::min(plan.stepSeconds, leastPipelineSeconds(whole, found.best->point.counts.workers));
  plan.gap = plan.stepSeconds > 0 ? 1 - plan.lowerBoundSeconds / plan.stepSeconds : 0;
  if (found.lines.size() > 1)
    plan.notes.push_back("schedules that were tried: " + llvm::join(found.lines, "; "));
  return plan;
}

} // namespace

llvm::Expected<Plan> planPipeline(const PlanningTask &whole) {
  int64_t workers = *whole.request.pipeline.count;
  if (llvm::Error error = checkWorkers(whole.pool, workers, "--pipeline " + std::to_string(workers)))
    return std::move(error);
  whole.report("planning the stages of a pipeline");
  Found found;
  if (llvm::Error error = tryWorkers(whole, workers, found))
    return std::move(error);
  if (found.best)
    return describe(whole, found);
  if (!found.reason.empty())
    return noPlanError("--pipeline {0}: no schedule fits the memory: {1}", workers, found.reason);
  return inputError("--pipeline {0}: no schedule takes {0} workers, {1} and {2} micro-batches", workers,
                    whole.request.chunks.count ? std::to_string(*whole.request.chunks.count) + " chunks" : "any chunks",
                    whole.graph.microBatches());
}

} // namespace apc
