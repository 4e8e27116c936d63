// Layouts that experts write down: how they are read, and what they decide.
#include "Samples.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string messageOf(llvm::StringRef text) {
  llvm::Expected<ParallelDegrees> layout = parseParallelDegrees(text, "--layout");
  return layout ? "" : takeMessage(layout.takeError()).second;
}

Plan evaluated(const Sample &sample, const ParallelDegrees &layout) {
  llvm::Expected<Plan> plan = evaluateModel(requestOf(sample), layout, controlOf(sample));
  if (plan)
    return std::move(*plan);
  FAIL(takeMessage(plan.takeError()).second);
  return {};
}

std::string failure(const Sample &sample, const ParallelDegrees &layout) {
  llvm::Expected<Plan> plan = evaluateModel(requestOf(sample), layout, controlOf(sample));
  REQUIRE(!plan);
  auto [fault, message] = takeMessage(plan.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

const Sample tinyGpt{"tiny/gpt/model.onnx", 6, "cpu-local"};

} // namespace

TEST_CASE("layouts are read with keys in any order and written back") {
  llvm::Expected<ParallelDegrees> layout = parseParallelDegrees("tp=8,zero=3,dp=4", "--layout");
  REQUIRE(bool(layout));
  CHECK(layout->data == 4);
  CHECK(layout->tensor == 8);
  CHECK(layout->str() == "dp=4,tp=8,zero=3");
  layout = parseParallelDegrees("dp=16", "--layout");
  REQUIRE(bool(layout));
  CHECK(layout->str() == "dp=16,tp=1");
  const char *all = "dp=16,tp=8,pp=8,cp=2,ep=4,sp=0,zero=1,mb=1,chunks=3,schedule=interleaved,recompute=full:26,norms";
  layout = parseParallelDegrees(all, "--layout");
  REQUIRE(bool(layout));
  CHECK(layout->str() == all);
  CHECK(layout->numDevices() == 2048);
  CHECK(layout->product() == "dp x tp x cp x pp = 16 x 8 x 2 x 8 = 2048");
  layout = parseParallelDegrees("dp=2,pp=4,chunks=2", "--layout");
  REQUIRE(bool(layout));
  CHECK(layout->scheduleName() == "interleaved");
  layout = parseParallelDegrees("shard=8,dp=4,cp=4,zero=3", "--layout");
  REQUIRE(bool(layout));
  CHECK(layout->str() == "dp=4,tp=1,cp=4,zero=3,shard=8");
  layout = parseParallelDegrees("etp=1,ep=16,tp=8,dp=4", "--layout");
  REQUIRE(bool(layout));
  CHECK(layout->str() == "dp=4,tp=8,ep=16,etp=1");
  CHECK(layout->ranksOfExperts() == 32);
  layout = parseParallelDegrees("tp=8,dp=4,ep=4,etp=8", "--layout"); // which is meant without it
  REQUIRE(bool(layout));
  CHECK(layout->str() == "dp=4,tp=8,ep=4");
  CHECK(layout->ranksOfExperts() == 4);
}

TEST_CASE("a text that is no layout is refused with what would be accepted") {
  CHECK_THAT(messageOf("dp=8,xp=2"), Catch::Contains("unknown key 'xp'") && Catch::Contains("dp=N,tp=N[,pp=N]"));
  CHECK_THAT(messageOf("dp=8,chunks=2"), Catch::Contains("pp is 1") && Catch::Contains("accepted is pp=2 or more"));
  CHECK_THAT(messageOf("dp=8,schedule=1f1b"), Catch::Contains("a schedule belongs to a pipeline"));
  CHECK_THAT(messageOf("dp=4,cp=2,ep=3"), Catch::Contains("4 x 2 = 8, which ep=3 does not divide"));
  CHECK_THAT(messageOf("dp=8,shard=4"), Catch::Contains("zero is 0") && Catch::Contains("accepted is zero=1..3"));
  CHECK_THAT(messageOf("dp=4,cp=3,zero=3,shard=8"), Catch::Contains("4 x 3 = 12, which shard=8 does not divide"));
  CHECK_THAT(messageOf("dp=4,ep=2,zero=3,shard=2"), Catch::Contains("shard=2 beside ep=2"));
  CHECK_THAT(messageOf("dp=4,tp=2,ep=8"), Catch::Contains("dp and cp, 4 x 1 = 4, which ep=8 does not divide"));
  CHECK_THAT(messageOf("dp=4,tp=2,ep=16,etp=1"), Catch::Contains("dp and cp and tp, 4 x 1 x 2 = 8, which ep=16"));
  CHECK_THAT(messageOf("dp=4,tp=8,ep=4,etp=2"), Catch::Contains("accepted is etp=8 or etp=1"));
  CHECK_THAT(messageOf("dp=4,ep=4,etp=2"), Catch::EndsWith("accepted is etp=1"));
  CHECK_THAT(messageOf("dp=4,tp=8,ep=4,etp=1,sp=0"), Catch::Contains("accepted is sp=1"));
  CHECK_THAT(messageOf("dp=4,tp=8,etp=1,zero=3,shard=2"), Catch::Contains("shard=2 beside etp=1"));
  CHECK_THAT(messageOf("dp=8,sp=2"), Catch::Contains("'sp=2' must be a whole number from 0 to 1"));
  CHECK(messageOf("dp=8,copies=2").empty());
  CHECK_THAT(messageOf(""), Catch::Contains("unknown key ''"));
  CHECK_THAT(messageOf("dp=8,dp=8"), Catch::Contains("'dp' is given twice"));
  CHECK_THAT(messageOf("tp=0"), Catch::Contains("from 1 to"));
  CHECK_THAT(messageOf("tp=two"), Catch::Contains("'tp=two'"));
  CHECK_THAT(messageOf("zero=4"), Catch::Contains("from 0 to 3"));
}

TEST_CASE("dp=4,tp=8 of GPT-3 is data parallel across nodes and Megatron inside") {
  Plan plan = evaluated({"gpt3_175b_loss.onnx", 32}, {4, 8, 0});
  const std::vector<PlanAxis> &axes = stageOf(plan).mesh.axes;
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].name == "node");
  CHECK(axes[0].levelIndex == 0);
  CHECK(axes[1].name == "device");
  std::map<std::string, std::string> strategies;
  for (const PlanChoice &choice : stageOf(plan).choices)
    strategies[choice.op] = choice.strategy.str();
  CHECK(strategies["/model/h.0/fc_in/MatMul"] == "b0:node n:device");  // columns, ...
  CHECK(strategies["/model/h.0/fc_out/MatMul"] == "b0:node k:device"); // ... then rows
  CHECK(strategies["/model/h.0/c_attn/MatMul"] == "b0:node n:device");
  CHECK(strategies["/model/h.0/c_proj/MatMul"] == "b0:node k:device");
  CHECK(strategies["/model/h.0/MatMul_1"] == "b0:node kv:device"); // heads
  CHECK(plan.memory.total() <= plan.memoryLimitBytes);
  CHECK(plan.search == "layout dp=4,tp=8");
}

