// Tasks made from requests, their problems, and the cost of their answers.
#include "Task.h"

#include "NameAxes.h"

#include "apc/Plan/Settings.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace apc {

namespace {

/// Share of a device's memory that plans may use by default; the rest holds the runtime, its streams and fragments.
constexpr double usableMemory = 0.95;

llvm::Error checkModes(const PlanRequest &request) {
  if (llvm::Error error = checkTrainingSettings(request))
    return error;
  size_t numPins = request.pins.size() + request.inputs.size();
  if (request.parallel == ParallelMode::Data && numPins > 0)
    return inputError("--parallel data takes no pins ({0} {1} given): the batch decides; accepted with pins are "
                      "'auto', 'semi' and 'hybrid'",
                      numPins, numPins == 1 ? "is" : "are");
  if (std::optional<int64_t> zero = zeroStage(request.zero);
      request.parallel == ParallelMode::Data && zero.value_or(0) > 0)
    return inputError("--parallel data keeps parameters and states whole on every device: with it --zero 0 is "
                      "accepted, not {0}; 'apc evaluate --layout dp=N,zero={0}' costs data parallelism with ZeRO, and "
                      "--parallel auto searches it",
                      *zero);
  bool isSearched = request.parallel == ParallelMode::Auto || request.parallel == ParallelMode::Semi;
  if (request.pipeline.isOn() && !isSearched)
    return inputError("--pipeline {0} with --parallel {1}: the stages of a pipeline are searched; accepted are 'auto' "
                      "and 'semi', and 'apc evaluate --layout dp=N,pp=N' costs pipelines without a search",
                      request.pipeline.str(), parallelModeName(request.parallel));
  return llvm::Error::success();
}

/// `--launches graph`: each op costs what a recorded one does, and the host of no runtime launches it.
llvm::Error setLaunches(const PlanRequest &request, Pool &pool) {
  Device &device = pool.device;
  if (request.launches == LaunchMode::Eager)
    return llvm::Error::success();
  if (device.graphLaunchSeconds == 0)
    return inputError("--launches graph: cluster '{0}' has no device.graph_launch_seconds; --cluster-set "
                      "device.graph_launch_seconds=SECONDS gives it one",
                      request.cluster);
  device.launchSeconds = device.graphLaunchSeconds;
  pool.runtime.dispatchSeconds = 0;
  pool.runtime.waitsForKernels = false;
  return llvm::Error::success();
}

/// `--precision fp8`: the devices have matrix units for it.
llvm::Error checkPrecision(const PlanRequest &request, const Device &device) {
  auto hasUnits = [](const Device &own) { return own.peakFlopsPerSecond.count(NumberFormat::F8) > 0; };
  if (request.precision != PrecisionChoice::Fp8 || hasUnits(device))
    return llvm::Error::success();
  std::vector<std::string> others;
  for (const std::string &name : presetNames())
    if (hasUnits(llvm::cantFail(loadCluster(name)).pool.device))
      others.push_back(name);
  return inputError("--precision fp8: '{0}', the device of cluster '{1}', has no rate for 'f8' in its "
                    "peak_flops_per_second; accepted are --precision bf16, and clusters whose devices have one, as {2}",
                    device.name, request.cluster, llvm::join(others, ", "));
}

/// The search that a mode runs.
llvm::StringRef searchOf(const PlanRequest &request) {
  switch (request.parallel) {
  case ParallelMode::Auto:
    return request.search;
  case ParallelMode::Semi:
    return "propagation";
  case ParallelMode::Data:
  case ParallelMode::Hybrid:
    return "dp";
  }
  llvm_unreachable("every mode has a search");
}

} // namespace

