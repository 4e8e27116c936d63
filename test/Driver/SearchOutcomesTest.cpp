// Decisions of the searches for small graphs whose best plans are known from MindSpore's tests and papers. Its shapes
// and device counts; where our costs lead elsewhere, the test says where and why.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/PlanModel.h"
#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>

#include <map>

using namespace apc;

namespace {

/// Factor -> ways: {"m": 8, "n": 2}. Empty for an op that is whole on every device.
using Cuts = std::map<std::string, int64_t>;

Cuts cutsOf(llvm::StringRef strategy, const Plan &plan) {
  Cuts cuts;
  std::string factor;
  for (llvm::StringRef word : llvm::split(strategy, ' ')) {
    if (word.contains(':')) {
      factor = word.split(':').first.str();
      word = word.split(':').second;
    }
    for (const PlanAxis &axis : stageOf(plan).mesh.axes)
      if (axis.name == word.trim("()"))
        cuts[factor] = std::max<int64_t>(cuts[factor], 1) * axis.size;
  }
  return cuts;
}

struct Outcome {
  std::map<std::string, Cuts> ops;
  Plan plan;
};

llvm::Expected<Plan> tryPlan(llvm::StringRef text, int64_t devices, llvm::StringRef search) {
  mlir::MLIRContext context;
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.modelPath = "graph";
  request.cluster = "atlas-900-a2"; // nodes of 8
  request.devices = devices;
  request.search = search.str();
  request.gapTolerance = 0; // these ops are so small that their launch hides how they are cut
  return planModule(*module, request, {});
}

Outcome outcome(llvm::StringRef text, int64_t devices, llvm::StringRef search) {
  Outcome outcome;
  outcome.plan = valueOf(tryPlan(text, devices, search));
  for (const PlanChoice &choice : stageOf(outcome.plan).choices)
    outcome.ops[choice.op] = cutsOf(choice.strategy.str(), outcome.plan);
  return outcome;
}

/// x[m,k] times one parameter.
std::string matmul(int64_t m, int64_t k, int64_t n) {
  return llvm::formatv(R"(
func.func @main(%x: tensor<{0}x{1}xf16> {{apc.name = "x"}) -> (tensor<{0}x{2}xf16> {{apc.name = "y"}) {{
  %w = apc.parameter "w" "initializer" : tensor<{1}x{2}xf16>
  %0 = "apc.matmul"(%x, %w) : (tensor<{0}x{1}xf16>, tensor<{1}x{2}xf16>) -> tensor<{0}x{2}xf16> loc("mm")
  return %0 : tensor<{0}x{2}xf16>
})",
                       m, k, n);
}

const char *const turnedChain = R"(
func.func @main(%x: tensor<128x32xf16> {apc.name = "x"}) -> (tensor<128x64xf16> {apc.name = "y"}) {
  %w1 = apc.parameter "w1" "initializer" : tensor<32x64xf16>
  %w2 = apc.parameter "w2" "initializer" : tensor<64x64xf16>
  %0 = "apc.matmul"(%x, %w1) : (tensor<128x32xf16>, tensor<32x64xf16>) -> tensor<128x64xf16> loc("first")
  %1 = "apc.matmul"(%0, %w2) : (tensor<128x64xf16>, tensor<64x64xf16>) -> tensor<128x64xf16> loc("second")
  %2 = "apc.transpose"(%1) {perm = array<i64: 1, 0>} : (tensor<128x64xf16>) -> tensor<64x128xf16> loc("turn")
  %3 = "apc.transpose"(%2) {perm = array<i64: 1, 0>} : (tensor<64x128xf16>) -> tensor<128x64xf16> loc("back")
  return %3 : tensor<128x64xf16>
})";

const char *const quotient = R"(
func.func @main(%x: tensor<64x32xf16> {apc.name = "x"}, %d: tensor<64x128xf16> {apc.name = "d"}) -> (tensor<64x128xf16> {apc.name = "y"}) {
  %w = apc.parameter "w" "initializer" : tensor<32x128xf16>
  %0 = "apc.matmul"(%x, %w) : (tensor<64x32xf16>, tensor<32x128xf16>) -> tensor<64x128xf16> loc("mm")
  %1 = "apc.div"(%0, %d) : (tensor<64x128xf16>, tensor<64x128xf16>) -> tensor<64x128xf16> loc("div")
  return %1 : tensor<64x128xf16>
})";

std::string textOf(const Cuts &cuts) {
  std::string text;
  for (const auto &[factor, ways] : cuts)
    text += llvm::formatv("{0}={1} ", factor, ways).str();
  return text;
}

const char *const sharedWeight = R"(
func.func @main(%x: tensor<64x32xf16> {apc.name = "x"}) -> (tensor<64x32xf16> {apc.name = "y"}) {
  %w = apc.parameter "w" "initializer" : tensor<32x32xf32>
  %0 = "apc.cast"(%w) {to = 10 : i64} : (tensor<32x32xf32>) -> tensor<32x32xf16> loc("cast1")
  %1 = "apc.matmul"(%x, %0) : (tensor<64x32xf16>, tensor<32x32xf16>) -> tensor<64x32xf16> loc("first")
  %2 = "apc.cast"(%w) {to = 10 : i64} : (tensor<32x32xf32>) -> tensor<32x32xf16> loc("cast2")
  %3 = "apc.matmul"(%1, %2) : (tensor<64x32xf16>, tensor<32x32xf16>) -> tensor<64x32xf16> loc("second")
  return %3 : tensor<64x32xf16>
})";

