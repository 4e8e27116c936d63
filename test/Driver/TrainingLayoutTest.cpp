// Layouts of a training step: what ZeRO cuts of a small network, byte by byte, and what its ranks send.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// y = relu(x . V) . W for 16 samples: 2 x 2048 parameters of 4 bytes.
const char *const networkText = R"(
func.func @main(%x: tensor<16x32xf32> {apc.name = "x"}) -> (tensor<16x32xf32> {apc.name = "y"}) {
  %v = apc.parameter "V" "initializer" : tensor<32x64xf32>
  %w = apc.parameter "W" "initializer" : tensor<64x32xf32>
  %h = "apc.matmul"(%x, %v) : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32> loc("up")
  %r = "apc.relu"(%h) : (tensor<16x64xf32>) -> tensor<16x64xf32> loc("relu")
  %y = "apc.matmul"(%r, %w) : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32> loc("down")
  return %y : tensor<16x32xf32>
})";
constexpr int64_t parameters = 4096, bytesEach = 4, ranks = 4;

/// A step of so many micro-batches of 16 samples on 4 ranks of dp.
Plan networkWith(int zero, int64_t microBatches, OptimizerKind optimizer = OptimizerKind::AdamW,
                 std::optional<int64_t> shard = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(networkText, &context);
  TrainingOptions options;
  options.loss = "mse:y";
  options.optimizer.kind = optimizer;
  options.microBatches = microBatches;
  TrainingStep step = valueOf(buildTrainingStep(*module, options));
  OpGraph graph = valueOf(graphOfModel(*step.module, "network"));
  PlanRequest request;
  request.mode = StepMode::Train;
  request.devices = ranks;
  request.cluster = "cpu-local";
  PlanningTarget target = valueOf(readTarget(request));
  return valueOf(evaluateLayout(graph, request, target, {.data = ranks, .zero = zero, .shard = shard}, {}));
}

/// Elements that one rank sends by ring, for many ranks: an all-reduce is a reduce-scatter and an all-gather. Scalars
/// of the loss, at most 16 of them, are left out. In volumes of all parameters, of which V and W are half each.
double volumesOf(const Plan &plan) {
  auto bytesOf = [&](llvm::StringRef kind) {
    auto found = plan.communicationBytes.find(kind.str());
    return found == plan.communicationBytes.end() ? int64_t(0) : found->second;
  };
  int64_t bytes = 2 * bytesOf("AllReduce") + bytesOf("ReduceScatter") + bytesOf("AllGather");
  CHECK(bytesOf("AllToAll") == 0);
  constexpr int64_t half = parameters / 2 * bytesEach;
  CHECK(bytes % half <= 2 * 16 * bytesEach);
  return static_cast<double>(bytes / half) / 2;
}

std::string notesOf(const Plan &plan) { return llvm::join(plan.notes, "; "); }

PlanRequest trainingOf(const Sample &sample) {
  PlanRequest request = requestOf(sample);
  request.mode = StepMode::Train;
  request.loss = "sum";
  return request;
}

} // namespace

TEST_CASE("ZeRO cuts states from stage 1 on, sums of gradients from 2 on, parameters with 3") {
  constexpr int64_t whole = parameters * bytesEach, cut = whole / ranks;
  const int64_t expected[4][3] = {// parameters, sums of gradients, two states
                                  {whole, whole, 2 * whole},
                                  {whole, whole, 2 * cut},
                                  {whole, cut, 2 * cut},
                                  {cut, cut, 2 * cut}};
  for (int zero = 0; zero <= 3; ++zero) {
    INFO("zero=" << zero);
    Plan plan = networkWith(zero, 4);
    CHECK(plan.memory[MemoryCategory::Parameters] == expected[zero][0]);
    CHECK(plan.memory[MemoryCategory::Gradients] == expected[zero][1]);
    CHECK(plan.memory[MemoryCategory::Optimizer] == expected[zero][2]);
  }
}

