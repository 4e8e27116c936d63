// The points that a search of the whole plan tried: in the plan, told as it goes, and kept where the user stops it.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace apc;
using Catch::Contains;

namespace {

/// A step of the tiny GPT on four devices, with micro-batches and recomputation left open.
PlanRequest openRequest(const PipelineChoice &workers) {
  PlanRequest request = requestOfStep({.model = "gpt", .globalBatch = 8});
  request.devices = 4;
  request.cluster = "cpu-local";
  request.microBatch.reset();
  request.recompute = RecomputeChoice::Auto;
  request.pipeline = workers;
  return request;
}

/// The texts that a search told, of which the user stopped it at one, and its answer.
struct StoppedRun {
  std::vector<std::string> texts;
  size_t stoppedAt = 0; ///< the number of texts until then
  llvm::Expected<Plan> plan;
};

bool isPoint(llvm::StringRef text) { return text.contains(" micro-batch") && !text.starts_with("bounding "); }

/// Stops at the first text for which \p isEnd says true, given the number of texts before it.
StoppedRun stopAt(const PlanRequest &request, llvm::function_ref<bool(llvm::StringRef, size_t)> isEnd) {
  StoppedRun run{{}, 0, Plan()};
  std::atomic<bool> stop = false;
  PlanningControl control = controlOf();
  control.stop = &stop;
  control.report = [&](llvm::StringRef text) {
    bool stops = !stop && isEnd(text, run.texts.size());
    run.texts.push_back(text.str());
    stop = stop || stops;
    run.stoppedAt = stops ? run.texts.size() : run.stoppedAt;
  };
  run.plan = planModel(request, control);
  return run;
}

/// A bound is told beside what trials have found, and not beside the best layout alone.
bool isSecondPoint(llvm::StringRef text, size_t) { return isPoint(text) && text.contains(", bound "); }

} // namespace

TEST_CASE("a plan holds the points that were tried, itself among them, and none that fits is faster") {
  for (const PipelineChoice &workers : {PipelineChoice{1}, PipelineChoice{2}, PipelineChoice{}}) {
    PlanRequest request = openRequest(workers);
    Plan plan = valueOf(planModel(request, controlOf()));
    INFO("--pipeline " << workers.str());
    REQUIRE(!plan.tried.empty());
    CHECK(plan.tried.size() <= mostTried);
    CHECK(plan.numTried >= static_cast<int64_t>(plan.tried.size()));
    TriedPoint own = triedPointOf(plan);
    auto found = llvm::find_if(plan.tried, [&](const TriedPoint &point) { return point.isPointOf(own); });
    REQUIRE(found != plan.tried.end());
    CHECK(*found->stepSeconds == Approx(plan.stepSeconds).epsilon(1e-9));
    CHECK(*found->memoryBytes == plan.memory.total());
    CHECK_FALSE(found->isQuick);
    for (const TriedPoint &point : plan.tried)
      if (point.feasible)
        CHECK(*point.stepSeconds >= plan.stepSeconds * (1 - request.gapTolerance));
  }
}

TEST_CASE("a pipeline brings the schedules along that were tried for each number of micro-batches") {
  Plan plan = valueOf(planModel(openRequest({2}), controlOf()));
  std::set<std::string> schedules;
  std::set<int64_t> microBatches;
  for (const TriedPoint &point : plan.tried) {
    CHECK(point.workers == 2);
    CHECK(point.microBatches * *point.microBatch == 8);
    schedules.insert(point.schedule);
    microBatches.insert(point.microBatches);
  }
  CHECK(schedules.size() >= 3);
  CHECK(microBatches.size() >= 2);
}

TEST_CASE("a pipeline among numbers of workers stands beside the step without it") {
  Plan plan = valueOf(planModel(openRequest({}), controlOf()));
  CHECK(llvm::any_of(plan.tried, [](const TriedPoint &point) { return point.workers == 1; }));
  CHECK(llvm::any_of(plan.tried, [](const TriedPoint &point) { return point.workers == 2; }));
}

