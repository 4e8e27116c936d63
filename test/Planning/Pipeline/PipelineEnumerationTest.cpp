// Plans with a pipeline of two workers against every cut, schedule and program of small training steps.
#include "../../../lib/Planning/Pipeline/PipelinePoints.h"
#include "../../../lib/Planning/Pipeline/StageSeconds.h"
#include "../../../lib/Planning/Pipeline/Transfers.h"
#include "../../../lib/Planning/Pipeline/Workers/WorkerPools.h"
#include "../../Sanitized.h"
#include "../RandomGraphs.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <map>
#include <tuple>

using namespace apc;

namespace {

constexpr double rounding = 1e-9;

constexpr size_t numSteps = isSanitized ? 2 : 20;

/// A program of a stage, and what the step of a pipeline follows from.
struct StageProgram {
  Candidate candidate;
  PlanStageSeconds seconds;
  std::vector<int64_t> arrivals; ///< bytes of the pieces of sources, which the seconds of transfers follow from
};

/// Is `other` no slower in any part, with the same arrivals?
bool isDominated(const StageProgram &own, const StageProgram &other) {
  return own.arrivals == other.arrivals && other.seconds.forward <= own.seconds.forward &&
         other.seconds.backward <= own.seconds.backward && other.seconds.weights <= own.seconds.weights &&
         other.seconds.update <= own.seconds.update;
}

/// The programs of a stage that fit and that no other dominates: a step takes no less time where a part takes more.
/// Sets `isTooLarge` where there are too many to try.
std::vector<StageProgram> programsOf(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, const CostModel &model,
                                     int64_t limitBytes, bool &isTooLarge) {
  PlanningProblem planning = buildProblem(graph, model);
  auto size = [&](size_t node) { return planning.hubs[node] ? 1 : planning.choicesOf(NodeId(node)).size(); };
  double count = 1;
  for (size_t node = 0; node < planning.ops.size(); ++node)
    count *= static_cast<double>(size(node));
  constexpr double most = 3000;
  isTooLarge = isTooLarge || count > most;
  std::vector<StageProgram> programs;
  Assignment assignment;
  assignment.strategies.resize(planning.ops.size(), 0);
  auto advance = [&] {
    for (size_t node = 0; node < planning.ops.size(); ++node) {
      if (++assignment.strategies[node] < size(node))
        return true;
      assignment.strategies[node] = 0;
    }
    return false;
  };
  do {
    if (isTooLarge)
      break;
    std::vector<Strategy> strategies = planning.decode(assignment);
    llvm::Expected<GraphCost> cost = costOfGraph(graph, strategies, model);
    if (!cost || cost->memory.total() > limitBytes) {
      llvm::consumeError(cost.takeError()); // a value that cannot become partial
      continue;
    }
    StepTime time = stepTime(graph, *cost, model);
    StageProgram own{{model.getMesh(), std::move(strategies), std::move(*cost), time}, {}, {}};
    own.seconds = secondsByPart(graph, parts, own.candidate);
    for (auto [op, strategy] : llvm::zip_equal(graph.ops, own.candidate.strategies))
      if (op.operands.empty() && op.results[0])
        own.arrivals.push_back(model.localBytes(graph.value(*op.results[0]).shape,
                                                resultSharding(graph.rules[op.rule.index()], strategy, 0)));
    if (llvm::any_of(programs, [&](const StageProgram &other) { return isDominated(own, other); }))
      continue;
    llvm::erase_if(programs, [&](const StageProgram &other) { return isDominated(other, own); });
    programs.push_back(std::move(own));
  } while (advance());
  return programs;
}

/// The step, the request and the devices of all pipelines that are tried.
struct Case {
  OpGraph graph;
  PlanRequest request;
  PlanningTarget target;
  Pool worker;
};

/// Programs of stages by cut, split of the backward pass, stage and micro-batches in flight: many schedules share them.
using KnownPrograms = std::map<std::tuple<size_t, bool, unsigned, int64_t>, std::vector<StageProgram>>;

/// The fastest pipeline under one schedule with one cut; none where nothing fits, or `isTooLarge`.
std::optional<double> fastestOf(const Case &own, const PipelinePoint &point, size_t cut, KnownPrograms &known,
                                bool &isTooLarge) {
  bool splits = point.schedule->splitsBackward;
  CutStep step = llvm::cantFail(cutStep(own.graph, {cut}, splits));
  CostModel model(own.worker, Mesh::fromLevels(own.worker.levelSizes()));
  std::vector<int64_t> inFlight = point.inFlight();
  std::vector<const std::vector<StageProgram> *> programs;
  for (unsigned stage : {0U, 1U}) {
    auto [found, isNew] = known.try_emplace({cut, splits, stage, inFlight[stage]});
    if (isNew)
      found->second = programsOf(withInFlight(step.stages[stage], inFlight[stage]), step.stages[stage].parts, model,
                                 *own.request.memoryLimitBytes, isTooLarge);
    programs.push_back(&found->second);
  }
  std::optional<double> fastest;
  if (isTooLarge)
    return fastest;
  for (const StageProgram &first : *programs[0])
    for (const StageProgram &second : *programs[1]) {
      std::vector<PlanTransfer> transfers =
          planTransfers(own.target.cluster.pool, WorkerPools::equal(own.target.cluster.pool, 2), point.lists.shape,
                        step, {&first.candidate, &second.candidate});
      PipelineWork work = pipelineWork(point, {first.seconds, second.seconds}, transfers);
      double seconds = llvm::cantFail(point.simulator.run(work)).stepSeconds;
      fastest = std::min(fastest.value_or(seconds), seconds);
    }
  return fastest;
}

/// The fastest of all; none where nothing fits.
std::optional<double> fastestPipeline(const Case &own, bool &isTooLarge) {
  std::optional<double> fastest;
  KnownPrograms known;
  auto points = llvm::cantFail(pipelinePoints(own.request, 2, 1, own.graph.microBatches()));
  for (const PipelinePoint &point : points)
    for (const CutPosition &place : layerCuts(own.graph)) {
      std::optional<double> found = fastestOf(own, point, place.position, known, isTooLarge);
      if (isTooLarge)
        return std::nullopt;
      if (found)
        fastest = std::min(*found, fastest.value_or(*found));
    }
  return fastest;
}

PlanRequest requestOf(int64_t limitBytes) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = 4;
  request.cluster = "cpu-local";
  request.pipeline = {2};
  request.chunks = {1};
  request.meshAxes = 1;
  request.gapTolerance = 0;
  request.fusionBytes = 0;
  request.memoryLimitBytes = limitBytes;
  return request;
}

