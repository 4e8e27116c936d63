// Plans with a pipeline of two workers or three, equal or not, against every cut, schedule and program of small
// training steps.
#include "../../../lib/Planning/Pipeline/PipelinePoints.h"
#include "../../../lib/Planning/Pipeline/StageSeconds.h"
#include "../../../lib/Planning/Pipeline/Transfers.h"
#include "../../../lib/Planning/Pipeline/Workers/WorkerPools.h"
#include "../../Rounding.h"
#include "../../Sanitized.h"
#include "../RandomGraphs.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <map>
#include <tuple>

using namespace apc;

namespace {

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
  WorkerPools workers;
};

using Cuts = std::vector<size_t>;

/// Programs of stages by cuts, split of the backward pass, stage and micro-batches in flight: many schedules share
/// them.
using KnownPrograms =
    std::map<std::tuple<Cuts, bool, unsigned, int64_t, WaitingMicroBatches>, std::vector<StageProgram>>;

/// The least step of all choices of a program for each stage; `chosen` are those of the first stages.
void takeFastest(const Case &own, const PipelinePoint &point, const CutStep &step,
                 llvm::ArrayRef<const std::vector<StageProgram> *> programs, std::vector<const StageProgram *> &chosen,
                 std::optional<double> &fastest) {
  if (chosen.size() < programs.size()) {
    for (const StageProgram &program : *programs[chosen.size()]) {
      chosen.push_back(&program);
      takeFastest(own, point, step, programs, chosen, fastest);
      chosen.pop_back();
    }
    return;
  }
  std::vector<const Candidate *> candidates;
  std::vector<PlanStageSeconds> seconds;
  for (const StageProgram *program : chosen) {
    candidates.push_back(&program->candidate);
    seconds.push_back(program->seconds);
  }
  std::vector<PlanTransfer> transfers =
      planTransfers(own.target.cluster.pool, own.workers, point.lists.shape, step, candidates);
  double found = llvm::cantFail(point.simulator.run(pipelineWork(point, seconds, transfers))).stepSeconds;
  fastest = std::min(fastest.value_or(found), found);
}

/// The fastest pipeline under one schedule with some cuts; none where nothing fits, or `isTooLarge`.
std::optional<double> fastestOf(const Case &own, const PipelinePoint &point, const Cuts &cuts, KnownPrograms &known,
                                bool &isTooLarge) {
  bool splits = point.schedule->splitsBackward;
  CutStep step = llvm::cantFail(cutStep(own.graph, cuts, splits));
  std::vector<int64_t> inFlight = point.inFlight();
  std::vector<WaitingMicroBatches> waiting = point.waiting();
  std::vector<const std::vector<StageProgram> *> programs;
  for (unsigned stage = 0; stage < step.stages.size(); ++stage) {
    const Pool &worker = own.workers.pool(stage);
    CostModel model(worker, Mesh::fromLevels(worker.levelSizes()));
    auto [found, isNew] = known.try_emplace({cuts, splits, stage, inFlight[stage], waiting[stage]});
    if (isNew)
      found->second = programsOf(withInFlight(step.stages[stage], inFlight[stage], waiting[stage]),
                                 step.stages[stage].parts, model, *own.request.memoryLimitBytes, isTooLarge);
    programs.push_back(&found->second);
  }
  std::optional<double> fastest;
  std::vector<const StageProgram *> chosen;
  double combinations = 1;
  for (const std::vector<StageProgram> *each : programs)
    combinations *= static_cast<double>(each->size());
  constexpr double mostCombinations = 1000;
  isTooLarge = isTooLarge || combinations > mostCombinations;
  if (!isTooLarge)
    takeFastest(own, point, step, programs, chosen, fastest);
  return fastest;
}

/// All ways to cut at \p places, from \p first on, behind `cuts`.
void addCuts(llvm::ArrayRef<CutPosition> places, size_t first, size_t left, Cuts cuts, std::vector<Cuts> &all) {
  if (left == 0)
    return all.push_back(std::move(cuts));
  for (size_t place = first; place + left <= places.size(); ++place) {
    Cuts more = cuts;
    more.push_back(places[place].position);
    addCuts(places, place + 1, left - 1, std::move(more), all);
  }
}

