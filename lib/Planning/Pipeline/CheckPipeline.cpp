// The pipeline of a plan, derived again from its cuts, its schedule and the programs of its stages.
#include "../CheckStage.h"
#include "PipelinePoints.h"
#include "StageSeconds.h"
#include "Transfers.h"
#include "Workers/WorkerMemory.h"
#include "Workers/WorkerPools.h"

#include "apc/Plan/Statement.h"
#include "apc/Planning/Planning.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace apc {

namespace {

constexpr llvm::StringLiteral schedule = "the schedule has", programHas = "the program has";

/// The point that a plan names.
llvm::Expected<PipelinePoint> statedPoint(const Plan &plan, int64_t microBatches) {
  const PlanPipeline &pipeline = *plan.pipeline;
  PlanRequest request = plan.request;
  request.schedule = pipeline.schedule;
  auto points = pipelinePoints(request, pipeline.workers, pipeline.chunks, microBatches);
  if (!points)
    return noPlanError("pipeline: {0}", takeMessage(points.takeError()).second);
  return std::move(points->front());
}

llvm::Error checkTransfers(llvm::ArrayRef<PlanTransfer> stated, llvm::ArrayRef<PlanTransfer> truth, bool isOfCluster) {
  if (llvm::Error error = expectSame("number of transfers", stated.size(), truth.size(), programHas))
    return error;
  FirstError check;
  for (const auto &[own, known] : llvm::zip_equal(stated, truth)) {
    std::string place = "transfer of value '" + own.value + "': ";
    check(expectSame(place + "value", own.value, known.value, programHas));
    check(expectSame(place + "from", own.from, known.from, programHas));
    check(expectSame(place + "to", own.to, known.to, programHas));
    check(expectSame(place + "time", own.time, known.time, programHas));
    check(expectSame(place + "bytes", own.bytes, known.bytes, programHas));
    if (isOfCluster)
      check(expectClose(place + "seconds", own.seconds, known.seconds, "its links take"));
  }
  return check.take();
}

llvm::Error checkParts(const StagePlan &stage, const PlanStageSeconds &truth, const std::string &place) {
  if (!stage.parts)
    return noPlanError("{0}seconds is missing; a stage of a pipeline has them", place);
  FirstError check;
  check(expectClose(place + "seconds.forward", stage.parts->forward, truth.forward, programHas));
  check(expectClose(place + "seconds.backward", stage.parts->backward, truth.backward, programHas));
  check(expectClose(place + "seconds.weights", stage.parts->weights, truth.weights, programHas));
  check(expectClose(place + "seconds.update", stage.parts->update, truth.update, programHas));
  return check.take();
}

/// The programs of all stages, each held against what the plan says of it.
struct CheckedStages {
  std::vector<Candidate> candidates;
  std::vector<PlanStageSeconds> seconds;
  int64_t devicesUsed = 0;
  bool isOfCluster = true;
};

llvm::Expected<CheckedStages> checkStages(const Plan &plan, const CutStep &step, const PipelinePoint &point) {
  const std::vector<int64_t> &devices = plan.pipeline->workerDevices;
  auto firstRankOf = [&](uint32_t worker) {
    return devices.empty() ? worker * (plan.request.devices / plan.pipeline->workers)
                           : std::accumulate(devices.begin(), devices.begin() + worker, int64_t(0));
  };
  CheckedStages checked;
  std::vector<int64_t> inFlight = point.inFlight();
  std::vector<WaitingMicroBatches> waiting = point.waiting();
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    std::string place = llvm::formatv("stages[{0}].", index).str();
    uint32_t worker = point.lists.shape.workerOf(static_cast<uint32_t>(index));
    FirstError check;
    check(expectSame(place + "in_flight", stage.inFlight, inFlight[index], schedule));
    check(expectSame(place + "first_rank", stage.firstRank, firstRankOf(worker), schedule));
    if (llvm::Error error = check.take())
      return std::move(error);
    OpGraph graph = withInFlight(step.stages[index], inFlight[index], waiting[index]);
    auto own = checkStageStatements(graph, plan, stage, worker);
    if (!own)
      return noPlanError("{0}{1}", place, takeMessage(own.takeError()).second);
    checked.seconds.push_back(secondsByPart(graph, step.stages[index].parts, own->candidate));
    if (llvm::Error error =
            own->isOfCluster ? checkParts(stage, checked.seconds.back(), place) : llvm::Error::success())
      return std::move(error);
    checked.devicesUsed = std::max(checked.devicesUsed, stage.firstRank + own->devicesUsed);
    checked.isOfCluster = checked.isOfCluster && own->isOfCluster;
    checked.candidates.push_back(std::move(own->candidate));
  }
  return checked;
}

