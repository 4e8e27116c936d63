// Cuts, stages and schedules of a pipeline, and the fastest of them in words.
#include "PlanPipeline.h"

#include "../DescribePlan.h"
#include "DescribePipeline.h"
#include "PipelineBound.h"
#include "StagedStep.h"
#include "WorkerPools.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Planning/NothingFits.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The best pipeline that was found, and what was tried.
struct Found {
  std::optional<PipelineAnswer> best;
  std::shared_ptr<StagedStep> stages; ///< of `best`
  std::vector<TriedPoint> tried;
  std::string reason; ///< why the last one that does not fit does not; empty where all fit
};

std::string nameOf(const PipelinePoint &point) {
  std::string text = point.schedule->name.str() + " on " + std::to_string(point.counts.workers) + " workers";
  return point.counts.chunks == 1 ? text : text + llvm::formatv(" with {0} chunks", point.counts.chunks).str();
}

/// "planning gpipe on 4 workers: best 766 ms".
void report(const PlanningTask &whole, const PipelinePoint &point, const Found &found) {
  std::string best = found.best ? ": best " + formatSeconds(found.best->time.stepSeconds) : "";
  whole.report("planning " + nameOf(point) + best);
}

/// A point and its answer, where it has one. \p reason: why it does not fit; empty where it does.
TriedPoint describeTrial(const PlanningTask &whole, const PipelinePoint &point,
                         const std::optional<PipelineAnswer> &answer, const std::string &reason) {
  TriedPoint tried = failedPointOf(whole.request, whole.graph.wholeMicroBatches(), reason);
  tried.workers = point.counts.workers;
  tried.schedule = point.schedule->name.str();
  tried.chunks = point.counts.chunks;
  if (std::optional<PlanTraining> training = trainingOf(whole.graph, whole.request))
    std::tie(tried.microBatch, tried.recompute) = std::tie(training->microBatch, training->recompute);
  if (answer) {
    tried.stepSeconds = answer->time.stepSeconds;
    tried.memoryBytes = fullestBytes(*answer);
  }
  tried.feasible = answer && reason.empty();
  tried.isQuick = true;
  return tried;
}

/// Steps cut for one number of workers and chunks, with the backward pass in one part and in two.
class StagedSteps {
public:
  /// \p pattern: an answer of other cuts; may be null.
  StagedSteps(const PlanningTask &whole, int64_t workers, int64_t chunks, StageAnswers::Answer pattern)
      : whole(whole), workers(workers), chunks(chunks), pattern(std::move(pattern)) {}

  llvm::Expected<std::shared_ptr<StagedStep>> of(const PipelinePoint &point) {
    std::shared_ptr<StagedStep> &step = point.schedule->splitsBackward ? inTwo : inOne;
    if (!step) {
      auto made = StagedStep::make(whole, workers, chunks, point.schedule->splitsBackward,
                                   inOne ? inOne->getPattern() : pattern);
      if (!made)
        return made.takeError();
      step = std::move(*made);
    }
    return step;
  }

private:
  const PlanningTask &whole;
  int64_t workers, chunks;
  StageAnswers::Answer pattern;
  std::shared_ptr<StagedStep> inOne, inTwo;
};

/// Plans one point, on meshes of its own where much may be won; returns its answer, where it has one.
llvm::Expected<std::optional<PipelineAnswer>> tryPoint(const PlanningTask &whole, const PipelinePoint &point,
                                                       std::optional<double> expected, StagedSteps &steps,
                                                       Found &found) {
  report(whole, point, found);
  llvm::Expected<std::shared_ptr<StagedStep>> stages = steps.of(point);
  if (!stages)
    return stages.takeError();
  constexpr double much = 0.03;
  bool mayWinMuch = !found.best || (expected && *expected < found.best->time.stepSeconds * (1 - much));
  llvm::Expected<PipelineTrial> trial =
      (*stages)->plan(point, mayWinMuch ? MeshesToSearch::All : MeshesToSearch::OfPattern);
  if (!trial)
    return trial.takeError();
  found.tried.push_back(describeTrial(whole, point, trial->answer, trial->reason));
  if (!trial->fits()) {
    found.reason = nameOf(point) + ": " + trial->reason;
    return std::nullopt;
  }
  if (!found.best || trial->answer->time.stepSeconds < found.best->time.stepSeconds) {
    found.best = *trial->answer;
    found.stages = *stages;
  }
  return std::move(trial->answer);
}

/// Tries the schedules for one number of workers and chunks; those that could be no faster than what is known, by the
/// seconds of stages of schedules before, are left out.
llvm::Error tryChunks(const PlanningTask &whole, int64_t workers, int64_t chunks, Found &found) {
  auto points = pipelinePoints(whole.request, workers, chunks, whole.graph.wholeMicroBatches());
  if (!points)
    return points.takeError();
  StagedSteps steps(whole, workers, chunks, found.stages ? found.stages->getPattern() : nullptr);
  std::optional<PipelineAnswer> last;
  for (const PipelinePoint &point : *points) {
    if (whole.isStopped() || (found.best && whole.isOutOfTime(PlanningTask::Part::Search)))
      break;
    std::optional<double> expected = last ? expectedSeconds(point, *last) : std::nullopt;
    if (expected && found.best && *expected >= found.best->time.stepSeconds)
      continue;
    auto answer = tryPoint(whole, point, expected, steps, found);
    if (!answer)
      return answer.takeError();
    if (*answer)
      last = std::move(*answer);
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

/// The best pipeline with its bound, and what else was tried. \p isProven: its stages were searched to the end.
Plan describe(const PlanningTask &whole, const Found &found, double leastSeconds, bool isProven) {
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
llvm::Expected<Plan> finish(const PlanningTask &whole, int64_t workers, Found &found) {
  if (whole.control.effort == PlanningEffort::FirstAnswers || whole.isStopped())
    return describe(whole, found, /*leastSeconds=*/0, /*isProven=*/false);
  constexpr double share = 0.25; // of the time that is left
  std::chrono::duration<double> left = whole.end(PlanningTask::Part::Search) - std::chrono::steady_clock::now();
  llvm::Expected<PipelineBound> bound = leastPipelineSeconds(whole, workers, share * left.count());
  if (!bound)
    return bound.takeError();
  whole.report("searching the stages of the pipeline");
  llvm::Expected<PipelineAnswer> proven = found.stages->prove(std::move(*found.best));
  if (!proven)
    return proven.takeError();
  found.best = std::move(*proven);
  return describe(whole, found, bound->seconds(), /*isProven=*/true);
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
    return finish(whole, workers, found);
  if (whole.isStopped())
    return llvm::make_error<NothingFits>("stopped before a pipeline was found that fits; nothing was written",
                                         std::move(found.tried));
  if (!found.reason.empty())
    return llvm::make_error<NothingFits>(
        llvm::formatv("--pipeline {0}: nothing that was tried fits the memory: {1}", workers, found.reason),
        std::move(found.tried));
  return inputError("--pipeline {0}: no schedule takes {0} workers, {1} and {2} micro-batches", workers,
                    whole.request.chunks.count ? std::to_string(*whole.request.chunks.count) + " chunks" : "any chunks",
                    whole.graph.wholeMicroBatches());
}

} // namespace apc