TEST_CASE("ZeRO 3 keeps parameters cut over dp and gathers them; 1 and 2 change nothing without training") {
  Plan plain = evaluated(tinyGpt, {2, 3, 0}), first = evaluated(tinyGpt, {2, 3, 1}),
       third = evaluated(tinyGpt, {2, 3, 3});
  CHECK(first.stepSeconds == plain.stepSeconds);
  CHECK(first.memory.total() == plain.memory.total());
  CHECK_THAT(llvm::join(first.notes, "; "), Catch::Contains("changes nothing") && Catch::Contains("only training"));
  CHECK(third.memory[MemoryCategory::Parameters] < 0.6 * static_cast<double>(plain.memory[MemoryCategory::Parameters]));
  CHECK(third.stepSeconds > plain.stepSeconds);
  CHECK(third.communicationBytes["AllGather"] > plain.communicationBytes["AllGather"]);
}

TEST_CASE("a layout may leave devices idle, but its product must divide them") {
  Plan plan = evaluated({"tiny/gpt/model.onnx", 12, "cpu-local"}, {2, 3, 0});
  CHECK(plan.devicesUsed == 6);
  CHECK_THAT(llvm::join(plan.notes, "; "), Catch::Contains("uses 6 of 12 devices"));
  CHECK_THAT(failure(tinyGpt, {2, 2, 0}), Catch::Contains("dp x tp = 2 x 2 = 4 does not divide 6 devices"));
  CHECK_THAT(failure({"tiny/gpt/model.onnx", 64, "cpu-local"}, {8, 8, 0}), Catch::Contains("a batch of 6"));
}