TEST_CASE("ZeRO cuts over the ranks of a shard alone, and adds gradients up over all ranks of dp") {
  constexpr int64_t whole = parameters * bytesEach, half = whole / 2;
  // With ZeRO 1 the parts that the other ranks add to stand beside whole sums.
  const int64_t expected[4][3] = {{}, {whole, whole + half, 2 * half}, {whole, half, 2 * half}, {half, half, 2 * half}};
  for (int zero = 1; zero <= 3; ++zero) {
    INFO("zero=" << zero);
    Plan plan = networkWith(zero, 4, OptimizerKind::AdamW, /*shard=*/2);
    CHECK(plan.memory[MemoryCategory::Parameters] == expected[zero][0]);
    CHECK(plan.memory[MemoryCategory::Gradients] == expected[zero][1]);
    CHECK(plan.memory[MemoryCategory::Optimizer] == expected[zero][2]);
    // A part is added up over the other ranks that have it.
    CHECK(plan.communicationBytes.at("AllReduce") >= networkWith(zero, 4).communicationBytes.at("AllReduce") + half);
    CHECK(networkWith(zero, 4, OptimizerKind::AdamW, ranks).memory == networkWith(zero, 4).memory);
  }
}

TEST_CASE("Each kind of parallelism is weighed by the same step without it") {
  Plan plan = networkWith(1, 4), whole = networkWith(0, 4);
  REQUIRE(plan.parallelism.size() == 2);
  const PlanContribution &data = plan.parallelism[0], &storage = plan.parallelism[1];
  CHECK(data.kind == "data parallel");
  CHECK(data.memoryBytes > plan.memory.total());
  // Two states of which each of four ranks has a quarter; whole, they are those of ZeRO 0.
  CHECK(storage.kind == "cut storage");
  CHECK(storage.memoryBytes == whole.memory.total());
  CHECK(storage.stepSeconds == Approx(whole.stepSeconds).epsilon(1e-9));
  CHECK(storage.memoryBytes - plan.memory.total() >= 2 * parameters * bytesEach * 3 / 4);
  CHECK(networkWith(0, 4).parallelism.size() == 1);
}

TEST_CASE("A step of one micro-batch sends two volumes of its parameters with ZeRO 0, 1 and 2") {
  for (int zero = 0; zero <= 2; ++zero) {
    INFO("zero=" << zero);
    CHECK(volumesOf(networkWith(zero, 1)) == 2);
  }
}

TEST_CASE("With 4 micro-batches ZeRO 0 and 1 send two volumes, ZeRO 2 one for each and one more") {
  CHECK(volumesOf(networkWith(0, 4)) == 2);
  CHECK(volumesOf(networkWith(1, 4)) == 2);
  CHECK(volumesOf(networkWith(2, 4)) == 5);
}

TEST_CASE("ZeRO 3 gathers for the forward pass and again for the backward pass") {
  // 3 volumes for each micro-batch (Rajbhandari et al. 2020, section 7), but for V, of half a volume: the backward pass
  // does not read it, for nothing in front of it is trained.
  CHECK(volumesOf(networkWith(3, 1)) == 2.5);
  CHECK(volumesOf(networkWith(3, 4)) == 4 * 2.5);
  Plan plan = networkWith(3, 1);
  std::vector<std::string> users;
  for (const PlanMove &move : plan.stages.front().moves)
    if (llvm::is_contained(move.values, "W"))
      users.push_back(llvm::join(move.users, ","));
  REQUIRE(users.size() == 2);
  CHECK(users[0] == "down");
  CHECK_THAT(users[1], Catch::StartsWith("down.grad"));
}

TEST_CASE("A stage of ZeRO needs no more memory than the stage before") {
  for (int64_t microBatches : {1, 4}) {
    int64_t before = networkWith(0, microBatches).memory.total();
    for (int zero = 1; zero <= 3; ++zero) {
      INFO("zero=" << zero << ", " << microBatches << " micro-batches");
      int64_t total = networkWith(zero, microBatches).memory.total();
      CHECK(total <= before);
      before = total;
    }
  }
}

TEST_CASE("A stage of ZeRO that cuts nothing says so") {
  CHECK_THAT(notesOf(networkWith(1, 1, OptimizerKind::Sgd)), Catch::Contains("no states that zero=1 could cut"));
  CHECK_THAT(notesOf(networkWith(2, 1)), Catch::Contains("zero=2 is zero=1"));
  CHECK_THAT(notesOf(networkWith(1, 4)), !Catch::Contains("zero"));
}

