// Pins on tiny models: what they fix, what follows, and what is said when they cannot be.
#include "../ValueOf.h"
#include "Samples.h"
#include "apc/Driver/PlanModel.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

using namespace apc;
using Catch::Contains;

namespace {

PlanRequest requestFor(const std::string &model, int64_t devices, std::initializer_list<const char *> pins,
                       ParallelMode parallel = ParallelMode::Auto) {
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.modelPath = std::string(APC_MODELS) + "/tiny/" + model + "/model.onnx";
  request.devices = devices;
  request.cluster = "dgx-h100";
  request.parallel = parallel;
  for (const char *pin : pins)
    request.pins.push_back(valueOf(parsePin(pin, "--pin")));
  return request;
}

Plan planFor(const std::string &model, int64_t devices, std::initializer_list<const char *> pins,
             ParallelMode parallel) {
  return valueOf(planModel(requestFor(model, devices, pins, parallel), {}));
}

std::string refusal(const PlanRequest &request, Fault expected = Fault::Input) {
  llvm::Expected<Plan> plan = planModel(request, {});
  if (plan)
    return "accepted";
  auto [fault, message] = takeMessage(plan.takeError());
  CHECK(fault == expected);
  return message;
}

/// The plan that follows from pins for a graph written as text, on nodes of 8.
Plan follow(llvm::StringRef text, int64_t devices, std::initializer_list<const char *> pins) {
  mlir::MLIRContext context;
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  PlanRequest request = requestFor("", devices, pins, ParallelMode::Semi);
  request.cluster = "atlas-900-a2";
  return valueOf(planModule(*module, request, {}));
}

/// Two dense layers, as in the guide of MindSpore's sharding propagation.
const char *const feedForward = R"(
func.func @main(%x: tensor<64x64xf16> {apc.name = "x"}) -> (tensor<64x64xf16> {apc.name = "y"}) {
  %w1 = apc.parameter "w1" "initializer" : tensor<64x64xf16>
  %b1 = apc.parameter "b1" "initializer" : tensor<64xf16>
  %w2 = apc.parameter "w2" "initializer" : tensor<64x64xf16>
  %b2 = apc.parameter "b2" "initializer" : tensor<64xf16>
  %0 = "apc.matmul"(%x, %w1) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> loc("dense1")
  %1 = "apc.add"(%0, %b1) : (tensor<64x64xf16>, tensor<64xf16>) -> tensor<64x64xf16> loc("bias1")
  %2 = "apc.relu"(%1) : (tensor<64x64xf16>) -> tensor<64x64xf16> loc("relu")
  %3 = "apc.matmul"(%2, %w2) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> loc("dense2")
  %4 = "apc.add"(%3, %b2) : (tensor<64x64xf16>, tensor<64xf16>) -> tensor<64x64xf16> loc("bias2")
  return %4 : tensor<64x64xf16>
})";

const char *const elementwiseChain = R"(
func.func @main(%x: tensor<64x64xf16> {apc.name = "x"}, %z: tensor<64x64xf16> {apc.name = "z"})
    -> (tensor<64x64xf16> {apc.name = "y"}) {
  %0 = "apc.mul"(%x, %z) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> loc("mul")
  %1 = "apc.sigmoid"(%0) : (tensor<64x64xf16>) -> tensor<64x64xf16> loc("sigmoid")
  %2 = "apc.relu"(%1) : (tensor<64x64xf16>) -> tensor<64x64xf16> loc("relu")
  return %2 : tensor<64x64xf16>
})";

/// A classifier whose weight is stored by classes, and its loss.
const char *const classifierLoss = R"(
func.func @main(%x: tensor<64x32xf16> {apc.name = "x"}, %labels: tensor<64xi64> {apc.name = "labels"})
    -> (tensor<64xf16> {apc.name = "y"}) {
  %w = apc.parameter "w" "initializer" : tensor<128x32xf16>
  %none = apc.none
  %0 = "apc.transpose"(%w) {perm = array<i64: 1, 0>} : (tensor<128x32xf16>) -> tensor<32x128xf16> loc("turn")
  %1 = "apc.matmul"(%x, %0) : (tensor<64x32xf16>, tensor<32x128xf16>) -> tensor<64x128xf16> loc("mm")
  %2:2 = "apc.softmax_cross_entropy_loss"(%1, %labels, %none) {reduction = "none"}
      : (tensor<64x128xf16>, tensor<64xi64>, none) -> (tensor<64xf16>, none) loc("loss")
  return %2#0 : tensor<64xf16>
})";