/// The fastest of all; none where nothing fits.
std::optional<double> fastestPipeline(const Case &own, bool &isTooLarge) {
  std::optional<double> fastest;
  KnownPrograms known;
  std::vector<Cuts> all;
  addCuts(layerCuts(own.graph), 0, static_cast<size_t>(own.workers.count() - 1), {}, all);
  constexpr size_t mostCuts = 6;
  isTooLarge = isTooLarge || all.size() > mostCuts;
  auto points = llvm::cantFail(pipelinePoints(own.request, own.workers.count(), 1, own.graph.microBatches()));
  for (const PipelinePoint &point : points)
    for (const Cuts &cuts : all) {
      if (isTooLarge)
        return std::nullopt;
      std::optional<double> found = fastestOf(own, point, cuts, known, isTooLarge);
      if (found)
        fastest = std::min(*found, fastest.value_or(*found));
    }
  return isTooLarge ? std::nullopt : fastest;
}

/// Devices and workers of a case, the most layers of its step, and the schedules that are open: all, or one that
/// changes from case to case.
struct Size {
  int64_t devices;
  PipelineChoice workers;
  size_t maxLayers;
  bool hasAllSchedules = false;
};

PlanRequest requestOf(const Size &size, int64_t limitBytes) {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = size.devices;
  request.cluster = "cpu-local";
  request.pipeline = size.workers;
  request.chunks = {1};
  request.meshAxes = 1;
  request.gapTolerance = 0;
  request.fusionBytes = 0;
  request.memoryLimitBytes = limitBytes;
  return request;
}

struct PipelineTally {
  size_t numPlans = 0, numFastest = 0, numNone = 0, numMissed = 0, numLimited = 0;
  double worst = 1; ///< step over the fastest
};

/// Plans a step under a limit, and compares it with the fastest of all pipelines.
void comparePlan(const Case &own, std::optional<double> fastest, PipelineTally &tally) {
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

/// Plans steps of one size, every second one where memory binds.
PipelineTally compareAll(const Size &size, size_t numSteps, std::mt19937_64 &random) {
  PipelineTally tally;
  for (size_t number = 0; number < numSteps;) {
    constexpr int64_t unlimited = int64_t(1) << 40;
    PlanRequest request = requestOf(size, unlimited);
    constexpr llvm::StringLiteral schedules[] = {"1f1b", "gpipe", "zb-h1", "eager-1f1b"};
    request.timeLimitSeconds = size.hasAllSchedules ? request.timeLimitSeconds : 2; // bounds take what there is
    if (!size.hasAllSchedules)
      request.schedule = schedules[number / 2 % std::size(schedules)].str();
    PlanningTarget target = llvm::cantFail(readTarget(request));
    Case own{stepInMicroBatches(random, size.maxLayers, 4), request, target,
             llvm::cantFail(workersOf(target.cluster.pool, size.workers, "the case"))};
    bool isTooLarge = false;
    std::optional<double> fastest;
    if (layerCuts(own.graph).size() + 1 >= static_cast<size_t>(own.workers.count()))
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
  return tally;
}

} // namespace

TEST_CASE("Pipelines of small training steps against all their pipelines, memory binding in half") {
  std::mt19937_64 random(23);
  const Size sizes[] = {
      {4, {2}, 3, /*hasAllSchedules=*/true}, {4, {2, {1, 3}}, 3}, {4, {2, {3, 1}}, 3}, {4, {3, {1, 2, 1}}, 4}};
  for (const Size &size : sizes) {
    if (isSanitized && size.workers.count > 2)
      continue;
    const size_t numSteps = isSanitized ? 2 : &size == sizes ? 12 : 6;
    PipelineTally tally = compareAll(size, numSteps, random);
    WARN(size.workers.str() << " workers on " << size.devices << " devices: " << tally.numPlans << " plans, "
                            << tally.numFastest << " of them the fastest, at worst " << tally.worst
                            << " times the fastest; none fits: " << tally.numNone << ", missed: " << tally.numMissed);
    CHECK(tally.numLimited == numSteps / 2);
    CHECK(tally.numPlans >= numSteps / 2);
    if (size.hasAllSchedules)
      CHECK(tally.numFastest > 0); // of cuts, the balanced ones are tried, and moves of them that promise more
    CHECK(tally.worst < 1.05);
  }
}
