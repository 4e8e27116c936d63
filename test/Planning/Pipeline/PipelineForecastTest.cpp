// Forecasts of pipelines beside the plans that they are made from.
#include "../../../lib/Planning/Pipeline/PipelineForecast.h"
#include "../../../lib/Planning/Pipeline/BalancedCuts.h"
#include "../../../lib/Planning/Pipeline/Workers/WorkerPools.h"
#include "../RandomGraphs.h"

#include "apc/Graph/LayerCuts.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A pipeline of two workers.
PlanRequest twoWorkers() {
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = 4;
  request.cluster = "cpu-local";
  request.pipeline = {2};
  request.chunks = {1};
  return request;
}

/// By cut: the number of the first layer behind it.
std::vector<size_t> firstsOf(const std::vector<size_t> &places, const std::vector<size_t> &cuts) {
  std::vector<size_t> firsts;
  for (size_t cut : cuts)
    firsts.push_back(static_cast<size_t>(llvm::find(places, cut) - places.begin()) + 1);
  return firsts;
}

} // namespace

TEST_CASE("A pipeline's forecast of itself is its plan, and refined cuts are no slower") {
  std::mt19937_64 random(43);
  const PlanRequest request = twoWorkers();
  const PlanningTarget target = llvm::cantFail(readTarget(request));
  size_t numSame = 0, numRefined = 0, numPlans = 0;
  while (numPlans < 30) {
    const OpGraph graph = stepInMicroBatches(random, 6, 8);
    std::vector<size_t> places;
    for (const CutPosition &place : layerCuts(graph))
      places.push_back(place.position);
    if (places.size() < 2)
      continue;
    PlanningTask task = llvm::cantFail(makeTask(graph, request, target, {}, {}));
    WorkerPools workers = WorkerPools::equal(task.pool, 2);
    std::vector<size_t> cuts = llvm::cantFail(balancedCuts(graph, workers, 2));
    auto points = llvm::cantFail(pipelinePoints(request, 2, 1, 8));
    const PipelinePoint &point = points[numPlans % points.size()];
    auto steps = llvm::cantFail(StagedStep::make(task, WorkerPools::equal(task.pool, 2), cuts,
                                                 point.schedule->splitsBackward, std::make_shared<StagePatterns>()));
    PipelineTrial trial = llvm::cantFail(steps->plan(point, MeshesToSearch::All));
    REQUIRE(trial.fits());
    ++numPlans;
    INFO("plan " << numPlans << " under " << point.schedule->name.str());
    PipelineForecast forecast(places, *trial.answer);
    std::vector<size_t> firsts = firstsOf(places, cuts);
    auto expected = forecast.of(point, firsts);
    REQUIRE(expected);
    bool sharesWeights = llvm::any_of(trial.answer->transfers, [](const auto &own) { return own.time == "step"; });
    if (!sharesWeights) {
      CHECK(expected->seconds == Approx(trial.answer->time.stepSeconds));
      ++numSame;
    }
    const std::vector<size_t> uneven{1};
    std::vector<size_t> refined = forecast.refine(point, uneven, task.memoryLimitBytes);
    REQUIRE(refined.size() == 1);
    CHECK(forecast.of(point, refined)->seconds <= forecast.of(point, uneven)->seconds);
    numRefined += refined != uneven;
  }
  CHECK(numSame > 10);
  CHECK(numRefined > 0);
}

TEST_CASE("The forecast of a schedule that splits the backward pass counts the memory of its own stages") {
  std::mt19937_64 random(47);
  const PlanRequest request = twoWorkers();
  const PlanningTarget target = llvm::cantFail(readTarget(request));
  size_t numDifferent = 0, numPlans = 0;
  while (numPlans < 20) {
    const OpGraph graph = stepInMicroBatches(random, 6, 8);
    std::vector<size_t> places;
    for (const CutPosition &place : layerCuts(graph))
      places.push_back(place.position);
    if (places.empty())
      continue;
    ++numPlans;
    PlanningTask task = llvm::cantFail(makeTask(graph, request, target, {}, {}));
    std::vector<size_t> cuts = llvm::cantFail(balancedCuts(graph, WorkerPools::equal(task.pool, 2), 2));
    auto points = llvm::cantFail(pipelinePoints(request, 2, 1, 8));
    auto named = [&](llvm::StringRef name) {
      return *llvm::find_if(points, [&](const PipelinePoint &point) { return point.schedule->name == name; });
    };
    auto patterns = std::make_shared<StagePatterns>();
    auto whole = llvm::cantFail(
        StagedStep::make(task, WorkerPools::equal(task.pool, 2), cuts, /*splitsBackward=*/false, patterns));
    PipelineTrial trial = llvm::cantFail(whole->plan(named("1f1b"), MeshesToSearch::All));
    REQUIRE(trial.fits());
    auto split = llvm::cantFail(
        StagedStep::make(task, WorkerPools::equal(task.pool, 2), cuts, /*splitsBackward=*/true, patterns));
    const PipelinePoint point = named("zb-h1");
    auto other = llvm::cantFail(split->follow(point));
    REQUIRE(other);
    INFO("plan " << numPlans);
    auto expected = PipelineForecast(places, *trial.answer, other).of(point, firstsOf(places, cuts));
    REQUIRE(expected);
    CHECK(static_cast<double>(expected->bytes) == Approx(static_cast<double>(fullestBytes(*other))).epsilon(1e-3));
    const PipelineForecast alone(places, *trial.answer);
    auto asWhole = alone.of(point, firstsOf(places, cuts));
    // Where split stages are not known, those that wait for gradients of weights hold as much as all others.
    CHECK(asWhole->bytes >= alone.of(named("1f1b"), firstsOf(places, cuts))->bytes);
    numDifferent += asWhole->bytes != expected->bytes;
  }
  CHECK(numDifferent > 0);
}
