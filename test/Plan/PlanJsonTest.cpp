// plan.json: a plan that is written is read back, and a file that is no plan is refused with a reason.
#include "PlanSamples.h"

#include "../ValueOf.h"

#include "apc/Plan/PlanJson.h"
#include "apc/Plan/Settings.h"

#include <functional>

using namespace apc;

namespace {

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t position = text.find(from);
  REQUIRE(position != std::string::npos);
  return text.replace(position, from.size(), to);
}

/// `text` without its first line that begins with `start`.
std::string withoutLine(std::string text, const std::string &start) {
  size_t position = text.find("\n" + start);
  REQUIRE(position != std::string::npos);
  return text.erase(position, text.find('\n', position + 1) - position);
}

/// The message with which a text is refused, in our own words.
std::string refused(const std::string &json) {
  llvm::Expected<Plan> plan = parsePlan(json, "a.json");
  REQUIRE_FALSE(static_cast<bool>(plan));
  auto [fault, message] = takeMessage(plan.takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::StartsWith("a.json"));
  CHECK_THAT(message, !Catch::Contains("json.exception") && !Catch::Contains("[json"));
  return message;
}

/// The sample with two stages, so that readers of one stage would be found out.
Plan stagedPlan() {
  Plan plan = samplePlan();
  plan.stages.push_back(plan.stages.front());
  plan.stages[1].firstRank = 8;
  plan.request.devices = plan.devicesUsed = 16;
  return withTotals(std::move(plan));
}

using Change = std::function<void(Plan &)>;

const std::vector<Change> changesOfPlan = {
    [](Plan &plan) { plan.producer = "9.9.9"; },
    [](Plan &plan) { plan.request.modelPath = "other.onnx"; },
    [](Plan &plan) { plan.modelSha256 = "0123"; },
    [](Plan &plan) { plan.cluster = "another cluster"; },
    [](Plan &plan) { plan.devicesUsed = 7; },
    [](Plan &plan) { plan.search = "reference: data parallel"; },
    [](Plan &plan) { plan.status = PlanStatus::Feasible; },
    [](Plan &plan) { plan.stepSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.computeSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.communicationSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.exposedCommunicationSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.hostSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.overlappedSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.lowerBoundSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.gap = 1.0 / 3; },
    [](Plan &plan) { plan.samplesPerSecond = 1.0 / 3; },
    [](Plan &plan) { plan.samplesPerSecond.reset(); },
    [](Plan &plan) { plan.shareOfPeak = 1.0 / 3; },
    [](Plan &plan) { plan.training->loss = "mse"; },
    [](Plan &plan) { plan.training->optimizer = "sgd"; },
    [](Plan &plan) { plan.training->precision = "fp16"; },
    [](Plan &plan) { plan.training->recompute = "full"; },
    [](Plan &plan) { plan.training->globalBatch = 128; },
    [](Plan &plan) { plan.training->microBatch = 4; },
    [](Plan &plan) { plan.training->microBatches = 2; },
    [](Plan &plan) { plan.training.reset(); },
    [](Plan &plan) { plan.peakFormats = {"f32"}; },
    [](Plan &plan) { plan.deviceMemoryBytes = 99; },
    [](Plan &plan) { plan.flopsPerDevice = 3e15; },
    [](Plan &plan) { plan.memoryLimitBytes = 77; },
    [](Plan &plan) { plan.communicationBytes["AllToAll"] = 5; },
    [](Plan &plan) { plan.notes.push_back("a \"note\""); },
    [](Plan &plan) { plan.references[0].name = "layout dp=2,tp=4"; },
    [](Plan &plan) { plan.references[1].stepSeconds = 0.25; },
    [](Plan &plan) { plan.references[1].memoryBytes = 25; },
    [](Plan &plan) { plan.references[1].feasible = true; },
    [](Plan &plan) { plan.references[0].reason = "best over 4 of 8 devices"; },
    [](Plan &plan) { plan.references.pop_back(); },
    [](Plan &plan) { plan.tried[1].workers = 4; },
    [](Plan &plan) { plan.tried[1].schedule = "gpipe"; },
    [](Plan &plan) { plan.tried[1].chunks = 3; },
    [](Plan &plan) { plan.tried[0].microBatches = 16; },
    [](Plan &plan) { plan.tried[2].microBatch = 16; },
    [](Plan &plan) { plan.tried[0].recompute = "full:26,norms"; },
    [](Plan &plan) { plan.tried[0].zero = "3"; },
    [](Plan &plan) { plan.tried[2].stepSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.tried[0].memoryBytes.reset(); },
    [](Plan &plan) { plan.tried[2].feasible = true; },
    [](Plan &plan) { plan.tried[2].reason = "needs too much"; },
    [](Plan &plan) { plan.tried[0].isQuick = true; },
    [](Plan &plan) { plan.tried.pop_back(); },
    [](Plan &plan) { plan.numTried = 6; },
    [](Plan &plan) { plan.parallelism[0].kind = "tensor parallel"; },
    [](Plan &plan) { plan.parallelism[0].stepSeconds = 1.0 / 3; },
    [](Plan &plan) { plan.parallelism[1].memoryBytes = 1; },
    [](Plan &plan) { plan.sensitivity[0].figure = "links"; },
    [](Plan &plan) { plan.sensitivity[0].scale = 1.2; },
    [](Plan &plan) { plan.sensitivity[1].stepSeconds = 0.5; },
    [](Plan &plan) { plan.sensitivity[0].changedOps = 3; },
    [](Plan &plan) { plan.sensitivity[0].mesh = "one device"; },
    [](Plan &plan) { plan.sensitivity[0].reason = "none"; },
    [](Plan &plan) { plan.timing.importSeconds = 9; },
    [](Plan &plan) { plan.timing.problemSeconds = 9; },
    [](Plan &plan) { plan.timing.searchSeconds = 9; },
    [](Plan &plan) { plan.timing.totalSeconds = 9; },
    [](Plan &plan) { plan.stages.pop_back(); },
};