/// A strategy by ways: "b0:node n:(device.a device.b)" on [node=2, device.a=2, device.b=2] -> "b0:2 n:4".
std::string waysOf(const Plan &plan, llvm::StringRef op) {
  auto choice = llvm::find_if(stageOf(plan).choices, [&](const PlanChoice &each) { return each.op == op; });
  REQUIRE(choice != stageOf(plan).choices.end());
  std::string strategy = choice->strategy.str();
  std::vector<std::pair<std::string, int64_t>> cuts;
  for (llvm::StringRef word : llvm::split(strategy, ' ')) {
    if (word.contains(':')) {
      cuts.emplace_back(word.split(':').first.str(), 1);
      word = word.split(':').second;
    }
    for (const PlanAxis &axis : stageOf(plan).mesh.axes)
      if (axis.name == word.trim("()"))
        cuts.back().second *= axis.size;
  }
  std::string text;
  for (const auto &[factor, ways] : cuts)
    text += (text.empty() ? "" : " ") + factor + ":" + std::to_string(ways);
  return text;
}

std::vector<int64_t> localShapeOf(const Plan &plan, llvm::StringRef value) {
  auto sharding = llvm::find_if(stageOf(plan).shardings, [&](const PlanSharding &each) { return each.value == value; });
  REQUIRE(sharding != stageOf(plan).shardings.end());
  return sharding->localShape;
}

} // namespace

TEST_CASE("Pins on operators with weights reach the weights, and the ops around them") {
  Plan plan = planFor("gpt", 2, {"h.0/c_fc/Gemm: n=2", "h.0/c_out/Gemm: k=2"}, ParallelMode::Semi);
  CHECK(plan.search == "propagation");
  CHECK(waysOf(plan, "/h.0/c_fc/Gemm") == "n:2");
  CHECK(waysOf(plan, "/h.0/c_out/Gemm") == "k:2");
  // The activation between them follows: nothing moves.
  CHECK(waysOf(plan, "/h.0/Mul_3") == "b2:2");
  CHECK(localShapeOf(plan, "h.0.c_fc.weight") == std::vector<int64_t>{24, 48});
  CHECK(localShapeOf(plan, "h.0.c_out.weight") == std::vector<int64_t>{48, 24});
}

TEST_CASE("Pins on operators that change dims go through them in both directions") {
  // Heads: dim 1 after the transpose, a part of dim 2 after the reshape.
  Plan plan = planFor("gpt", 3, {"^/h.0/Transpose_3$: d1=3"}, ParallelMode::Semi);
  CHECK(waysOf(plan, "/h.0/Transpose_3") == "d1:3");
  CHECK(waysOf(plan, "/h.0/Reshape_3") == "i2:3");
  CHECK(waysOf(plan, "/h.0/MatMul_1") == "kv:3"); // attention
  CHECK(waysOf(plan, "/h.0/Transpose") == "d2:3");
  CHECK(waysOf(plan, "/h.0/Reshape") == "i2:3");
}

TEST_CASE("Pins on the boundary from data to model parallelism: both sides follow, and the note names both") {
  Plan plan = planFor("resnet", 2, {"^/conv/Conv$: n=2", "head/Gemm: n=2"}, ParallelMode::Semi);
  for (const PlanChoice &choice : stageOf(plan).choices)
    if (choice.operatorName == "conv") {
      INFO(choice.op);
      CHECK(waysOf(plan, choice.op) == "n:2");
    }
  CHECK(waysOf(plan, "/head/Gemm") == "n:2");
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes[0], Contains("pins meet at a cost") && Contains("^/conv/Conv$: n=2") &&
                                Contains("head/Gemm: n=2") && Contains("'/head/Gemm'"));
}