struct Tally {
  size_t numPlans = 0, numFastest = 0, numNone = 0, numMissed = 0, numLimited = 0;
  double worst = 1; ///< step over the fastest
};

/// Plans a step under a limit, and compares it with the fastest of all pipelines.
void comparePlan(const Case &own, std::optional<double> fastest, Tally &tally) {
  llvm::Expected<Plan> plan = planGraph(own.graph, own.request, own.target, {}, {});
  if (!plan) {
    auto [fault, message] = takeMessage(plan.takeError());
    INFO(message);
    CHECK(fault == Fault::NoPlan);
    CHECK_THAT(message, Catch::Contains("nothing that was tried fits"));
    (fastest ? tally.numMissed : tally.numNone) += 1;
    return;
  }
  REQUIRE(fastest);
  ++tally.numPlans;
  CHECK(plan->lowerBoundSeconds <= *fastest * (1 + rounding));
  CHECK(plan->stepSeconds >= *fastest * (1 - rounding));
  CHECK(plan->memory.total() <= *own.request.memoryLimitBytes);
  tally.numFastest += plan->stepSeconds <= *fastest * (1 + rounding);
  tally.worst = std::max(tally.worst, plan->stepSeconds / *fastest);
}

} // namespace

TEST_CASE("Pipelines of small training steps against all their pipelines, memory binding in half") {
  std::mt19937_64 random(23);
  Tally tally;
  for (size_t number = 0; number < numSteps;) {
    constexpr int64_t unlimited = int64_t(1) << 40;
    PlanRequest request = requestOf(unlimited);
    PlanningTarget target = llvm::cantFail(readTarget(request));
    Case own{stepInMicroBatches(random, 3, 4), request, target, *poolOfWorker(target.cluster.pool, 2)};
    bool isTooLarge = false;
    std::optional<double> fastest;
    if (!layerCuts(own.graph).empty())
      fastest = fastestPipeline(own, isTooLarge);
    if (!fastest)
      continue;
    INFO("step " << number << " of " << own.graph.ops.size() << " ops");
    if (number % 2) {
      Plan free = llvm::cantFail(planGraph(own.graph, own.request, own.target, {}, {}));
      own.request.memoryLimitBytes = free.memory.total() * 7 / 8;
      own.target = llvm::cantFail(readTarget(own.request));
      fastest = fastestPipeline(own, isTooLarge);
      REQUIRE_FALSE(isTooLarge);
      ++tally.numLimited;
    }
    comparePlan(own, fastest, tally);
    ++number;
  }
  WARN(tally.numPlans << " plans, " << tally.numFastest << " of them the fastest, at worst " << tally.worst
                      << " times the fastest; none fits: " << tally.numNone << ", missed: " << tally.numMissed);
  CHECK(tally.numLimited == numSteps / 2);
  CHECK(tally.numPlans >= numSteps / 2);
  CHECK(tally.numFastest > 0); // one cut alone is tried, the balanced one
  CHECK(tally.worst < 1.2);
}