using StageChange = std::function<void(StagePlan &)>;

const std::vector<StageChange> changesOfStage = {
    [](StagePlan &stage) { stage.firstRank = 4; },
    [](StagePlan &stage) { stage.mesh.axes[0].name = "rows"; },
    [](StagePlan &stage) { stage.mesh.axes[0].size = 1; },
    [](StagePlan &stage) { stage.mesh.axes[0].level = "rack"; },
    [](StagePlan &stage) { stage.mesh.axes[1].levelIndex = 2; },
    [](StagePlan &stage) { stage.computeSeconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.communicationSeconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.exposedCommunicationSeconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.hostSeconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.moves[0].before = "h.0/Add"; },
    [](StagePlan &stage) { stage.flopsPerDevice = 2e12; },
    [](StagePlan &stage) { stage.communicationBytes["AllToAll"] = 5; },
    [](StagePlan &stage) { stage.choices[0].op = "h.7/MatMul"; },
    [](StagePlan &stage) { stage.choices[0].operatorName = "gemm"; },
    [](StagePlan &stage) { stage.choices[0].strategy = strategy("m:(data model) passing0:data"); },
    [](StagePlan &stage) { stage.choices[0].seconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.choices[0].communicationSeconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.choices[0].bytes = 65; },
    [](StagePlan &stage) { stage.choices[0].runnerUp->strategy = strategy("m:data"); },
    [](StagePlan &stage) { stage.choices[0].runnerUp->extraSeconds = -1; },
    [](StagePlan &stage) { stage.choices[0].runnerUp->winsIf[0].figure = "links"; },
    [](StagePlan &stage) { stage.choices[0].runnerUp->winsIf[0].scale = 3; },
    [](StagePlan &stage) { stage.choices[0].runnerUp->winsIf[1].value = 3; },
    [](StagePlan &stage) { stage.choices[0].runnerUp.reset(); },
    [](StagePlan &stage) { stage.choices[0].rejections = 1; },
    [](StagePlan &stage) { stage.choices[0].factors[0].factor = "x"; },
    [](StagePlan &stage) { stage.choices[0].factors[0].size = 9; },
    [](StagePlan &stage) { stage.choices[0].factors[0].isCut = true; },
    [](StagePlan &stage) { stage.choices[0].factors[0].mustBeWhole = true; },
    [](StagePlan &stage) { stage.choices[0].factors[0].other.reset(); },
    [](StagePlan &stage) { stage.choices[3].pinned->by = "pin 'x'"; },
    [](StagePlan &stage) { stage.choices[3].pinned->free.reset(); },
    [](StagePlan &stage) { stage.choices[3].pinned.reset(); },
    [](StagePlan &stage) { stage.choices[2].merged.pop_back(); },
    [](StagePlan &stage) { stage.rejections[0].rule = "... -> ..."; },
    [](StagePlan &stage) { stage.rejections[0].offered = 10; },
    [](StagePlan &stage) { stage.rejections[0].reasons[0].reason = "none"; },
    [](StagePlan &stage) { stage.rejections[0].reasons[0].count = 4; },
    [](StagePlan &stage) { stage.rejections[0].reasons[0].example = "k:data"; },
    [](StagePlan &stage) { stage.shardings[0].value = "y7"; },
    [](StagePlan &stage) { stage.shardings[0].producer = "h.7/MatMul"; },
    [](StagePlan &stage) { stage.shardings[0].role = ValueRole::OptimizerState; },
    [](StagePlan &stage) { stage.shardings[0].shape = {16, 32}; },
    [](StagePlan &stage) { stage.shardings[0].localShape = {4, 32}; },
    [](StagePlan &stage) { stage.shardings[0].sharding.dims[1] = {"data"}; },
    [](StagePlan &stage) { stage.shardings[0].sharding.partial.clear(); },
    [](StagePlan &stage) { stage.shardings[0].sharding.combiner = Combiner::Or; },
    [](StagePlan &stage) { stage.shardings[0].elementBits = 4; },
    [](StagePlan &stage) { stage.shardings[0].users.pop_back(); },
    [](StagePlan &stage) { stage.collectives[0].collective = "AllGather"; },
    [](StagePlan &stage) { stage.collectives[0].levels = "node"; },
    [](StagePlan &stage) { stage.collectives[0].count = 2; },
    [](StagePlan &stage) { stage.collectives[0].seconds = 1.0 / 3; },
    [](StagePlan &stage) { stage.collectives[0].receivedBytes = 1; },
    [](StagePlan &stage) { stage.fullestOp = "h.0/Add"; },
    [](StagePlan &stage) { stage.peakValues.pop_back(); },
    [](StagePlan &stage) { stage.peakValues[0].pattern = "v*"; },
    [](StagePlan &stage) { stage.peakValues[0].count = 3; },
    [](StagePlan &stage) { stage.peakValues[0].category = MemoryCategory::Optimizer; },
    [](StagePlan &stage) { stage.peakValues[0].areCopies = true; },
    [](StagePlan &stage) { stage.peakValues[0].bytes = 5; },
    [](StagePlan &stage) { stage.lossBytes = 512; },
    [](StagePlan &stage) { stage.moves[0].values.push_back("y2"); },
    [](StagePlan &stage) { stage.moves[0].target.dims[0] = {"data", "model"}; },
    [](StagePlan &stage) { stage.moves[0].target.partial = {"data"}; },
    [](StagePlan &stage) { stage.moves[0].target.combiner = Combiner::Product; },
    [](StagePlan &stage) { stage.moves[0].source.clear(); },
    [](StagePlan &stage) { stage.moves[0].users.pop_back(); },
    [](StagePlan &stage) { stage.moves[0].collectives.push_back("AllGather{data} 0"); },
    [](StagePlan &stage) { stage.moves[0].seconds = 1.0 / 3; },
};

