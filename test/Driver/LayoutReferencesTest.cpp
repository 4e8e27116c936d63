// Layouts beside a plan: what ends the trials of them at once, when others are tried, and which may be the plan.
#include "../../lib/Driver/Training/Layouts/LayoutReferences.h"

#include "../ErrorOf.h"
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Planning/NothingFits.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <atomic>

using namespace apc;
using Catch::Contains;
using Catch::EndsWith;

namespace {

PlanRequest tinyTraining(llvm::StringRef loss) {
  PlanRequest request = requestOf({"tiny/training/gpt/model.onnx", 8, "dgx-h100"});
  request.mode = StepMode::Train;
  request.loss = loss.str();
  request.globalBatch = 8;
  request.pipeline.count = 2;
  return request;
}

/// Plans beside layouts none of which can be; `search` finds nothing either, for a reason.
struct Trial {
  std::string message;
  int64_t layouts = 0, searches = 0;

  Trial(const PlanRequest &request, Fault fault) {
    auto figures = [&](const PlanRequest &, const ParallelDegrees &layout, std::optional<double>,
                       const std::shared_ptr<WorkClock> &) -> llvm::Expected<LayoutFigures> {
      ++layouts;
      return inputError("{0} cannot be", layout.str());
    };
    auto countStep = [](const PlanRequest &, const ParallelDegrees &, WorkClock &) {};
    auto planOf = [](const PlanRequest &, const ParallelDegrees &) -> llvm::Expected<Plan> {
      return internalError("there is nothing to plan");
    };
    auto search = [&](const PlanRequest &, const LayoutReferences &) -> llvm::Expected<Plan> {
      ++searches;
      return llvm::make_error<PlannerError>(fault, "nothing was found");
    };
    llvm::Expected<Plan> plan = planBesideLayouts(request, search, {figures, countStep, planOf, planOf},
                                                  controlOf().within(request.timeLimitSeconds));
    REQUIRE(!plan);
    message = takeMessage(plan.takeError()).second;
  }
};

/// Plans beside layouts all of which can be.
struct CostedTrial {
  bool fits = true;
  bool fitsWhole = true;                           ///< does a layout without a pipeline that recomputes nothing?
  double pipelineSeconds = 1;                      ///< of a step with a pipeline; others take 1 s
  double secondsOfLayout = 0, secondsOfSearch = 0; ///< of work
  std::optional<Plan> searched;                    ///< what the search finds
  std::vector<TriedPoint> tried;                   ///< by a search that finds nothing
  std::optional<double> boundSeconds;              ///< of such a search
  bool isStopped = false;                          ///< while it searches
  llvm::Expected<Plan> run(const PlanRequest &request);

  /// A reading of the clock, and a time limit from there.
  struct Asked {
    double begin = 0, limit = 0;
  };
  int64_t experts = 0;                ///< layouts that were costed and that the request does not name
  int64_t behindSearch = 0;           ///< of them, those that were costed after the search
  std::vector<Asked> named;           ///< layouts that were costed and that the request names
  std::optional<Asked> plan, reasons; ///< of the best layout
  bool hasSearched = false;
  std::optional<KnownStep> alone; ///< that the search is told
};

llvm::Expected<Plan> CostedTrial::run(const PlanRequest &request) {
  PlanningControl control = PlanningControl().within(request.timeLimitSeconds);
  std::atomic<bool> stop = false;
  control.stop = &stop;
  auto secondsOf = [&](const ParallelDegrees &layout) { return layout.pipeline > 1 ? pipelineSeconds : 1; };
  auto figures = [&](const PlanRequest &asked, const ParallelDegrees &layout, std::optional<double>,
                     const std::shared_ptr<WorkClock> &clock) -> llvm::Expected<LayoutFigures> {
    if (clock == control.clock) { // others are counted beside it
      named.push_back({clock->seconds(), asked.timeLimitSeconds});
    } else {
      ++experts;
      behindSearch += hasSearched;
    }
    clock->spend(1e9 * secondsOfLayout);
    LayoutFigures own;
    own.stepSeconds = secondsOf(layout);
    const bool keepsAll = layout.pipeline == 1 && layout.recompute == RecomputeSetting(RecomputeChoice::None);
    own.memory[MemoryCategory::Activations] = fits && (fitsWhole || !keepsAll) ? 50 : 200;
    own.memoryLimitBytes = 100;
    return own;
  };
  auto countStep = [](const PlanRequest &, const ParallelDegrees &, WorkClock &) {};
  auto planBy = [&](std::optional<Asked> &asking, std::string how) {
    return [&, how](const PlanRequest &asked, const ParallelDegrees &layout) -> llvm::Expected<Plan> {
      asking = {control.clock->seconds(), asked.timeLimitSeconds};
      Plan own;
      own.request = asked;
      own.stepSeconds = secondsOf(layout);
      own.memoryLimitBytes = 100;
      own.search = how;
      return own;
    };
  };
  auto planOf = planBy(plan, "without reasons"), explained = planBy(reasons, "with reasons");
  auto search = [&](const PlanRequest &, const LayoutReferences &known) -> llvm::Expected<Plan> {
    hasSearched = true;
    alone = known.alone;
    stop = isStopped;
    control.clock->spend(1e9 * secondsOfSearch);
    return searched ? llvm::Expected<Plan>(*searched)
                    : llvm::make_error<NothingFits>("nothing was found", tried, boundSeconds);
  };
  return planBesideLayouts(request, search, {figures, countStep, planOf, explained}, control);
}

ParallelDegrees layoutOf(llvm::StringRef text) { return valueOf(parseParallelDegrees(text, "test")); }

} // namespace