TEST_CASE("points that do not fit say why") {
  PlanRequest request = openRequest({2});
  Plan free = valueOf(planModel(request, controlOf()));
  request.memoryLimitBytes = free.memory.total() * 8 / 10;
  Plan plan = valueOf(planModel(request, controlOf()));
  bool hasNone = false;
  for (const TriedPoint &point : plan.tried) {
    CHECK(point.feasible == point.reason.empty());
    CHECK((!point.feasible || *point.memoryBytes <= plan.memoryLimitBytes));
    hasNone = hasNone || !point.feasible;
  }
  CHECK(hasNone);
}

TEST_CASE("the points are told as they are tried, with the best so far and its bound") {
  std::vector<std::string> texts;
  PlanningControl control = controlOf();
  control.report = [&](llvm::StringRef text) { texts.push_back(text.str()); };
  valueOf(planModel(openRequest({2}), control));
  CHECK_THAT(llvm::join(texts, "\n"),
             Contains("2 workers, 1 micro-batch of 8, recompute none: best ") && // of the layouts
                 Contains("2 workers, 2 micro-batches of 4, recompute none: best ") && Contains(", bound ") &&
                 Contains(", gap ") && Contains("planning 1f1b on 2 workers"));
}

TEST_CASE("a search of the whole plan that is stopped keeps the best point until then") {
  for (const PipelineChoice &workers : {PipelineChoice{1}, PipelineChoice{2}, PipelineChoice{}}) {
    INFO("--pipeline " << workers.str());
    PlanRequest request = openRequest(workers);
    Plan free = valueOf(planModel(request, controlOf()));
    request.memoryLimitBytes = free.memory.total() * 8 / 10; // so that one point alone does not settle the rest
    StoppedRun run = stopAt(request, isSecondPoint);
    REQUIRE(run.stoppedAt > 0);
    INFO(llvm::join(run.texts, "\n"));
    CHECK(llvm::count_if(llvm::ArrayRef(run.texts).drop_front(run.stoppedAt), isPoint) == 0);
    REQUIRE(bool(run.plan));
    CHECK_THAT(llvm::join(run.plan->notes, "; "), Contains("the search was stopped: this is the best"));
    CHECK(run.plan->memory.total() <= *request.memoryLimitBytes);
    CHECK(run.plan->numTried < 20);
    for (const TriedPoint &point : run.plan->tried)
      if (point.feasible)
        CHECK(run.plan->stepSeconds <= *point.stepSeconds * (1 + 1e-9));
    CHECK(run.plan->lowerBoundSeconds <= free.stepSeconds * (1 + 1e-9)); // with less memory nothing is faster
  }
}

TEST_CASE("a pipeline that was found is kept, whenever the user stops") {
  PlanRequest request = openRequest({2});
  StoppedRun whole = stopAt(request, [](llvm::StringRef, size_t) { return false; });
  size_t first =
      llvm::find_if(whole.texts, [](llvm::StringRef text) { return isSecondPoint(text, 0); }) - whole.texts.begin();
  REQUIRE(whole.texts.size() > first + 10);
  size_t again = whole.texts.size() - 8; // the best point is planned once more at last
  for (size_t end = first; end < whole.texts.size(); end += end < again ? 8 : 1) {
    StoppedRun run = stopAt(request, [&](llvm::StringRef, size_t index) { return index == end; });
    INFO("stopped at " << whole.texts[end]);
    REQUIRE(bool(run.plan));
    CHECK(run.stoppedAt == end + 1);
    CHECK_THAT(llvm::join(run.plan->notes, "; "), Contains("the search was stopped: this is the best"));
    for (const TriedPoint &point : run.plan->tried)
      if (point.feasible)
        CHECK(run.plan->stepSeconds <= *point.stepSeconds * (1 + 1e-9));
  }
}

TEST_CASE("a search that is stopped before its first point says so") {
  std::atomic<bool> stop = true;
  PlanningControl control = controlOf();
  control.stop = &stop;
  for (const PipelineChoice &workers : {PipelineChoice{2}, PipelineChoice{}}) {
    PlanRequest request = openRequest(workers);
    request.memoryLimitBytes = 60 << 10;
    llvm::Expected<Plan> plan = planModel(request, control);
    REQUIRE(!plan);
    auto [fault, message] = takeMessage(plan.takeError());
    CHECK(fault == Fault::NoPlan);
    CHECK_THAT(message, Contains("stopped before a"));
  }
}