/// Holds the memory of workers with several stages against their lists.
llvm::Error checkTogether(const Plan &plan, const CutStep &step, const PipelinePoint &point, const WorkerPools &workers,
                          llvm::ArrayRef<const Candidate *> candidates) {
  std::vector<MemoryTable> together = memoryTogether(point, step, candidates, workers);
  FirstError check;
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    std::string place = llvm::formatv("stages[{0}].memory_bytes_together", index).str();
    check(expectSame(place + " is there", stage.memoryTogether.has_value(), point.counts.chunks > 1, schedule));
    if (!stage.memoryTogether)
      continue;
    for (MemoryCategory category : allMemoryCategories())
      check(expectSame(place + "." + memoryCategoryName(category), (*stage.memoryTogether)[category],
                       together[index][category], programHas));
    check(expectSame(place + ".host", stage.memoryTogether->hostBytes, together[index].hostBytes, programHas));
  }
  return check.take();
}

llvm::Error checkStep(const Plan &plan, const CutStep &step, const PipelinePoint &point, const CheckedStages &stages) {
  llvm::Expected<PlanningTarget> target = readTarget(plan.request);
  if (!target)
    return target.takeError();
  const Pool &pool = target->cluster.pool;
  std::vector<const Candidate *> candidates;
  for (const Candidate &candidate : stages.candidates)
    candidates.push_back(&candidate);
  auto workers = workersOf(pool, plan.pipeline->choice(), "pipeline");
  if (!workers)
    return workers.takeError();
  if (llvm::Error error = checkTogether(plan, step, point, *workers, candidates))
    return error;
  std::vector<PlanTransfer> transfers = planTransfers(pool, *workers, point.lists.shape, step, candidates);
  if (llvm::Error error = checkTransfers(plan.pipeline->transfers, transfers, /*isOfCluster=*/true))
    return error;
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(point, stages.seconds, transfers));
  if (!time)
    return time.takeError();
  return expectClose("step_seconds", plan.stepSeconds, time->stepSeconds, "the schedule takes");
}

} // namespace

llvm::Error checkPipelineStatements(const OpGraph &graph, const Plan &plan) {
  llvm::Expected<PipelinePoint> point = statedPoint(plan, graph.wholeMicroBatches());
  if (!point)
    return point.takeError();
  if (llvm::Error error = expectSame("number of stages", plan.stages.size(),
                                     static_cast<size_t>(point->lists.shape.numStages()), schedule))
    return error;
  if (const std::vector<int64_t> &devices = plan.pipeline->workerDevices; !devices.empty()) {
    FirstError check;
    check(expectSame("number of pipeline.worker_devices", static_cast<int64_t>(devices.size()), plan.pipeline->workers,
                     "the pipeline has workers:"));
    check(expectSame("pipeline.chunks", plan.pipeline->chunks, int64_t(1), "unequal workers have"));
    if (llvm::Error error = check.take())
      return error;
  }
  llvm::Expected<std::vector<size_t>> cuts = cutsBefore(graph, plan.pipeline->cuts);
  if (!cuts)
    return noPlanError("pipeline.cuts: {0}", takeMessage(cuts.takeError()).second);
  llvm::Expected<CutStep> step = cutStep(graph, *cuts, point->schedule->splitsBackward);
  if (!step)
    return step.takeError();
  if (llvm::Error error = expectSame("number of stages", plan.stages.size(), step->stages.size(), "pipeline.cuts give"))
    return error;
  llvm::Expected<CheckedStages> stages = checkStages(plan, *step, *point);
  if (!stages)
    return stages.takeError();
  if (llvm::Error error = expectSame("devices_used", plan.devicesUsed, stages->devicesUsed, programHas))
    return error;
  return stages->isOfCluster ? checkStep(plan, *step, *point, *stages) : llvm::Error::success();
}

} // namespace apc
