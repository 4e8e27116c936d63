// Stages that the degrees of a layout decide, under the layout's schedule.
#include "PipelineLayout.h"

#include "../Pipeline/BalancedCuts.h"
#include "../Pipeline/PipelinePoints.h"
#include "../Pipeline/Workers/WorkerPools.h"
#include "CostLayout.h"
#include "LayerwiseCuts.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include <map>

namespace apc {

PlanRequest withPipelineOf(PlanRequest request, const ParallelDegrees &layout) {
  request.pipeline = {layout.pipeline};
  if (layout.pipeline > 1) {
    request.chunks = {layout.numChunks()};
    request.schedule = layout.scheduleName();
  }
  return request;
}

/// Errors (input): the layout is none of these devices or of the model.
static llvm::Expected<WorkerPools> workersOfLayout(const PlanningTask &whole, const ParallelDegrees &layout) {
  int64_t devices = whole.pool.numDevices();
  if (devices % layout.pipeline != 0)
    return inputError("layout {0}: pp={1} does not divide {2} devices; divisors of {2} are accepted", layout.str(),
                      layout.pipeline, devices);
  if (layout.numDevices() != devices)
    return inputError("layout {0}: {1}, and there are {2} devices; accepted are degrees that multiply to {2}",
                      layout.str(), layout.product(), devices);
  auto workers = workersOf(whole.pool, {layout.pipeline}, "layout " + layout.str());
  if (!workers)
    return workers;
  if (llvm::Error error = checkLayoutOnModel(whole, layout))
    return std::move(error);
  return workers;
}

/// Errors (input): the schedule takes other chunks than the layout has; chunks that would do.
static llvm::Error checkChunks(const ParallelDegrees &layout) {
  auto schedule = findPipelineSchedule(layout.scheduleName(), static_cast<uint32_t>(layout.numChunks()));
  if (schedule)
    return llvm::Error::success();
  std::string message = takeMessage(schedule.takeError()).second;
  if (std::optional<uint32_t> least = leastChunksOf(layout.scheduleName()); least && !layout.chunks) {
    if (llvm::Error error = checkPlanned(*llvm::cantFail(findPipelineSchedule(layout.scheduleName(), *least))))
      return error; // with any chunks
    message += llvm::formatv("; add chunks={0}", *least);
  }
  return inputError("layout {0}: {1}", layout.str(), message);
}

llvm::Expected<std::vector<size_t>> cutsOfLayout(const PlanningTask &whole, const ParallelDegrees &layout,
                                                 const WorkerPools &workers) {
  auto numStages = static_cast<size_t>(layout.pipeline * layout.numChunks());
  std::vector<size_t> cuts = layerwiseCuts(whole.graph, numStages);
  if (!cuts.empty())
    return cuts;
  return balancedCuts(whole.graph, workers, numStages, "layout " + layout.str());
}

/// By stage: its part of a limit on the memory of its worker, in proportion to what the stages of `answer` need.
static std::vector<int64_t> sharesOf(int64_t limitBytes, const PipelineAnswer &answer, MemoryShares kind) {
  std::map<uint32_t, double> needed;
  auto bytesOf = [&](size_t stage) {
    return static_cast<double>(answer.stages[stage]->candidate->cost.memory.total());
  };
  auto workerOf = [&](size_t stage) { return answer.point.lists.shape.workerOf(static_cast<uint32_t>(stage)); };
  for (size_t stage = 0; stage < answer.stages.size(); ++stage)
    needed[workerOf(stage)] +=
        kind == MemoryShares::Apart ? bytesOf(stage) : static_cast<double>(answer.memory[stage].total());
  std::vector<int64_t> shares;
  for (size_t stage = 0; stage < answer.stages.size(); ++stage)
    shares.push_back(static_cast<int64_t>(static_cast<double>(limitBytes) * bytesOf(stage) / needed[workerOf(stage)]));
  return shares;
}

namespace {

/// The stages of a layout under a schedule: as fast as can be, and then within parts of the memory.
class StagesOfLayout {
public:
  StagesOfLayout(const PlanningTask &whole, const ParallelDegrees &layout, const PipelinePoint &point,
                 const StagedStep &step)
      : whole(whole), layout(layout), point(point), step(step) {}

  llvm::Expected<PipelineTrial> fastest();
  /// By stage, within its \p shares where it is not so small in \p fastest. A stage that is the only one of its worker
  /// and does not fit has no answer, for then nothing fits.
  llvm::Expected<PipelineTrial> within(llvm::ArrayRef<int64_t> shares, const PipelineAnswer &fastest);

private:
  /// Costs of the layout on the devices of a worker, which stages share where workers are equal.
  llvm::Expected<std::shared_ptr<LayoutCosts>> costsOn(const Pool &pool);

  struct Carried {
    std::shared_ptr<LayoutCosts> costs;
    CarriedLayout layout;
  };