TEST_CASE("A layout says the micro-batch of a rank and the policy of recomputation") {
  PlanRequest request = trainingOf({"tiny/gpt/model.onnx", 2, "cpu-local"}); // 6 texts
  llvm::Expected<ParallelDegrees> layout = parseParallelDegrees("dp=2,mb=1,recompute=full", "--layout");
  Plan plan = valueOf(evaluateModel(request, *layout, controlOf()));
  CHECK(plan.request.globalBatch == 6);
  CHECK(plan.request.microBatch == 2);
  CHECK(plan.request.recompute == RecomputeChoice::Full);
  CHECK(plan.search == "layout dp=2,tp=1,mb=1,recompute=full");
  request.globalBatch = 12;
  request.microBatch = 2;
  request.recompute = RecomputeChoice::Full;
  Plan same = valueOf(evaluateModel(request, {2, 1}, controlOf()));
  request.globalBatch.reset();
  request.microBatch.reset();
  request.globalBatch = 12;
  Plan other = valueOf(evaluateModel(request, *layout, controlOf()));
  CHECK(same.stepSeconds == other.stepSeconds);
  CHECK(same.memory == other.memory);
}

TEST_CASE("A layout that says no micro-batch runs all samples of the request at once") {
  PlanRequest request = trainingOf({"tiny/gpt/model.onnx", 4, "cpu-local"}); // exported with 6 texts
  auto checkBatch = [&](const ParallelDegrees &layout, int64_t batch) {
    INFO(layout.str() << ", " << batch);
    request.globalBatch = batch;
    Plan plan = valueOf(evaluateModel(request, layout, controlOf()));
    REQUIRE(plan.training);
    CHECK(plan.training->globalBatch == batch);
    CHECK(plan.training->microBatch == batch);
    CHECK(plan.stages.front().shardings.front().role == ValueRole::Input);
    CHECK(plan.stages.front().shardings.front().shape.front() == batch);
    return plan.stepSeconds;
  };
  double one = checkBatch({4, 1}, 8), four = checkBatch({4, 1}, 512); // 6 cannot be cut 4 ways
  CHECK(four > one);
  checkBatch({1, 4}, 12);
  checkBatch(valueOf(parseParallelDegrees("dp=2,pp=2", "--layout")), 12);
}

TEST_CASE("A layout that names no policy recomputes nothing, also where the request leaves the policy open") {
  PlanRequest request = trainingOf({"tiny/gpt/model.onnx", 2, "cpu-local"});
  REQUIRE(request.recompute == RecomputeChoice::Auto);
  Plan plan = valueOf(evaluateModel(request, {2, 1}, controlOf()));
  REQUIRE(plan.training);
  CHECK(plan.training->recompute == "none");
}

TEST_CASE("Layouts that contradict the flags or the batch are refused") {
  PlanRequest request = trainingOf({"tiny/gpt/model.onnx", 2, "cpu-local"});
  CHECK_THAT(refusal(request, "dp=2,mb=2"), Catch::Contains("global batch of 6 cannot be cut into micro-batches of 4"));
  CHECK_THAT(refusal(request, "dp=2,mb=3,copies=2"),
             Catch::Contains("3 samples of a rank cannot be taken in 2 copies; a multiple of 2 is accepted for mb"));
  request.microBatch = 3;
  CHECK_THAT(refusal(request, "dp=2,mb=1"),
             Catch::Contains("micro-batches of 2 samples") && Catch::Contains("--micro-batch is 3"));
  request.microBatch.reset();
  request.recompute = RecomputeChoice::Norms;
  CHECK_THAT(refusal(request, "dp=2,recompute=full"), Catch::Contains("--recompute norms"));
  request = requestOf({"tiny/gpt/model.onnx", 2, "cpu-local"});
  CHECK_THAT(refusal(request, "dp=2,mb=1"), Catch::Contains("--mode train, and the mode is infer"));
}

TEST_CASE("Texts of layouts with micro-batches and policies are read and written back") {
  CHECK(valueOf(parseParallelDegrees("mb=2,recompute=norms,dp=4", "--layout")).str() ==
        "dp=4,tp=1,mb=2,recompute=norms");
  CHECK(valueOf(parseParallelDegrees("dp=4,recompute=full:26", "--layout")).str() == "dp=4,tp=1,recompute=full:26");
  CHECK(valueOf(parseParallelDegrees("recompute=full:26,norms,dp=4", "--layout")).str() ==
        "dp=4,tp=1,recompute=full:26,norms");
  for (const char *text :
       {"recompute=auto", "recompute=some", "mb=0", "recompute=full:0", "recompute=none:2", "recompute=full:"})
    CHECK(takeMessage(parseParallelDegrees(text, "--layout").takeError()).first == Fault::Input);
}