/// A change of the plan shows in its text, and the text reads back to a plan that prints it again.
void checkSurvives(const Plan &before, const Plan &after) {
  std::string text = printPlan(after);
  CHECK(text != printPlan(before));
  CHECK(printPlan(valueOf(parsePlan(text, "plan.json"))) == text);
}

} // namespace

TEST_CASE("a plan that is written and read back prints the same bytes") {
  std::string text = printPlan(samplePlan());
  Plan read = valueOf(parsePlan(text, "plan.json"));
  CHECK(printPlan(read) == text);
  CHECK(read.request.clusterOverrides == samplePlan().request.clusterOverrides);
  REQUIRE(read.stages.size() == 1);
  const StagePlan &stage = read.stages.front();
  CHECK(stage.choices.size() == 4);
  CHECK(stage.choices[0].runnerUp->extraSeconds == 0.001);
  CHECK(stage.choices[0].runnerUp->winsIf.size() == 2);
  CHECK(!stage.choices[0].runnerUp->winsIf[1].value);
  CHECK(!stage.choices[1].runnerUp);
  CHECK(!stage.choices[2].pinned);
  REQUIRE(stage.choices[3].pinned);
  CHECK(stage.choices[3].pinned->by == "pin 'h.1/Add: replicated' (pins.json, pin 2)");
  CHECK(stage.choices[3].pinned->free->extraSeconds == -0.0002);
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    CHECK(setting.print(read.request) == setting.print(samplePlan().request));
  }
  CHECK(read.sensitivity.size() == 2);
  CHECK(!read.references[1].stepSeconds);
  CHECK(stage.shardings[1].sharding.dims == std::vector<AxisNames>{{"model"}, {}});
}