llvm::Expected<PlanningTarget> readTarget(const PlanRequest &request) {
  if (llvm::Error error = checkModes(request))
    return error;
  llvm::Expected<Search> search = findSearch(searchOf(request));
  if (!search)
    return search.takeError();
  llvm::Expected<Cluster> preset = loadCluster(request.cluster, request.clusterOverrides);
  if (!preset)
    return preset.takeError();
  llvm::Expected<Runtime> runtime = loadRuntime(request.runtime);
  if (!runtime)
    return runtime.takeError();
  preset->pool.runtime = std::move(*runtime);
  if (llvm::Error error = checkPrecision(request, preset->pool.device))
    return error;
  if (llvm::Error error = setLaunches(request, preset->pool))
    return error;
  std::string idleNote;
  llvm::Expected<Cluster> cluster = withDevices(*preset, request.devices, &idleNote);
  if (!cluster)
    return cluster.takeError();
  PlanningTarget target{*search, std::move(*cluster), {}, idleNote, 0, {}};
  for (int64_t count : fewerCounts(*preset, request.devices)) {
    Pool fewer = llvm::cantFail(withDevices(*preset, count)).pool;
    fewer.device.slowestShare = target.cluster.pool.device.slowestShare; // it may be one of them
    target.fewer.push_back(std::move(fewer));
  }
  if (request.precision == PrecisionChoice::Fp8)
    target.notes.push_back(
        "--precision fp8: the program is in bf16; the runtime that runs it takes products of weights "
        "in 8 bits, as Transformer Engine's fp8_autocast and torchao's float8 training do");
  int64_t memoryBytes = target.cluster.pool.device.memoryBytes;
  target.memoryLimitBytes =
      request.memoryLimitBytes.value_or(static_cast<int64_t>(usableMemory * static_cast<double>(memoryBytes)));
  if (target.memoryLimitBytes > memoryBytes)
    target.notes.push_back(llvm::formatv("the memory limit of {0} is more than the {1} that a device has",
                                         formatBytes(static_cast<double>(target.memoryLimitBytes)),
                                         formatBytes(static_cast<double>(memoryBytes)))
                               .str());
  return target;
}

void PlanningTask::report(llvm::StringRef phase) const {
  if (control.report)
    control.report(phase);
}

/// The share of the time limit that is over when a part of planning must be done.
static double shareUntilEndOf(PlanningTask::Part part) {
  switch (part) {
  case PlanningTask::Part::Search:
    return 0.8;
  case PlanningTask::Part::References:
    return 0.9;
  case PlanningTask::Part::Reasons:
    return 1;
  }
  llvm_unreachable("every part has an end");
}

std::string PlanningTask::endText() const {
  if (isStopped())
    return "the search was stopped";
  std::string text;
  llvm::raw_string_ostream(text) << "the time limit of " << llvm::format("%g", request.timeLimitSeconds)
                                 << " s was over";
  return text;
}

double PlanningTask::end(Part part) const { return begin + shareUntilEndOf(part) * request.timeLimitSeconds; }

SearchOptions PlanningTask::searchOptions(Part part) const {
  SearchOptions options;
  options.clock = control.clock;
  options.until = end(part);
  options.timeLimitSeconds = request.timeLimitSeconds;
  options.gapTolerance = request.gapTolerance;
  options.numThreads = control.numThreads;
  options.stop = control.stop;
  options.progress = control.search;
  options.orders = control.orders;
  return options;
}

llvm::Expected<PlanningTask> makeTask(const OpGraph &graph, const PlanRequest &request, const PlanningTarget &target,
                                      std::vector<Pin> pins, const PlanningControl &control) {
  llvm::Expected<PinnedOps> bound = PinnedOps::bind(graph, target.cluster.pool, std::move(pins));
  if (!bound)
    return bound.takeError();
  PlanningTask task{graph,
                    request,
                    target.cluster.pool,
                    target.memoryLimitBytes,
                    target.search,
                    std::move(*bound),
                    control.within(request.timeLimitSeconds)};
  task.begin = control.begin.value_or(task.begin);
  const bool mayGather = request.mode == StepMode::Train && request.fusionBytes != 0;
  task.fusion = fusionOf(graph, request, mayGather ? elementsOfLayer(graph) : std::nullopt);
  return task;
}

llvm::Expected<PlanningTask> onPool(const PlanningTask &task, Pool pool, int64_t memoryLimitBytes) {
  llvm::Expected<PinnedOps> pins = PinnedOps::bind(task.graph, pool, task.pins.getPins().vec());
  if (!pins)
    return pins.takeError();
  PlanningTask other = task;
  other.pool = std::move(pool);
  other.memoryLimitBytes = memoryLimitBytes;
  other.pins = std::move(*pins);
  return other;
}

