// Rows of the table of schedules for given numbers.
#include "PipelinePoints.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Planning/TakenMicroBatches.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace apc {

/// Calls \p see with each stage and what it holds at each time.
static void forEachHeld(const PipelinePoint &point, llvm::function_ref<void(uint32_t, const HeldUnits &)> see) {
  for (auto [worker, times] : llvm::enumerate(point.held))
    for (const std::vector<HeldUnits> &time : times)
      for (auto [chunk, held] : llvm::enumerate(time))
        see(point.lists.shape.stageOf(static_cast<uint32_t>(worker), static_cast<uint32_t>(chunk)), held);
}

std::vector<int64_t> PipelinePoint::inFlight() const {
  std::vector<int64_t> most(lists.shape.numStages(), 1);
  forEachHeld(*this, [&](uint32_t stage, const HeldUnits &held) {
    most[stage] = std::max<int64_t>(most[stage], held.count());
  });
  return most;
}

static void take(const HeldUnits &held, WaitingMicroBatches &most) {
  WaitingAt &own = most.beside(held.running == HeldUnits::Running::Weights);
  own.backward = std::max<int64_t>(own.backward, held.atBackward);
  own.weights = std::max<int64_t>(own.weights, held.atWeights);
}

std::vector<WaitingMicroBatches> PipelinePoint::waiting() const {
  std::vector<WaitingMicroBatches> waiting(lists.shape.numStages());
  forEachHeld(*this, [&](uint32_t stage, const HeldUnits &held) {
    if (held.isRunning())
      take(held, waiting[stage]);
  });
  return waiting;
}

int64_t PipelinePoint::mostInFlight(uint32_t worker) const {
  int64_t most = 0;
  for (const std::vector<HeldUnits> &time : held[worker])
    most = std::max(most, std::accumulate(time.begin(), time.end(), int64_t(0),
                                          [](int64_t sum, const HeldUnits &own) { return sum + own.count(); }));
  return most;
}

int64_t PipelinePoint::mostInFlight() const {
  int64_t sum = 0;
  for (uint32_t worker = 0; worker < lists.shape.workers; ++worker)
    sum += mostInFlight(worker);
  return sum;
}

static llvm::Expected<PipelinePoint> pointOf(const PipelineSchedule &schedule, const PipelineCounts &counts,
                                             bool updatesWait, bool sendersWait) {
  llvm::Expected<ActionLists> lists = generateActions(schedule, counts);
  if (!lists)
    return lists.takeError();
  llvm::Expected<PipelineSimulator> simulator = PipelineSimulator::make(*lists);
  if (!simulator)
    return simulator.takeError();
  HeldByWorkers held;
  for (uint32_t worker = 0; worker < lists->shape.workers; ++worker)
    held.push_back(simulator->heldTogether(worker));
  return PipelinePoint{&schedule,       counts,      std::move(*lists), std::move(*simulator),
                       std::move(held), updatesWait, sendersWait};
}

llvm::Error checkPlanned(const PipelineSchedule &schedule) {
  if (schedule.placement == Placement::Mirrored)
    return inputError("--schedule {0} runs two copies of the model, and a plan has one; without it the planner chooses",
                      schedule.name);
  return llvm::Error::success();
}

std::vector<const PipelineSchedule *> schedulesFor(const PlanRequest &request, const PipelineCounts &counts) {
  if (request.schedule != "auto") {
    auto named = findPipelineSchedule(request.schedule, counts.chunks);
    if (named)
      return (*named)->accepts(counts) ? std::vector{*named} : std::vector<const PipelineSchedule *>();
    llvm::consumeError(named.takeError());
    return {};
  }
  std::vector<const PipelineSchedule *> offered;
  for (const PipelineSchedule &schedule : allPipelineSchedules())
    if (schedule.placement != Placement::Mirrored && !schedule.hasPieces && !schedule.overlapsPairs &&
        schedule.leastChunks <= counts.chunks && counts.chunks <= schedule.mostChunks && schedule.accepts(counts))
      offered.push_back(&schedule);
  return offered;
}

/// An error about the schedule of a request, behind the flags that ask for it.
static llvm::Error inFlagsOf(const PlanRequest &request, llvm::Error error) {
  const std::string chunks = request.chunks.count ? " with --chunks " + request.chunks.str() : "";
  return inputError("--schedule {0}{1}: {2}", request.schedule, chunks, takeMessage(std::move(error)).second);
}

llvm::Expected<std::vector<PipelinePoint>> pipelinePoints(const PlanRequest &request, int64_t workers, int64_t chunks,
                                                          int64_t microBatches) {
  const PipelineCounts counts = countsOf(workers, microBatches, chunks);
  const bool updatesWait = request.clipNorm || request.precision == PrecisionChoice::Fp16;
  llvm::Expected<Runtime> runtime = loadRuntime(request.runtime);
  if (!runtime)
    return runtime.takeError();
  std::vector<PipelinePoint> points;
  auto add = [&](const PipelineSchedule &schedule) -> llvm::Error {
    llvm::Expected<PipelinePoint> point = pointOf(schedule, counts, updatesWait, runtime->waitsForTransfers);
    if (!point)
      return point.takeError();
    points.push_back(std::move(*point));
    return llvm::Error::success();
  };
  if (request.schedule != "auto") {
    auto schedule = findPipelineSchedule(request.schedule, counts.chunks);
    if (!schedule)
      return inFlagsOf(request, schedule.takeError());
    if (llvm::Error error = checkPlanned(**schedule))
      return std::move(error);
    if (request.globalBatch && request.microBatch && !takesMicroBatches(request, workers, microBatches))
      return refusalOfBatch(request, workers, *request.globalBatch);
    if (llvm::Error error = add(**schedule))
      return std::move(error);
    return points;
  }
  for (const PipelineSchedule *schedule : schedulesFor(request, counts))
    if (llvm::Error error = add(*schedule))
      return std::move(error);
  std::map<const PipelineSchedule *, int64_t> held;
  for (const PipelinePoint &point : points)
    held[point.schedule] = point.mostInFlight();
  llvm::stable_sort(
      points, [&](const PipelinePoint &a, const PipelinePoint &b) { return held[a.schedule] < held[b.schedule]; });
  return points;
}

/// Has the schedule of the request so many chunks?
static bool hasChunks(const PlanRequest &request, int64_t chunks) {
  if (request.schedule == "auto")
    return true;
  auto schedule = findPipelineSchedule(request.schedule, static_cast<uint32_t>(chunks));
  if (schedule)
    return true;
  llvm::consumeError(schedule.takeError());
  return false;
}

std::vector<int64_t> chunksToTry(const PlanRequest &request, int64_t most) {
  if (request.chunks.count)
    return {*request.chunks.count};
  std::vector<int64_t> chunks;
  for (int64_t count : {1, 2, 3, 4, 6, 8})
    if (hasChunks(request, count) && (count <= most || chunks.empty()))
      chunks.push_back(count);
  return chunks.empty() ? std::vector<int64_t>{1} : chunks;
}

} // namespace apc