  const PlanningTask &whole;
  const ParallelDegrees &layout;
  const PipelinePoint &point;
  const StagedStep &step;
  std::shared_ptr<LayoutCosts> costs;
  std::map<unsigned, Carried> carried; ///< by kind of stage
};

llvm::Expected<std::shared_ptr<LayoutCosts>> StagesOfLayout::costsOn(const Pool &pool) {
  if (costs && step.hasEqualWorkers())
    return costs;
  llvm::Expected<std::unique_ptr<LayoutCosts>> made = costsOfLayout(pool, layout);
  if (!made)
    return made.takeError();
  costs = std::move(*made);
  return costs;
}

llvm::Expected<PipelineTrial> StagesOfLayout::fastest() {
  auto answerStage = [&](unsigned stage, StageAnswer &own) -> llvm::Error {
    auto ofWorker = costsOn(own.task->pool);
    if (!ofWorker)
      return ofWorker.takeError();
    llvm::Expected<CarriedLayout> found = carryOutLayout(*own.task, layout, **ofWorker);
    if (!found)
      return found.takeError();
    own.isByMemory = false;
    own.candidate = found->fastest;
    carried.try_emplace(step.kindOf(stage), Carried{*ofWorker, std::move(*found)});
    return llvm::Error::success();
  };
  return step.planBy(point, answerStage, AnswersShared::ByAlike);
}

llvm::Expected<PipelineTrial> StagesOfLayout::within(llvm::ArrayRef<int64_t> shares, const PipelineAnswer &fastest) {
  auto answerStage = [&](unsigned stage, StageAnswer &own) -> llvm::Error {
    own.task->memoryLimitBytes = shares[stage];
    own.isByMemory = true;
    own.candidate = fastest.stages[stage]->candidate;
    if (own.candidate->cost.memory.total() <= shares[stage])
      return llvm::Error::success();
    const Carried &alike = carried.at(step.kindOf(stage));
    if (std::optional<Candidate> smaller = carryOutWithin(*own.task, layout, alike.layout, *alike.costs))
      own.candidate = std::move(*smaller);
    const int64_t bytes = own.candidate->cost.memory.total();
    if (layout.numChunks() == 1 && bytes > whole.memoryLimitBytes) {
      own.reason = formatBytes(static_cast<double>(bytes)) + " are needed";
      own.candidate.reset();
    }
    return llvm::Error::success();
  };
  return step.planBy(point, answerStage, AnswersShared::ByInFlight);
}

} // namespace

/// A step is known that takes less, or one that needs so much memory would take more within what there is.
static bool isOfNoUse(const PlanningTask &whole, const PipelineAnswer &fastest, std::optional<double> knownSeconds) {
  constexpr double hopeless = 1.3; // strategies that save memory save less than that
  const double most = hopeless * static_cast<double>(whole.memoryLimitBytes);
  return knownSeconds &&
         (fastest.time.stepSeconds >= *knownSeconds || static_cast<double>(fullestBytes(fastest)) > most);
}

llvm::Expected<PipelineTrial> costStagesOfLayout(const PlanningTask &whole, const ParallelDegrees &layout,
                                                 const PipelinePoint &point, const StagedStep &step,
                                                 std::optional<double> knownSeconds) {
  StagesOfLayout stages(whole, layout, point, step);
  llvm::Expected<PipelineTrial> fastest = stages.fastest();
  if (!fastest || fastest->fits() || !fastest->answer || isOfNoUse(whole, *fastest->answer, knownSeconds))
    return fastest;
  const int64_t before = fullestBytes(*fastest->answer);
  for (MemoryShares kind : {MemoryShares::Together, MemoryShares::Apart}) {
    if (kind == MemoryShares::Together && layout.numChunks() == 1)
      continue;
    // Stages that keep to their shares may take more together: then of a limit that is lower by as much.
    int64_t limit = whole.memoryLimitBytes;
    for (int trial = 0; trial < 3 && limit > 0; ++trial) {
      std::vector<int64_t> shares = sharesOf(limit, *fastest->answer, kind);
      llvm::Expected<PipelineTrial> smaller = stages.within(shares, *fastest->answer);
      if (!smaller || smaller->fits())
        return smaller;
      const int64_t fullest = smaller->answer ? fullestBytes(*smaller->answer) : 0;
      const bool isInVain = fullest >= before;
      if (isInVain && trial == 0) // other shares are no larger than these
        return fastest;
      if (isInVain || fullest <= whole.memoryLimitBytes || layout.numChunks() == 1)
        break;
      limit -= fullest - whole.memoryLimitBytes;
    }
  }
  return fastest;
}

llvm::Expected<PipelineTrial> costPipelineLayout(const PlanningTask &whole, const ParallelDegrees &layout) {
  auto workers = workersOfLayout(whole, layout);
  if (!workers)
    return workers.takeError();
  if (llvm::Error error = checkChunks(layout))
    return std::move(error);
  auto cuts = cutsOfLayout(whole, layout, *workers); // before schedules of more workers than stages, which are long
  if (!cuts)
    return cuts.takeError();
  auto points = pipelinePoints(whole.request, layout.pipeline, layout.numChunks(), whole.graph.wholeMicroBatches());
  if (!points)
    return points.takeError();
  const PipelinePoint &point = points->front();
  auto step = StagedStep::make(whole, std::move(*workers), *cuts, point.schedule->splitsBackward,
                               std::make_shared<StagePatterns>());
  if (!step)
    return step.takeError();
  return costStagesOfLayout(whole, layout, point, **step, whole.control.knownSeconds);
}

} // namespace apc
