// Plans with a pipeline: their step against a simulation by hand, their memory, their statements, and what is refused.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Plan/PlanJson.h"
#include "apc/Planning/CheckStatements.h"
#include "apc/Planning/Planning.h"

#include "llvm/ADT/STLExtras.h"

using namespace apc;
using Catch::Contains;

namespace {

PlanRequest requestOfPipeline(int64_t devices, int64_t workers, const std::string &schedule, int64_t chunks = 1) {
  PlanRequest request = requestOfStep({.model = "gpt", .microBatch = 1});
  request.devices = devices;
  request.cluster = "cpu-local";
  request.pipeline = {workers};
  request.chunks = {chunks};
  request.schedule = schedule;
  return request;
}

Plan pipelineOf(const PlanRequest &request) { return valueOf(planModel(request, controlOf())); }

std::string refusalOf(const PlanRequest &request) {
  auto plan = planModel(request, controlOf());
  REQUIRE(!plan);
  auto [fault, message] = takeMessage(plan.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

/// By pair of stages, the earlier one first: the seconds of a message between them, the longer of both directions.
std::map<std::pair<int64_t, int64_t>, double> messagesOf(const Plan &plan) {
  std::map<std::pair<int64_t, int64_t>, std::map<std::string, double>> seconds;
  for (const PlanTransfer &transfer : plan.pipeline->transfers)
    for (int64_t to : transfer.to)
      if (transfer.time != "step")
        seconds[std::minmax(transfer.from, to)][transfer.time] += transfer.seconds;
  std::map<std::pair<int64_t, int64_t>, double> longest;
  for (const auto &[stages, times] : seconds)
    for (const auto &[time, own] : times)
      longest[stages] = std::max(longest[stages], own);
  return longest;
}

/// Everything forward, then everything backward, over links that carry one message at a time; then, as the norm of all
/// gradients is clipped, the updates of all stages at once.
double gpipeSeconds(const Plan &plan, int64_t microBatches) {
  auto numStages = static_cast<int64_t>(plan.stages.size());
  std::vector<double> free(numStages, 0);
  for (bool isForward : {true, false}) {
    std::map<std::pair<int64_t, int64_t>, double> links; ///< by pair of stages, when its last message arrives
    for (int64_t microBatch = 0; microBatch < microBatches; ++microBatch)
      for (int64_t place = 0; place < numStages; ++place) {
        int64_t stage = isForward ? place : numStages - 1 - place;
        auto feeds = [&](std::pair<int64_t, int64_t> pair) { return isForward ? pair.second : pair.first; };
        auto isFed = [&](std::pair<int64_t, int64_t> pair) { return isForward ? pair.first : pair.second; };
        double begin = free[stage];
        for (const auto &[pair, seconds] : messagesOf(plan))
          if (feeds(pair) == stage)
            begin = std::max(begin, links[pair]);
        const PlanStageSeconds &own = *plan.stages[stage].parts;
        free[stage] = begin + (isForward ? own.forward : own.backward + own.weights);
        for (const auto &[pair, seconds] : messagesOf(plan))
          if (isFed(pair) == stage)
            links[pair] = std::max(links[pair], free[stage]) + seconds;
      }
  }
  const std::vector<double> finished = free;
  std::map<std::pair<int64_t, int64_t>, double> sums; ///< by pair of stages, when its last sum or norm arrives
  for (const PlanTransfer &transfer : plan.pipeline->transfers)
    for (int64_t to : transfer.to)
      if (transfer.time == "step" && to < transfer.from) {
        double &link = sums.try_emplace({transfer.from, to}, finished[transfer.from]).first->second;
        free[to] = std::max(free[to], link += transfer.seconds);
      }
  REQUIRE(plan.request.clipNorm);
  free.assign(numStages, *llvm::max_element(free));
  for (const PlanTransfer &transfer : plan.pipeline->transfers) // beside the updates
    for (int64_t to : transfer.to)
      free[transfer.from] += transfer.time == "step" && to > transfer.from ? transfer.seconds : 0;
  double end = 0;
  for (int64_t stage = 0; stage < numStages; ++stage)
    end = std::max(end, free[stage] + plan.stages[stage].parts->update);
  return end;
}

OpGraph graphOf(const PlanRequest &request) { return valueOf(graphAsRun(importedStep(request).graph, request)); }

std::string faultOfStatements(const OpGraph &graph, const Plan &plan) {
  llvm::Error error = checkStatements(graph, plan);
  return error ? takeMessage(std::move(error)).second : "";
}

} // namespace

TEST_CASE("the step of a pipeline under gpipe is what its stages take by hand") {
  for (int64_t workers : {2, 3}) {
    Plan plan = pipelineOf(requestOfPipeline(2 * workers, workers, "gpipe"));
    INFO(workers << " workers");
    REQUIRE(plan.stages.size() == static_cast<size_t>(workers));
    CHECK(plan.stepSeconds == Approx(gpipeSeconds(plan, 4)).epsilon(1e-9));
    CHECK(plan.lowerBoundSeconds <= plan.stepSeconds);
    CHECK(plan.lowerBoundSeconds > 0);
    CHECK(plan.gap == Approx(1 - plan.lowerBoundSeconds / plan.stepSeconds));
    double busy = 0;
    for (const StagePlan &stage : plan.stages)
      busy += 4 * stage.parts->ofMicroBatch() + stage.parts->update;
    CHECK(plan.bubbleSeconds == Approx(plan.stepSeconds - busy / static_cast<double>(workers)));
  }
}

TEST_CASE("stages hold as many micro-batches as their schedule has in flight") {
  auto inFlightOf = [](const Plan &plan) {
    std::vector<int64_t> counts;
    for (const StagePlan &stage : plan.stages)
      counts.push_back(stage.inFlight);
    return counts;
  };
  Plan gpipe = pipelineOf(requestOfPipeline(4, 2, "gpipe")), other = pipelineOf(requestOfPipeline(4, 2, "1f1b"));
  CHECK(inFlightOf(gpipe) == std::vector<int64_t>{4, 4});
  CHECK(inFlightOf(other) == std::vector<int64_t>{2, 1});
  for (size_t stage : {0, 1})
    CHECK(gpipe.stages[stage].memory[MemoryCategory::Activations] >
          other.stages[stage].memory[MemoryCategory::Activations]);
  CHECK(gpipe.stages[0].firstRank == 0);
  CHECK(gpipe.stages[1].firstRank == 2);
  CHECK(gpipe.pipeline->cuts.size() == 1);
}

TEST_CASE("a pipeline that is left to the planner is no slower than any that is named") {
  PlanRequest open = requestOfPipeline(4, 2, "auto");
  open.chunks = {};
  Plan best = pipelineOf(open);
  for (const char *schedule : {"gpipe", "1f1b", "zb-h1"}) {
    INFO(schedule);
    CHECK(best.stepSeconds <= pipelineOf(requestOfPipeline(4, 2, schedule)).stepSeconds * (1 + 1e-9));
  }
  open.pipeline = {};
  Plan any = pipelineOf(open);
  PlanRequest none = open;
  none.pipeline = {1};
  CHECK(any.stepSeconds <= best.stepSeconds * (1 + 1e-9));
  CHECK(any.stepSeconds <= pipelineOf(none).stepSeconds * (1 + open.gapTolerance));
}

TEST_CASE("Any number of workers is no slower than one that began worse than others, where trials take little time") {
  PlanRequest request = requestOf({"tiny/training/unet/model.onnx", 16, "dgx-h100"});
  request.mode = StepMode::Train;
  request.loss = "mse:logits";
  request.globalBatch = 32;
  auto secondsOf = [&](PipelineChoice workers) {
    request.pipeline = workers;
    return valueOf(planModel(request, controlOf())).stepSeconds;
  };
  CHECK(secondsOf({}) <= secondsOf({4}) * 1.002); // 2 and 8 began better
}

TEST_CASE(
    "A pipeline whose quick plan is slower than the step without one is planned to the end, where that is cheap") {
  PlanRequest request = requestOf({"tiny/dlrm/model.onnx", 8, "cpu-local"});
  request.mode = StepMode::Train;
  request.loss = "mse";
  auto secondsOf = [&](PipelineChoice workers) {
    request.pipeline = workers;
    return valueOf(planModel(request, controlOf())).stepSeconds;
  };
  const double two = secondsOf({2});
  CHECK(two < secondsOf({1})); // its quick plan takes a fifth longer than that
  CHECK(secondsOf({}) <= two * 1.002);
}

TEST_CASE("equal requests give equal plans, with one thread or two") {
  PlanRequest request = requestOfPipeline(8, 2, "auto");
  request.chunks = {};
  auto textOf = [&](unsigned threads) {
    PlanningControl control = controlOf();
    control.numThreads = threads;
    Plan plan = valueOf(planModel(request, control));
    plan.timing = {};
    return printPlan(plan);
  };
  std::string first = textOf(1);
  CHECK(textOf(1) == first);
  CHECK(textOf(2) == first);
}

TEST_CASE("numbers that no pipeline has are refused with what would be accepted") {
  CHECK_THAT(refusalOf(requestOfPipeline(4, 5, "1f1b")),
             Contains("--pipeline 5") && Contains("fewer workers are accepted"));
  CHECK_THAT(refusalOf(requestOfPipeline(4, 4, "1f1b")),
             Contains("a pipeline of 4 stages: the model can be cut at 2 places, into 3 stages at most"));
  // Workers come before schedules, which need not be written down for more of them than there are stages.
  CHECK_THAT(refusalOf(requestOfPipeline(8, 8, "interleaved", 8)), Contains("a pipeline of 8 stages"));
  CHECK_THAT(refusalOf(requestOfPipeline(4, 2, "1f2b")), Contains("there is no schedule '1f2b'; there are: gpipe"));
  CHECK_THAT(refusalOf(requestOfPipeline(4, 2, "dualpipe", 2)), Contains("two copies of the model"));
  CHECK_THAT(refusalOf(requestOfPipeline(3, 3, "dualpipev", 2)),
             Contains("on 3 workers, a global batch of 4 in 4 micro-batches is refused, with the same micro-batch a "
                      "global batch of 6 would do"));
}

TEST_CASE("settings of a pipeline are refused where there is one worker") {
  CHECK_THAT(refusalOf(requestOfPipeline(4, 1, "auto", 2)), Contains("--chunks 2: chunks are stages of a pipeline"));
  CHECK_THAT(refusalOf(requestOfPipeline(4, 1, "gpipe")),
             Contains("--schedule gpipe: a schedule belongs to a pipeline"));
  CHECK(!pipelineOf(requestOfPipeline(4, 1, "auto", 1)).pipeline);
}

TEST_CASE("modes without a search take no pipeline") {
  for (ParallelMode mode : {ParallelMode::Data, ParallelMode::Hybrid}) {
    PlanRequest request = requestOfPipeline(4, 2, "1f1b");
    request.parallel = mode;
    CHECK_THAT(refusalOf(request), Contains("the stages of a pipeline are searched; accepted are 'auto' and 'semi'"));
  }
}

TEST_CASE("the stages of a worker need together what they hold at one time, not the sum of their peaks") {
  PlanRequest request = requestOfStep({.model = "llama", .microBatch = 1, .globalBatch = 8});
  request.devices = 2;
  request.cluster = "cpu-local";
  request.pipeline = {2};
  request.chunks = {2};
  request.schedule = "interleaved";
  Plan plan = pipelineOf(request);
  REQUIRE(plan.stages.size() == 4);
  std::map<int64_t, int64_t> bytes, ofPeaks; ///< by first rank
  for (const StagePlan &stage : plan.stages) {
    REQUIRE(stage.memoryTogether);
    CHECK(stage.memoryTogether->total() <= stage.memory.total());
    bytes[stage.firstRank] += stage.memoryTogether->total();
    ofPeaks[stage.firstRank] += stage.memory.total();
  }
  CHECK(bytes[0] < ofPeaks[0]); // its chunks hold 4 and 2 at most, and 5 in all
  CHECK(bytes[1] < ofPeaks[1]); // one of them runs at a time
  CHECK(plan.memory.total() == std::max(bytes[0], bytes[1]));
  OpGraph graph = graphOf(plan.request);
  CHECK(faultOfStatements(graph, plan) == "");
  Plan changed = plan;
  for (size_t stage = 0; stage < 4; ++stage) // of each worker one more and one less, so that sums are the same
    (*changed.stages[stage].memoryTogether)[MemoryCategory::Activations] += stage < 2 ? -1 : 1;
  CHECK_THAT(faultOfStatements(graph, changed), Contains("stages[0].memory_bytes_together.activations"));
  changed = plan;
  const size_t lighter = bytes[0] < bytes[1] ? 0 : 1; // that of the other worker is the plan's own
  changed.stages[lighter].memoryTogether->hostBytes = 1;
  CHECK_THAT(faultOfStatements(graph, changed), Contains(".memory_bytes_together.host is 1"));
}

TEST_CASE("a value is priced for each stage that reads it, and the chunks of a worker have one scratch memory") {
  PlanRequest request = requestOfStep({.model = "t5", .microBatch = 1, .globalBatch = 4});
  request.devices = 2;
  request.cluster = "dgx-h100";
  request.pipeline = {2};
  request.chunks = {3};
  request.schedule = "interleaved";
  Plan plan = pipelineOf(request);
  REQUIRE(plan.stages.size() == 6);
  std::map<std::string, size_t> readers;
  for (const PlanTransfer &transfer : plan.pipeline->transfers) {
    REQUIRE(transfer.to.size() == 1);
    ++readers[transfer.value];
    auto rankOf = [&](int64_t stage) { return plan.stages[static_cast<size_t>(stage)].firstRank; };
    CHECK((transfer.seconds == 0) == (rankOf(transfer.from) == rankOf(transfer.to.front())));
  }
  CHECK(llvm::any_of(readers, [](const auto &value) { return value.second > 1; })); // what the encoder makes
  std::map<int64_t, int> withScratch;                                               ///< by first rank
  for (const StagePlan &stage : plan.stages)
    withScratch[stage.firstRank] += (*stage.memoryTogether)[MemoryCategory::Workspace] > 0 ? 1 : 0;
  CHECK(withScratch == std::map<int64_t, int>{{0, 1}, {1, 1}});
}

TEST_CASE("every figure of a pipeline that is changed is found") {
  PlanRequest request = requestOfPipeline(4, 2, "1f1b");
  Plan plan = pipelineOf(request);
  OpGraph graph = graphOf(plan.request);
  CHECK(faultOfStatements(graph, plan) == "");
  auto faultWith = [&](llvm::function_ref<void(Plan &)> change) {
    Plan changed = plan;
    change(changed);
    return faultOfStatements(graph, changed);
  };
  CHECK_THAT(faultWith([](Plan &own) { own.stages[1].inFlight = 2; }), Contains("in_flight"));
  CHECK_THAT(faultWith([](Plan &own) { own.stages[1].firstRank = 1; }), Contains("first_rank"));
  CHECK_THAT(faultWith([](Plan &own) { own.stages[0].parts->forward *= 1.5; }), Contains("seconds"));
  CHECK_THAT(faultWith([](Plan &own) { own.pipeline->transfers.pop_back(); }), Contains("transfers"));
  CHECK_THAT(faultWith([](Plan &own) { own.pipeline->transfers[0].bytes += 1; }), Contains("bytes is 9697"));
  CHECK_THAT(faultWith([](Plan &own) { own.pipeline->transfers[0].seconds *= 3; }), Contains("its links take"));
  CHECK_THAT(faultWith([](Plan &own) { own.pipeline->schedule = "gpipe"; }), Contains("in_flight"));
  CHECK_THAT(faultWith([](Plan &own) { own.pipeline->cuts[0] = "nothing"; }), Contains("nothing"));
  CHECK_THAT(faultWith([](Plan &own) { own.stepSeconds *= 0.9; }), Contains("bubble_seconds"));
  CHECK_THAT(faultWith([](Plan &own) { own.bubbleSeconds *= 0.5; }), Contains("bubble_seconds"));
  CHECK_THAT(faultWith([](Plan &own) { own.overlappedSeconds = 1; }), Contains("overlapped_seconds is 1"));
  auto read = [](Plan &own) -> std::vector<std::string> & {
    return llvm::find_if(own.stages[1].shardings, [](const PlanSharding &each) { return !each.users.empty(); })->users;
  };
  CHECK_THAT(faultWith([&](Plan &own) { read(own).pop_back(); }), Contains("users is"));
  CHECK_THAT(faultWith([&](Plan &own) { read(own).front() = "another"; }), Contains("users is [\"another\""));
}

TEST_CASE("a pipeline says what each kind of parallelism of its stages is worth") {
  // A parameter of a stage takes up half as much on two devices where storage is cut.
  PlanRequest request = requestOfPipeline(4, 2, "1f1b");
  request.microBatch = 2;
  request.parallel = ParallelMode::Auto;
  request.clusterOverrides = {"device.peak_flops_per_second.f32=1e6", "device.peak_vector_flops_per_second.f32=1e6"};
  Plan plan = pipelineOf(request);
  auto find = [](const Plan &own, llvm::StringRef kind) {
    auto row = llvm::find_if(own.parallelism, [&](const PlanContribution &each) { return each.kind == kind; });
    return row == own.parallelism.end() ? std::nullopt : std::optional(*row);
  };
  REQUIRE(!plan.parallelism.empty());
  std::optional<PlanContribution> data = find(plan, "data parallel"), tensor = find(plan, "tensor parallel");
  REQUIRE((data || tensor));
  // All that stages compute is cut by one kind or the other, so that without either computation takes longer.
  CHECK((data ? data->stepSeconds : tensor->stepSeconds) > plan.stepSeconds);
  request.zero = ZeroChoice::Stage0;
  CHECK_FALSE(find(pipelineOf(request), "cut storage"));
  // On one device each, stages have nothing of any kind.
  CHECK(pipelineOf(requestOfPipeline(2, 2, "1f1b")).parallelism.empty());
}