TEST_CASE("plan lists named layouts among its references and is not slower") {
  PlanRequest request = requestOf(tinyGpt);
  request.layouts = {{2, 3, 0}, {4, 1, 0}};
  request.gapTolerance = 0.5; // of the plan: the layouts' costs do not depend on it
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  checkSound(*plan);
  REQUIRE(plan->references.size() == 5);
  CHECK(plan->references[3].name == "layout dp=2,tp=3");
  CHECK(plan->references[3].feasible);
  CHECK(plan->references[3].stepSeconds == evaluated(tinyGpt, {2, 3, 0}).stepSeconds);
  CHECK_FALSE(plan->references[4].feasible);
  CHECK_THAT(plan->references[4].reason, Catch::Contains("does not divide"));
  CHECK(plan->request.layouts == std::vector<ParallelDegrees>{{2, 3, 0}, {4, 1, 0}});
}

TEST_CASE("where no tensor parallelism fits, the reference shows the one that comes nearest") {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 12, "cpu-local"});
  request.memoryLimitBytes = 36000;
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  CHECK(plan->memory.total() <= 36000);
  const Reference &reference = plan->references.at(2);
  CHECK(reference.name == "tensor parallel");
  CHECK_FALSE(reference.feasible);
  CHECK_THAT(reference.reason, Catch::Contains("on a device, the limit is 35.2 KiB"));
  CHECK(reference.memoryBytes.value() > 36000);
}

TEST_CASE("references do not depend on the search that they are held against") {
  std::optional<double> seconds;
  for (const char *search : {"auto", "dp", "recursive", "propagation"}) {
    PlanRequest request = requestOf({"tiny/moe/model.onnx", 6, "cpu-local"});
    request.search = search;
    request.gapTolerance = llvm::StringRef(search) == "dp" ? 0.5 : 0;
    llvm::Expected<Plan> plan = planModel(request, controlOf());
    REQUIRE(bool(plan));
    REQUIRE(plan->references[2].name == "tensor parallel");
    REQUIRE(plan->references[2].stepSeconds.has_value());
    CHECK(*plan->references[2].stepSeconds == seconds.value_or(*plan->references[2].stepSeconds));
    seconds = plan->references[2].stepSeconds;
  }
}

TEST_CASE("data parallelism cuts the batch over all devices, with padding where that is faster") {
  PlanRequest request = requestOf({"resnet50.onnx", 3});
  request.parallel = ParallelMode::Data;
  llvm::Expected<Plan> plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  // 256 images on 3 devices: 86, 86 and 84, and nothing to send.
  CHECK(plan->devicesUsed == 3);
  CHECK(plan->communicationSeconds == 0);
  CHECK(plan->stepSeconds < plan->references[0].stepSeconds.value() / 2.5);
  CHECK(plan->stepSeconds == Approx(evaluated({"resnet50.onnx", 3}, {3, 1, 0}).stepSeconds));
  // Where rows of 6 texts of 5 words cannot be cut so often, in equal parts.
  request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
  request.parallel = ParallelMode::Data;
  plan = planModel(request, controlOf());
  REQUIRE(bool(plan));
  CHECK_THAT(llvm::join(plan->notes, "; "), Catch::Contains("a batch of 6 uses 2 of 4 devices"));
}