TEST_CASE("every field of a plan survives being written and read back") {
  const Plan plan = stagedPlan();
  for (size_t index = 0; index < changesOfPlan.size(); ++index) {
    INFO("change " << index << " of the plan");
    Plan changed = plan;
    changesOfPlan[index](changed);
    checkSurvives(plan, changed);
  }
  for (size_t index = 0; index < changesOfStage.size(); ++index)
    for (size_t stage : {0, 1}) {
      INFO("change " << index << " of stage " << stage);
      Plan changed = plan;
      changesOfStage[index](changed.stages[stage]);
      checkSurvives(plan, changed);
    }
  for (MemoryCategory category : allMemoryCategories()) {
    INFO(memoryCategoryName(category).str());
    Plan changed = plan;
    changed.memory[category] += 3;
    checkSurvives(plan, changed);
    changed = plan;
    changed.stages[1].memory[category] += 3;
    checkSurvives(plan, changed);
  }
}

TEST_CASE("every setting of the request survives being written and read back") {
  const PlanRequest unusual = unusualRequest();
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    Plan changed = samplePlan();
    setting.reset(changed.request);
    for (const std::string &text : setting.print(unusual))
      REQUIRE_FALSE(static_cast<bool>(setting.read(changed.request, text, "test")));
    checkSurvives(samplePlan(), changed);
    Plan read = valueOf(parsePlan(printPlan(changed), "plan.json"));
    CHECK(setting.print(read.request) == setting.print(changed.request));
  }
}

TEST_CASE("the documented keys of plan.json are there") {
  std::string text = printPlan(samplePlan());
  for (const char *key : {"version",
                          "apc_version",
                          "model",
                          "sha256",
                          "request",
                          "cluster",
                          "cluster_set",
                          "devices",
                          "devices_used",
                          "mode",
                          "search",
                          "status",
                          "stages",
                          "first_rank",
                          "mesh",
                          "step_seconds",
                          "lower_bound_seconds",
                          "gap",
                          "memory_bytes",
                          "memory_limit_bytes",
                          "communication_bytes",
                          "references",
                          "tried",
                          "tried_count",
                          "micro_batches",
                          "choices",
                          "shardings",
                          "moves",
                          "collectives",
                          "timing_seconds",
                          "runner_up",
                          "local_shape",
                          "partial"}) {
    INFO(key);
    CHECK(text.find("\"" + std::string(key) + "\"") != std::string::npos);
  }
  for (const Setting &setting : allSettings())
    CHECK(text.find("\n  \"" + setting.key() + "\"") != std::string::npos);
  CHECK(printPlan(samplePlan(), /*withTiming=*/false).find("timing_seconds") == std::string::npos);
}