TEST_CASE("Of a model that gives no training step one layout is tried, and nothing is searched") {
  Trial trial(tinyTraining(/*loss=*/""), Fault::NoPlan);
  CHECK_THAT(trial.message, Contains("no output is one float"));
  CHECK(trial.layouts == 1);
  CHECK(trial.searches == 0);
}

TEST_CASE("A batch that the model leaves open is that of the request when its step is checked") {
  PlanRequest request = requestOf({"gpt3_6_7b_dyn.onnx", 16, "dgx-h100"});
  request.mode = StepMode::Train;
  request.dims["seq"] = 16;
  request.globalBatch = 16;
  request.pipeline.count = 2;
  Trial trial(request, Fault::NoPlan);
  CHECK_THAT(trial.message, Contains("nothing was found"));
  CHECK(trial.searches == 1);
}

TEST_CASE("Other numbers of workers are tried where nothing fits, but not for a request that is wrong") {
  const PlanRequest request = tinyTraining("cross-entropy:logits");
  Trial wrong(request, Fault::Input), none(request, Fault::NoPlan);
  CHECK(wrong.message == "nothing was found");
  CHECK_THAT(none.message, Contains("nothing was found"));
  CHECK(wrong.layouts > 1);
  CHECK(none.layouts > wrong.layouts);
  CHECK(wrong.searches == 1);
  CHECK(none.searches == 1);
}

TEST_CASE("No layout of experts is the plan of a model whose shardings pin its ops") {
  PlanRequest request = requestOf({"", 2, "dgx-h100"});
  request.modelPath = std::string(APC_DRIVER_INPUTS) + "/sharded.onnx"; // on two devices
  request.mode = StepMode::Train;
  CostedTrial pinned, unpinned, others;
  CHECK(errorOf(pinned.run(request)) == "nothing was found");
  CHECK(pinned.experts == 0);
  request.layouts = {layoutOf("dp=2,mb=1")};
  CHECK_THAT(errorOf(pinned.run(request)), Contains(" fits, with 50 B on each device, but the model's own shardings"));
  CHECK(pinned.experts == 0);
  CHECK(!pinned.named.empty());
  request.ignoresModelShardings = true;
  valueOf(unpinned.run(request));
  CHECK(unpinned.experts > 0);
  request.ignoresModelShardings = false;
  request.devices = 4; // of which the shardings say nothing
  valueOf(others.run(request));
  CHECK(others.experts > 0);
}