TEST_CASE("A dense layer's pin makes its activation's layout and the rows of the next") {
  Plan plan = follow(feedForward, 8, {"dense1: m=2, n=4"});
  for (const char *op : {"bias1", "relu"})
    CHECK(waysOf(plan, op) == "b0:2 b1:4");
  // dense2 takes its operand as it is, and so leaves partial sums: MindSpore's plan, too.
  CHECK(waysOf(plan, "dense2") == "m:2 k:4");
}

TEST_CASE("A pin among elementwise ops reaches those before and after it; pins that differ are both named") {
  for (const char *pin : {"mul: b0=4, b1=4", "sigmoid: b0=4, b1=4", "relu: b0=4, b1=4"}) {
    Plan plan = follow(elementwiseChain, 16, {pin});
    INFO(pin);
    CHECK(plan.notes.empty());
    for (const char *op : {"mul", "sigmoid", "relu"})
      CHECK(waysOf(plan, op) == "b0:4 b1:4");
  }
  Plan plan = follow(elementwiseChain, 16, {"mul: b0=4, b1=4", "relu: b0=8, b1=2"});
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes[0], Contains("pin 'mul: b0=4, b1=4' (--pin)") && Contains("pin 'relu: b0=8, b1=2' (--pin)") &&
                                Contains("'sigmoid'"));
}

TEST_CASE("Levels with blanks in their names are pinned with '-'") {
  PlanRequest request = requestFor("gpt", 8, {"c_fc/Gemm: n=2@ring-x, ..."});
  request.cluster = "tpu-v4";
  Plan plan = valueOf(planModel(request, {}));
  CHECK_THAT(waysOf(plan, "/h.0/c_fc/Gemm"), Contains("n:2"));
  request = requestFor("gpt", 8, {"c_fc/Gemm: n=rack"});
  request.cluster = "tpu-v4";
  CHECK_THAT(refusal(request), Contains("ring-y") && Contains("ring-x"));
}

TEST_CASE("An op that is pinned to a part of the devices stays there while its neighbours take all") {
  Plan plan = planFor("resnet", 4, {"^/stage_1/stage_1\\.1/Relu_2$: b0=2"}, ParallelMode::Auto);
  CHECK(waysOf(plan, "/stage_1/stage_1.1/Relu_2") == "b0:2");
}

TEST_CASE("References that do other than pinned say so") {
  Plan plan = planFor("gpt", 8, {"c_fc/Gemm: n=8"}, ParallelMode::Auto);
  for (const Reference &reference : plan.references)
    CHECK_THAT(reference.reason, Contains("is not as pinned"));
  plan = planFor("gpt", 8, {"c_fc/Gemm: replicated"}, ParallelMode::Auto);
  CHECK(plan.references[0].reason.empty()); // on a single device nothing is cut
}

TEST_CASE("A MatMul pinned along its classes keeps them between a loss and a weight that are pinned along rows") {
  // MindSpore's test of semi-auto parallel: loss (8,1), transpose of the weight (8,1), MatMul (1,1),(1,8).
  Plan plan = follow(classifierLoss, 8, {"mm: n=8", "loss: d0=8", "turn: d0=8"});
  CHECK(waysOf(plan, "mm") == "n:8");
  CHECK(waysOf(plan, "turn") == "d0:8");
  CHECK(localShapeOf(plan, "w") == std::vector<int64_t>{16, 32});
  CHECK(waysOf(plan, "loss") == "d0:8");
  CHECK(waysOf(plan, "loss.log_sum") == "d0:8");
  // Scores come by classes and are wanted by rows: they move, once for both parts of the loss, and nothing else does.
  REQUIRE(stageOf(plan).moves.size() == 1);
  CHECK(stageOf(plan).moves[0].users == std::vector<std::string>{"loss.log_sum", "loss"});
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes[0], Contains("where 'mm' hands over to") && Contains("pin 'loss: d0=8'"));
}