TEST_CASE("faults of a plan file are told with line and key") {
  std::string text = printPlan(samplePlan());
  CHECK_THAT(refused(" \n"), Catch::Contains("this is not JSON: the file is empty"));
  CHECK_THAT(refused(text.substr(0, 200)), Catch::Contains("the text ends before its brackets are closed"));
  CHECK_THAT(refused("{\n\"version\": x}"), Catch::StartsWith("a.json:2: this is not JSON: 'x' is not expected here"));
  CHECK_THAT(refused("[1]"), Catch::Contains("an object is expected, not [1]"));
  CHECK_THAT(refused("{}"), Catch::Contains("'version' is missing"));
  CHECK_THAT(refused("{\"version\": 1e999}"), Catch::Contains("a number is too large; at most 1.79e308 is accepted"));
  CHECK_THAT(refused(replaced(text, "\"m:model\"", "7")),
             Catch::Contains("stages[0].choices[0].factors[0].other.strategy: a text is expected, not 7"));
  CHECK_THAT(refused(replaced(text, "\"m:model\"", "\"m:\"")),
             Catch::Contains("stages[0].choices[0].factors[0].other.strategy: strategy 'm:'"));
  CHECK_THAT(refused(replaced(text, "\"cut\": true", "\"cut\": 1")),
             Catch::Contains("stages[0].choices[0].factors[1].cut: true or false is expected, not 1"));
  CHECK_THAT(refused(replaced(text, "\n \"devices\": 8", "\n \"devices\": 8.5")),
             Catch::Contains(": devices: a whole number") && Catch::Contains("not 8.5"));
  CHECK_THAT(refused(replaced(text, "\"role\": \"parameter\"", "\"role\": \"weight\"")),
             Catch::Contains("stages[0].shardings[1].role: ") && Catch::Contains("optimizer_state") &&
                 Catch::Contains("not \"weight\""));
}

TEST_CASE("a text that is no plan is refused with the file and the reason") {
  std::string text = printPlan(samplePlan());
  CHECK_THAT(refused(""), Catch::Contains("apc plan"));
  refused("[]");
  CHECK_THAT(refused(replaced(text, "\"version\": 2", "\"version\": 7")),
             Catch::Contains("version 7") && Catch::Contains("reads version 2"));
  CHECK_THAT(refused(withoutLine(text, " \"gap\"")), Catch::Contains("'gap' is missing"));
  CHECK_THAT(refused(replaced(text, "\n \"gap\"", "\n \"gasp\"")),
             Catch::Contains("gasp: unknown key, did you mean 'gap'?"));
  CHECK_THAT(refused(replaced(text, "\n \"devices\": 8", "\n \"devices\": \"8\"")),
             Catch::Contains(": devices: a whole number") && Catch::Contains("not \"8\""));
  CHECK_THAT(refused(replaced(text, "\"rejections\": 1", "\"rejections\": 9")),
             Catch::Contains("choice of op 'h.0/Add': 'rejections' is 9, but there are 2"));
}

TEST_CASE("plans of version 1 are refused with the way out") {
  std::string old = replaced(printPlan(samplePlan()), "\"version\": 2", "\"version\": 1");
  CHECK_THAT(refused(old), Catch::Contains("a plan of version 1") && Catch::Contains("reads version 2") &&
                               Catch::Contains("plan the model again"));
  CHECK_THAT(refused("{\"version\": 1, \"mesh\": []}"), Catch::Contains("plan the model again"));
}