TEST_CASE("A layout that fits beside pins or without a choice is told with the reason why it is not the plan") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  request.layouts = {layoutOf("dp=2,tp=2,pp=2,mb=1")};
  const std::string fits = "layout dp=2,tp=2,pp=2,mb=1 fits, with 50 B on each device, but ";
  request.parallel = ParallelMode::Semi;
  CHECK_THAT(errorOf(CostedTrial().run(request)), EndsWith(fits + "--parallel semi does not allow it"));
  request.parallel = ParallelMode::Auto;
  request.pins.push_back(valueOf(parsePin("c_fc/Gemm: n=2", "--pin")));
  CHECK_THAT(errorOf(CostedTrial().run(request)), EndsWith(fits + "the pins do not allow it"));
}

TEST_CASE("Named layouts and the plan of the best have the time that is left, but a fair share of all of it") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  request.timeLimitSeconds = 60;
  for (const char *text : {"dp=2,tp=2,pp=2,mb=1", "dp=4,pp=2,mb=1", "tp=4,pp=2,mb=1", "tp=4,pp=2,mb=2"})
    request.layouts.push_back(layoutOf(text));
  CostedTrial trial;
  trial.secondsOfLayout = 10;
  const Plan plan = valueOf(trial.run(request));
  CHECK(plan.request.timeLimitSeconds == 60);
  REQUIRE(trial.named.size() == 4);
  auto left = [](const CostedTrial::Asked &own, double least) { return Approx(std::max(least, 60 - own.begin)); };
  for (const CostedTrial::Asked &own : trial.named) {
    CHECK(own.begin > 0); // layouts of experts are costed before
    CHECK(own.limit == left(own, 15));
  }
  CHECK(trial.named.back().limit == 15);
  REQUIRE(trial.plan);
  CHECK(trial.plan->limit == left(*trial.plan, 30));
}

TEST_CASE("A layout in place of a search without a plan tells why it has none") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  request.timeLimitSeconds = 60;
  CostedTrial trial;
  auto note = [&] { return valueOf(trial.run(request)).notes.at(0); };
  CHECK(note() == "the search found nothing that fits: nothing was found");
  trial.secondsOfSearch = 60;
  CHECK_THAT(note(), Catch::StartsWith("the time limit of 60 s was over before the search found a plan that fits"));
  trial.isStopped = true;
  CHECK(note() == "the search was stopped before it found a plan that fits");
}

TEST_CASE("A layout in place of a search without a plan has its bound, and is the best of what it tried") {
  CostedTrial trial;
  const Plan unbounded = valueOf(trial.run(tinyTraining("cross-entropy:logits")));
  CHECK(unbounded.lowerBoundSeconds == 0);
  trial.boundSeconds = 0.75; // of a step of 1 s
  trial.tried = {failedPointOf(tinyTraining("cross-entropy:logits"), 8, "does not fit")};
  const Plan plan = valueOf(trial.run(tinyTraining("cross-entropy:logits")));
  CHECK(plan.lowerBoundSeconds == 0.75);
  CHECK(plan.gap == Approx(0.25));
  REQUIRE(plan.tried.size() == 2);
  CHECK(plan.tried.front().feasible);
  CHECK(plan.tried.back().reason == "does not fit");
  CHECK(plan.numTried == 2);
}

TEST_CASE("Where nothing fits, layouts of other workers have the time that is left, or a tenth of all of it") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  request.timeLimitSeconds = 60;
  CostedTrial brief, whole;
  brief.fits = whole.fits = false;
  brief.secondsOfLayout = whole.secondsOfLayout = 10; // of which 6 are counted
  whole.secondsOfSearch = 60;
  CHECK(errorOf(brief.run(request)) == "nothing was found");
  CHECK(errorOf(whole.run(request)) == "nothing was found");
  CHECK(whole.behindSearch >= 1);
  CHECK(whole.behindSearch <= 2);
  CHECK(brief.behindSearch > 2);
}

TEST_CASE("A layout in place of a slower plan is one more point that was tried, beside those of the search") {
  CostedTrial trial;
  trial.searched.emplace();
  trial.searched->stepSeconds = 10;
  trial.searched->memoryLimitBytes = 100;
  trial.searched->training.emplace().microBatches = 8;
  auto planned = [&] { return valueOf(trial.run(tinyTraining("cross-entropy:logits"))); };
  Plan plan = planned(); // the search had one point, its own
  CHECK(plan.stepSeconds == 1);
  CHECK(plan.numTried == 2);
  REQUIRE(plan.tried.size() == 2);
  CHECK(plan.tried.front().stepSeconds == 1.0);
  CHECK(plan.tried.back().stepSeconds == 10.0);
  TriedPoint point = triedPointOf(*trial.searched);
  for (; trial.searched->tried.size() < mostTried; ++point.microBatches)
    trial.searched->tried.push_back(point);
  trial.searched->numTried = 70;
  plan = planned();
  CHECK(plan.numTried == 71);
  CHECK(plan.tried.size() == mostTried);
  CHECK(plan.tried.front().stepSeconds == 1.0);
}