unsigned firstAxes(const PlanRequest &request) { return static_cast<unsigned>(request.meshAxes.value_or(3)); }
unsigned mostAxes(const PlanRequest &request) { return static_cast<unsigned>(request.meshAxes.value_or(4)); }

PlanningProblem problemOf(const PlanningTask &task, const Mesh &mesh, std::optional<Moment> moment) {
  return *problemUntil([] { return false; }, task, mesh, moment);
}

std::optional<PlanningProblem> problemUntil(llvm::function_ref<bool()> isOver, const PlanningTask &task,
                                            const Mesh &mesh, std::optional<Moment> moment) {
  CostModel model(task.pool, mesh);
  auto offers = [&](OpId op, const Strategy &strategy) { return task.offers(op, strategy, mesh); };
  llvm::function_ref<bool(OpId, const Strategy &)> keep;
  if (!task.pins.empty() || !task.kept.empty())
    keep = offers;
  std::optional<PlanningProblem> planning = buildProblemUntil(
      isOver, task.graph, model, keep, zeroStage(task.request.zero), WeightCopies::Chosen, task.fusion, moment);
  if (!planning || task.pins.empty())
    return planning;
  for (auto [node, ops] : llvm::zip_equal(planning->problem.nodes, planning->ops))
    for (OpId op : ops)
      if (std::string pins = task.pins.describe(op); !pins.empty())
        node.pin += (node.pin.empty() ? "" : " and ") + pins;
  return planning;
}

PlanningProblem problemAt(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &base,
                          std::optional<Moment> moment) {
  return atMoment(base, task.graph, CostModel(task.pool, mesh), WeightCopies::Chosen, moment);
}

PlanRank rankOf(const PlanningTask &task, const Candidate &candidate) {
  const GraphCost &cost = candidate.cost;
  return {candidate.seconds(), cost.memory.total(), cost.numCollectives(), devicesUsed(task.graph, candidate)};
}

double numPairs(const Problem &problem) {
  double pairs = 0;
  for (const PairTable &table : problem.pairTables)
    pairs += static_cast<double>(table.rows() * table.columns());
  return pairs;
}

double buildingWork(const PlanningProblem &planning) {
  constexpr double perPair = 32, perNode = 2000;
  return perPair * numPairs(planning.problem) + perNode * static_cast<double>(planning.problem.nodes.size());
}

double costingWork(const OpGraph &graph) {
  constexpr double perOp = 5000;
  return perOp * static_cast<double>(graph.ops.size());
}

llvm::Expected<Candidate> costCandidate(const PlanningTask &task, const Mesh &mesh, std::vector<Strategy> strategies,
                                        llvm::ArrayRef<ValueHub> hubs) {
  CostModel model(task.pool, mesh);
  task.spend(costingWork(task.graph));
  llvm::Expected<GraphCost> cost = costOfGraph(task.graph, strategies, model, hubs, task.fusion);
  if (!cost)
    return cost.takeError();
  // The copies of a bucket live together, and so do the values that wait for it.
  if (!cost->buckets.empty() && cost->memory.total() > task.memoryLimitBytes) {
    GraphCost together = *cost;
    takeTogether(task.graph, strategies, model, task.fusion, /*share=*/0, *cost);
    for (double share : {0.25, 0.0625}) {
      if (cost->memory.total() > task.memoryLimitBytes) // with any buckets
        break;
      takeTogether(task.graph, strategies, model, task.fusion, share, together);
      if (together.memory.total() <= task.memoryLimitBytes) {
        *cost = std::move(together);
        break;
      }
    }
  }
  StepTime time = stepTime(task.graph, *cost, model);
  return Candidate{mesh, std::move(strategies), std::move(*cost), time, hubs.vec()};
}

llvm::Expected<Candidate> costAnswer(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning,
                                     const Assignment &answer) {
  return costCandidate(task, mesh, planning.decode(answer), planning.decodeHubs(answer));
}

} // namespace apc