TEST_CASE("settings of a request are checked as flags are") {
  std::string text = printPlan(samplePlan());
  CHECK_THAT(refused(replaced(text, "\n \"request\": {", "\n \"request\": {\n  \"colour\": \"red\",")),
             Catch::Contains("request.colour: unknown key"));
  CHECK_THAT(refused(replaced(text, "\"parallel\": \"auto\"", "\"parallel\": \"magic\"")),
             Catch::Contains("request.parallel: ") && Catch::Contains("accepted are 'auto', 'data', 'semi', 'hybrid'"));
  CHECK_THAT(refused(replaced(text, "\"time_limit_seconds\": 60", "\"time_limit_seconds\": -60")),
             Catch::Contains("request.time_limit_seconds: ") && Catch::Contains("a number of seconds above 0"));
  CHECK_THAT(refused(replaced(text, "\"dp=2,tp=4\"", "\"dp=2,xp=4\"")),
             Catch::Contains("request.layout: ") && Catch::Contains("unknown key 'xp'"));
  // A request of another program may leave settings out: they have their defaults.
  std::string shorter = withoutLine(text, "  \"time_limit_seconds\"");
  CHECK(valueOf(parsePlan(shorter, "plan.json")).request.timeLimitSeconds == PlanRequest().timeLimitSeconds);
}

TEST_CASE("a total of memory that is not the sum of its categories is refused") {
  std::string text = printPlan(samplePlan());
  CHECK_THAT(refused(replaced(text, "\n  \"total\": 1049600", "\n  \"total\": 1049601")),
             Catch::Contains(": memory_bytes: the total is 1049601, but the categories sum to 1049600"));
  CHECK_THAT(refused(replaced(text, "\n    \"total\": 1049600", "\n    \"total\": 0")),
             Catch::Contains("stages[0].memory_bytes: the total is 0"));
}

TEST_CASE("memory has lines for the runtime and the host, which earlier files leave out") {
  Plan plan = samplePlan();
  plan.memory[MemoryCategory::Runtime] = 512;
  plan.memory.hostBytes = 3 << 20;
  std::string text = printPlan(plan);
  Plan read = valueOf(parsePlan(text, "plan.json"));
  CHECK(read.memory == plan.memory);
  CHECK(read.memory.total() == samplePlan().memory.total() + 512); // a limit is for the device alone
  text = printPlan(samplePlan());
  for (const char *line : {"  \"runtime\": 0", "  \"host\": 0", "    \"runtime\": 0", "    \"host\": 0"})
    text = withoutLine(text, line);
  for (const char *line : {"\n  \"total\": 1049600", "\n    \"total\": 1049600"})
    text = replaced(text, line + std::string(","), line);
  CHECK(valueOf(parsePlan(text, "plan.json")).memory == samplePlan().memory);
}

TEST_CASE("stages that contradict themselves are refused") {
  auto refusedWith = [](const Change &change) {
    Plan plan = samplePlan();
    change(plan);
    return refused(printPlan(plan));
  };
  CHECK_THAT(refusedWith([](Plan &plan) { plan.stages.clear(); }), Catch::Contains("'stages' is empty"));
  CHECK_THAT(refusedWith([](Plan &plan) { plan.stages[0].mesh.axes[1].size = 8; }),
             Catch::Contains("the mesh has at least 16 devices, the plan 8"));
  CHECK_THAT(refusedWith([](Plan &plan) { plan.stages[0].mesh.axes[1].name = "data"; }),
             Catch::Contains("mesh axis 'data' of size 4: names must differ"));
  CHECK_THAT(refusedWith([](Plan &plan) { plan.stages[0].shardings[0].localShape.pop_back(); }),
             Catch::Contains("sharding of value 'y0': 'shape', 'local_shape' and 'dims' differ in length"));
}