TEST_CASE("Every search keeps to pins") {
  for (const Search &search : allSearches()) {
    if (search.name == "exhaustive" || search.name == "ilp")
      continue; // tiny models have too many strategies for the one, and take the other minutes
    INFO(search.name.str());
    PlanRequest request = requestFor("gpt", 8, {"c_fc/Gemm: n=4@device, m=2, ...", "MatMul_1: kv=2"});
    request.search = search.name.str();
    Plan plan = valueOf(planModel(request, {}));
    for (const char *layer : {"/h.0", "/h.1"}) {
      CHECK(waysOf(plan, std::string(layer) + "/MatMul_1") == "kv:2");
      CHECK_THAT(waysOf(plan, std::string(layer) + "/c_fc/Gemm"), Contains("n:4") && Contains("m:2"));
    }
    CHECK(plan.request.pins.size() == 2);
  }
}

TEST_CASE("Pins that cannot be met name pin, op, and what is accepted") {
  CHECK_THAT(refusal(requestFor("gpt", 8, {"no_such: n=2"})),
             Contains("pin 'no_such: n=2' (--pin) matches none of the model's") && Contains("'/wte/Gather'"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"c_fc/Gemm: q=2"})),
             Contains("op '/h.0/c_fc/Gemm' (gemm) has no factor 'q'") && Contains("accepted are m, k, n"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"c_fc/Gemm: n=rack"})),
             Contains("no level 'rack'; accepted are node, device"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"c_fc/Gemm: n=3@device"})), Contains("a divisor of 8 is accepted"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"MatMul_1: kv=4"})),
             Contains("leaves op '/h.0/MatMul_1' (softmax_attention) no legal strategy: factor kv of size 3 is smaller "
                      "than the 4") &&
                 Contains("kv: 1, 2;"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"c_fc/Gemm: n=5"})), Contains("no axes of the cluster make these ways"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"c_fc/Gemm: n=2, ...", "h.0/c_fc/G: n=4, ..."})),
             Contains("pin 'c_fc/Gemm: n=2, ...'") && Contains("pin 'h.0/c_fc/G: n=4, ...'"));
  // A pin without '...' leaves whole what it does not name, whichever of the two comes first.
  CHECK_THAT(refusal(requestFor("gpt", 8, {"c_fc/Gemm: n=2", "h.0/c_fc/G: m=4, ..."})),
             Contains("'c_fc/Gemm: n=2' names no m and so leaves it whole") && Contains("'h.0/c_fc/G: m=4, ...'"));
  CHECK_THAT(refusal(requestFor("gpt", 8, {"h.0/c_fc/G: m=4, ...", "c_fc/Gemm: n=2"})), Contains("names no m"));
  CHECK(refusal(requestFor("gpt", 8, {"c_fc/Gemm: n=2", "h.0/c_fc/G: m=node, k=1, ..."})) == "accepted");
}

TEST_CASE("Modes: data, semi, hybrid") {
  Plan data = planFor("gpt", 2, {}, ParallelMode::Data);
  CHECK(data.search == "data parallel");
  CHECK(data.request.parallel == ParallelMode::Data);
  CHECK(waysOf(data, "/h.0/MatMul_1") == "b0:2");
  CHECK_THAT(refusal(requestFor("gpt", 2, {"MatMul_1: b0=2"}, ParallelMode::Data)), Contains("takes no pins"));
  PlanRequest cut = requestFor("gpt", 2, {}, ParallelMode::Data);
  cut.mode = StepMode::Train;
  cut.loss = "sum";
  cut.zero = ZeroChoice::Stage3;
  CHECK_THAT(refusal(cut), Contains("keeps parameters and states whole") && Contains("--layout dp=N,zero=3"));
  CHECK_THAT(refusal(requestFor("gpt", 2, {}, ParallelMode::Semi)), Contains("no pins to start from"));
  CHECK_THAT(refusal(requestFor("gpt", 2, {"MatMul_1: b0=2"}, ParallelMode::Hybrid)),
             Contains("every op that has a choice must be pinned") && Contains("'/wte/Gather' (gather)"));
  CHECK_THAT(refusal(requestFor("gpt", 2, {".: d0=2, ..."}, ParallelMode::Hybrid)), Contains("accepted are"));
  // All whole: costed as it is, though a reference is faster.
  Plan whole = planFor("gpt", 2, {".: replicated"}, ParallelMode::Hybrid);
  CHECK(whole.search == "pins");
  for (const PlanChoice &choice : stageOf(whole).choices)
    if (choice.operatorName != "output")
      CHECK(choice.strategy.str() == "replicated");
}
