// Cuts, stages and schedules of a pipeline, and the fastest of them in words.
#include "PlanPipeline.h"

#include "BalancedCuts.h"
#include "PipelineBound.h"
#include "StagedStep.h"
#include "WorkerPools.h"

#include "../DescribePlan.h"
#include "../NameAxes.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Planning/PlanRank.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// The best pipeline that was found, and what was tried.
struct Found {
  std::optional<PipelineAnswer> best;
  std::shared_ptr<StagedStep> stages; ///< of `best`
  std::vector<std::string> lines;     ///< one for each point that was tried
  std::string reason;                 ///< why the last one that does not fit does not; empty where all fit
};

std::string nameOf(const PipelinePoint &point) {
  std::string text = point.schedule->name.str() + " on " + std::to_string(point.counts.workers) + " workers";
  return point.counts.chunks == 1 ? text : text + llvm::formatv(" with {0} chunks", point.counts.chunks).str();
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
llvm::Expected<std::optional<PipelineAnswer>> tryPoint(const PipelinePoint &point, std::optional<double> expected,
                                                       StagedSteps &steps, Found &found) {
  llvm::Expected<std::shared_ptr<StagedStep>> stages = steps.of(point);
  if (!stages)
    return stages.takeError();
  constexpr double much = 0.03;
  bool mayWinMuch = !found.best || (expected && *expected < found.best->time.stepSeconds * (1 - much));
  llvm::Expected<PipelineTrial> trial =
      (*stages)->plan(point, mayWinMuch ? MeshesToSearch::All : MeshesToSearch::OfPattern);
  if (!trial)
    return trial.takeError();
  if (!trial->answer) {
    found.reason = nameOf(point) + ": " + trial->reason;
    found.lines.push_back(nameOf(point) + ": does not fit");
    return std::nullopt;
  }
  found.lines.push_back(nameOf(point) + ": " + formatSeconds(trial->answer->time.stepSeconds));
  if (!found.best || trial->answer->time.stepSeconds < found.best->time.stepSeconds) {
    found.best = *trial->answer;
    found.stages = *stages;
  }
  return std::move(trial->answer);
}

/// Tries the schedules for one number of workers and chunks; those that could be no faster than what is known, by the
/// seconds of stages of schedules before, are left out.
llvm::Error tryChunks(const PlanningTask &whole, int64_t workers, int64_t chunks, Found &found) {
  auto points = pipelinePoints(whole.request, workers, chunks, whole.graph.microBatches());
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
    auto answer = tryPoint(point, expected, steps, found);
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

/// The pipeline of the step and its stages, with reasons.
Plan describe(const PlanningTask &whole, const Found &found) {
  const PipelineAnswer &answer = *found.best;
  const PipelinePoint &point = answer.point;
  Plan plan;
  plan.request = whole.request;
  plan.pipeline = PlanPipeline{point.schedule->name.str(), point.counts.workers, point.counts.chunks, answer.step->cuts,
                               answer.transfers};
  int64_t devices = whole.pool.numDevices() / point.counts.workers;
  for (const auto &[index, stage] : answer.stages) {
    ReasonedStage reasoned = describeStage(*stage->task, *stage->candidate, /*problem=*/nullptr);
    reasoned.stage.firstRank = point.lists.shape.workerOf(index) * devices;
    reasoned.stage.parts = answer.seconds[index];
    reasoned.stage.inFlight = answer.inFlight[index];
    plan.devicesUsed =
        std::max(plan.devicesUsed, reasoned.stage.firstRank + devicesUsed(stage->graph, *stage->candidate));
    plan.isByMemory = plan.isByMemory || stage->isByMemory;
    plan.timing.problemSeconds += stage->problemSeconds;
    plan.timing.searchSeconds += stage->searchSeconds;
    plan.stages.push_back(std::move(reasoned.stage));
  }
  plan.isByMemory = plan.isByMemory || !found.reason.empty();
  plan.search = whole.search.name.str();
  plan.stepSeconds = answer.time.stepSeconds;
  plan.lowerBoundSeconds = std::min(plan.stepSeconds, leastPipelineSeconds(whole, point.counts.workers));
  plan.gap = plan.stepSeconds > 0 ? 1 - plan.lowerBoundSeconds / plan.stepSeconds : 0;
  plan.memoryLimitBytes = whole.memoryLimitBytes;
  plan.deviceMemoryBytes = whole.pool.device.memoryBytes;
  plan.training = trainingOf(whole.graph, whole.request);
  if (found.lines.size() > 1)
    plan.notes.push_back("schedules that were tried: " + llvm::join(found.lines, "; "));
  return withRates(withTotals(std::move(plan)), whole.graph, whole.pool);
}

llvm::Error checkWorkers(const PlanningTask &whole, int64_t workers) {
  if (poolOfWorker(whole.pool, workers))
    return llvm::Error::success();
  std::string possible = llvm::join(
      llvm::map_range(possibleWorkers(whole.pool), [](int64_t count) { return std::to_string(count); }), ", ");
  return inputError("--pipeline {0}: the {1} devices are no {0} equal groups of neighbours; accepted are {2}", workers,
                    whole.pool.numDevices(), possible);
}

} // namespace

llvm::Expected<Plan> planPipeline(const PlanningTask &whole) {
  int64_t workers = *whole.request.pipeline.count;
  if (llvm::Error error = checkWorkers(whole, workers))
    return std::move(error);
  whole.report("planning the stages of a pipeline");
  Found found;
  if (llvm::Error error = tryWorkers(whole, workers, found))
    return std::move(error);
  if (found.best) {
    if (whole.control.effort == PlanningEffort::Proofs) {
      llvm::Expected<PipelineAnswer> proven = found.stages->prove(std::move(*found.best));
      if (!proven)
        return proven.takeError();
      found.best = std::move(*proven);
    }
    return describe(whole, found);
  }
  if (!found.reason.empty())
    return noPlanError("--pipeline {0}: no schedule fits the memory: {1}", workers, found.reason);
  return inputError("--pipeline {0}: no schedule takes {0} workers, {1} and {2} micro-batches", workers,
                    whole.request.chunks.count ? std::to_string(*whole.request.chunks.count) + " chunks" : "any chunks",
                    whole.graph.microBatches());
}

} // namespace apc