TEST_CASE("Reasons are looked for where a layout is the plan, in the time that is left") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  request.timeLimitSeconds = 60;
  CostedTrial slower, faster, late, stopped;
  for (CostedTrial *trial : {&slower, &faster})
    trial->searched.emplace().memoryLimitBytes = 100;
  slower.searched->stepSeconds = 10;
  faster.searched->stepSeconds = 0.5;
  slower.secondsOfSearch = 20;
  late.secondsOfSearch = 60;
  CHECK(valueOf(slower.run(request)).search == "with reasons");
  REQUIRE(slower.reasons);
  CHECK(slower.reasons->limit == Approx(60 - slower.reasons->begin));
  CHECK(valueOf(faster.run(request)).search != "with reasons");
  CHECK(valueOf(late.run(request)).search != "with reasons");
  CHECK(!faster.reasons);
  CHECK(!late.reasons);
  stopped.isStopped = true;
  CHECK(valueOf(stopped.run(request)).search == "without reasons");
}

TEST_CASE("A plan that recomputes on several nodes names a pipeline that is faster") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  request.devices = 16; // two nodes
  request.pipeline.count = 1;
  auto hasNote = [&](const PlanRequest &own, bool fitsWhole, double pipelineSeconds) {
    CostedTrial trial;
    trial.fitsWhole = fitsWhole;
    trial.pipelineSeconds = pipelineSeconds;
    return llvm::any_of(valueOf(trial.run(own)).notes,
                        [](llvm::StringRef note) { return note.starts_with("a pipeline is faster: layout dp="); });
  };
  CHECK(hasNote(request, /*fitsWhole=*/false, /*pipelineSeconds=*/0.5));
  CHECK_FALSE(hasNote(request, /*fitsWhole=*/false, /*pipelineSeconds=*/1));
  CHECK_FALSE(hasNote(request, /*fitsWhole=*/true, /*pipelineSeconds=*/0.5));
  PlanRequest onOneNode = request, asked = request;
  onOneNode.devices = 8;
  CHECK_FALSE(hasNote(onOneNode, /*fitsWhole=*/false, /*pipelineSeconds=*/0.5));
  asked.pipeline.count = 2;
  CHECK_FALSE(hasNote(asked, /*fitsWhole=*/false, /*pipelineSeconds=*/0.5));
}

TEST_CASE("No pipeline is looked for whose workers have less than a quarter of a micro-batch each") {
  PlanRequest request = requestOf({"gpt3_6_7b_dyn.onnx", 128, "dgx-h100"});
  request.mode = StepMode::Train;
  request.dims["seq"] = 16;
  request.pipeline.count = 1;
  request.globalBatch = 4; // of one sample each, and eight devices of a node in tp
  for (int64_t devices : {128, 256}) {
    request.devices = devices;
    CostedTrial trial;
    trial.fitsWhole = false;
    trial.pipelineSeconds = 0.5;
    trial.searched.emplace().stepSeconds = 10;
    const Plan plan = valueOf(trial.run(request));
    CHECK(plan.stepSeconds == 10);
    CHECK(plan.notes.empty() == (devices == 256));
  }
}

TEST_CASE("A search is told the fastest layout without a pipeline beside the fastest of all") {
  PlanRequest request = tinyTraining("cross-entropy:logits");
  CostedTrial all, two;
  all.pipelineSeconds = two.pipelineSeconds = 0.5;
  request.pipeline = {};
  valueOf(all.run(request));
  request.pipeline.count = 2;
  valueOf(two.run(request));
  REQUIRE(all.alone);
  CHECK(all.alone->layout.pipeline == 1);
  CHECK(all.alone->seconds == 1);
  CHECK(!two.alone);
}