/// The end of ResNet-50 with 1x1 convolutions before it: images of 7x7, pooled, and `classes` logits.
std::string classifier(int64_t classes) {
  return llvm::formatv(R"(
func.func @main(%x: tensor<32x512x7x7xf16> {{apc.name = "x"}) -> (tensor<32x{0}xf16> {{apc.name = "y"}) {{
  %f = apc.parameter "f" "initializer" : tensor<2048x512x1x1xf16>
  %w = apc.parameter "w" "initializer" : tensor<2048x{0}xf16>
  %none = apc.none
  %0 = "apc.conv"(%x, %f, %none) : (tensor<32x512x7x7xf16>, tensor<2048x512x1x1xf16>, none) -> tensor<32x2048x7x7xf16> loc("conv")
  %1 = "apc.relu"(%0) : (tensor<32x2048x7x7xf16>) -> tensor<32x2048x7x7xf16> loc("relu")
  %2 = "apc.global_average_pool"(%1) : (tensor<32x2048x7x7xf16>) -> tensor<32x2048x1x1xf16> loc("pool")
  %3 = "apc.flatten"(%2) {{axis = 1 : i64} : (tensor<32x2048x1x1xf16>) -> tensor<32x2048xf16> loc("flatten")
  %4 = "apc.matmul"(%3, %w) : (tensor<32x2048xf16>, tensor<2048x{0}xf16>) -> tensor<32x{0}xf16> loc("fc")
  return %4 : tensor<32x{0}xf16>
})",
                       classes);
}

const char *const perceptron = R"(
func.func @main(%x: tensor<256x784xf16> {apc.name = "x"}) -> (tensor<256x512xf16> {apc.name = "y"}) {
  %w = apc.parameter "w" "initializer" : tensor<784x512xf16>
  %bias = apc.parameter "bias" "initializer" : tensor<512xf16>
  %0 = "apc.matmul"(%x, %w) : (tensor<256x784xf16>, tensor<784x512xf16>) -> tensor<256x512xf16> loc("mm")
  %1 = "apc.add"(%0, %bias) : (tensor<256x512xf16>, tensor<512xf16>) -> tensor<256x512xf16> loc("bias")
  %2 = "apc.relu"(%1) : (tensor<256x512xf16>) -> tensor<256x512xf16> loc("relu")
  return %2 : tensor<256x512xf16>
})";

} // namespace

TEST_CASE("one MatMul is cut where no collective is needed, along what it reads or writes most") {
  struct Case {
    int64_t m, k, n, devices;
    Cuts cuts;
  };
  // MindSpore's formula knows no collective: it cuts 32x2048x1000 along k, whose sums must then be added up, and
  // 1024x8192x8192 as 8x8. Here both halves of a result stay where they are, and the larger matrix is cut more often:
  // w of 128 MiB against x of 16 MiB.
  for (const Case &expected :
       {Case{128, 32, 64, 16, {{"m", 16}}}, Case{32, 2048, 65536, 8, {{"n", 8}}}, Case{32, 2048, 1000, 8, {{"n", 8}}},
        Case{8192, 4096, 16384, 64, {{"m", 8}, {"n", 8}}}, Case{1024, 8192, 8192, 64, {{"m", 2}, {"n", 32}}}})
    for (const char *search : {"dp", "recursive"}) {
      INFO(search << " of " << expected.m << "x" << expected.k << "x" << expected.n << " on " << expected.devices);
      Outcome found = outcome(matmul(expected.m, expected.k, expected.n), expected.devices, search);
      CHECK(found.ops["mm"] == expected.cuts);
      CHECK(found.plan.gap == 0);
    }
}

TEST_CASE("double recursion takes any number of devices but none") {
  for (int64_t devices : {1, 2, 3, 8, 12, 1024}) {
    INFO(devices << " devices");
    Outcome found = outcome(matmul(3000, 1000, 4000), devices, "recursive");
    int64_t ways = 1;
    for (auto [factor, count] : found.ops["mm"])
      ways *= count;
    CHECK(ways == devices);
    CHECK(found.ops["mm"].count("k") == 0);
  }
  for (int64_t devices : {0, -8}) {
    auto none = tryPlan(matmul(3000, 1000, 4000), devices, "recursive");
    REQUIRE(!none);
    CHECK(takeMessage(none.takeError()).first == Fault::Input);
  }
}

TEST_CASE("small chains are cut without a collective, weights too where every device would read them whole") {
  // MindSpore cuts all of these along the rows alone: it does not count that each device reads the weight.
  struct Case {
    const char *text;
    int64_t devices;
    std::map<std::string, Cuts> ops;
  };
  for (const Case &expected :
       {Case{turnedChain,
             16,
             {{"first", {{"m", 8}}}, // every second device holds the same rows: "second" reads them, and half of w2
              {"second", {{"m", 8}, {"n", 2}}},
              {"turn", {{"d0", 8}, {"d1", 2}}}, // by the factors of its result turned: what "second" made
              {"back", {{"d0", 2}, {"d1", 8}}}}},
        Case{quotient, 8, {{"mm", {{"m", 2}, {"n", 4}}}, {"div", {{"b0", 2}, {"b1", 4}}}}},
        Case{sharedWeight,
             8,
             // The casts run when the weight is loaded, so it is read as 16 bits by both.
             {{"cast1", {}}, {"first", {{"m", 8}}}, {"cast2", {}}, {"second", {{"m", 8}}}}},
        Case{perceptron,
             8,
             {{"mm", {{"m", 2}, {"n", 4}}}, {"bias#2", {{"b0", 2}, {"b1", 4}}}, {"relu", {{"b0", 2}, {"b1", 4}}}}}})
    for (const char *search : {"dp", "recursive"}) {
      INFO(search << " on " << expected.devices << " devices:" << expected.text);
      Outcome found = outcome(expected.text, expected.devices, search);
      CHECK(found.plan.communicationBytes.empty());
      for (const auto &[op, cuts] : expected.ops) {
        REQUIRE(found.ops.count(op) == 1);
        INFO(op << " is " << textOf(found.ops[op]));
        CHECK(found.ops[op] == cuts);
      }
    }
}

TEST_CASE("a classifier goes from data parallel to classes cut as the classes grow") {
  // MindSpore changes between 32,768 and 65,536 classes, where the gradient of the weight costs more than moving the
  // features. Without training there is no gradient: what counts is that each device reads the weight, 4 MiB for 1,000
  // classes and 128 MiB for 32,768, against 16 KiB of features for each image.
  for (const char *search : {"dp", "recursive"}) {
    INFO(search);
    for (int64_t classes : {10, 100, 1000}) {
      Outcome found = outcome(classifier(classes), 8, search);
      CHECK(found.ops["conv"] == Cuts{{"n", 8}});
      CHECK(found.ops["fc"] == Cuts{{"m", 8}});
      CHECK(found.plan.communicationBytes.empty());
    }
    for (int64_t classes : {32768, 65536}) {
      Outcome found = outcome(classifier(classes), 8, search);
      CHECK(found.ops["fc"] == Cuts{{"n", 8}});
      CHECK(found.plan.communicationBytes.count("AllGather") == 1); // of the pooled features
    }
  }
}

TEST_CASE("on one device every op is whole") {
  for (const char *search : {"dp", "recursive"}) {
    Outcome found = outcome(perceptron, 1, search);
    CHECK(found.ops.size() == stageOf(found.plan).choices.size());
    for (const auto &[op, cuts] : found.ops)
      CHECK(cuts.empty());
    CHECK(stageOf(found.plan).mesh.axes.empty());
  }
}

TEST_CASE("near the limit of memory, leave to gather parameters never makes a step slower, buckets included") {
  // KiB: where the search with stage 3 alone finds nothing as fast
  using Case = std::pair<int64_t, RecomputeChoice>;
  constexpr RecomputeChoice none = RecomputeChoice::None, open = RecomputeChoice::Auto;
  for (auto [limit, policy] : {Case(104, none), Case(116, open)}) {
    PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4, "cpu-local"});
    request.mode = StepMode::Train;
    request.loss = "sum";
    request.memoryLimitBytes = limit << 10;
    request.recompute = policy;
    Plan free = valueOf(planModel(request, controlOf()));
    request.zero = ZeroChoice::Stage2;
    Plan stage2 = valueOf(planModel(request, controlOf()));
    INFO(limit << " KiB, recompute " << recomputeChoiceName(policy).str());
    CHECK(free.stepSeconds <= stage2.stepSeconds * (1 + 1e-9));
    CHECK((policy == open || !stageOf(stage2).buckets.empty()));
  }
}
