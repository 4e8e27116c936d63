// Where memory is largest, and what it is made of: logits and loss of a GPT by hand.
#include "../ValueOf.h"
#include "GptText.h"
#include "Samples.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/Graph/LossValues.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <set>

using namespace apc;

namespace {

OpGraph stepOf(const GptSizes &sizes, const TrainingOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(gptText(sizes), &context);
  REQUIRE(module);
  return valueOf(graphOfModel(*valueOf(buildTrainingStep(*module, options)).module, "gpt"));
}

TrainingOptions crossEntropyOf(Precision precision) {
  TrainingOptions options;
  options.loss = "cross-entropy:y";
  options.precision = precision;
  return options;
}

/// Bits of the values of logits and loss that have a storage of their own and the classes as a dim.
std::multiset<unsigned> bitsWithClasses(const OpGraph &graph, int64_t classes) {
  std::vector<bool> isOfLoss = lossValues(graph);
  std::multiset<unsigned> bits;
  for (auto [index, value] : llvm::enumerate(graph.values))
    if (isOfLoss[index] && !graph.isView(ValueId(index)) && llvm::is_contained(value.shape.dims, classes))
      bits.insert(value.shape.elementBits);
  return bits;
}

} // namespace

TEST_CASE("Logits and loss are what lies between the last contraction and the loss, with its gradients") {
  constexpr int64_t classes = 50257;
  GptSizes sizes{2, 16, 48, 4, 2, classes, "f32"};
  // Scores of the head in 16 bits, their cast, and the gradients of both.
  OpGraph mixed = stepOf(sizes, crossEntropyOf(Precision::Bf16));
  CHECK(bitsWithClasses(mixed, classes) == std::multiset<unsigned>{16, 32, 32, 16});
  OpGraph wide = stepOf(sizes, crossEntropyOf(Precision::Fp32));
  CHECK(bitsWithClasses(wide, classes) == std::multiset<unsigned>{32, 32});
  // Neither layers nor parameters belong to the loss; the hidden size and 4 times it are no dims of the loss.
  std::vector<bool> isOfLoss = lossValues(wide);
  for (auto [index, value] : llvm::enumerate(wide.values)) {
    INFO(value.name);
    if (isOfLoss[index])
      CHECK((!llvm::is_contained(value.shape.dims, sizes.hidden) &&
             !llvm::is_contained(value.shape.dims, 4 * sizes.hidden) && value.role == ValueRole::Activation));
  }
}

// Of b s V logits in 16 bits the loss keeps a copy in 32 bits until its backward pass makes their gradient in 32 bits:
// 8 b s V bytes together, beside 4 b s of logarithmic sums and the loss itself.
TEST_CASE("A GPT with a large vocabulary is fullest at its loss, with 8 b s V bytes of logits and loss") {
  constexpr int64_t classes = 50257;
  for (int64_t devices : {1, 2}) {
    INFO(devices);
    GptSizes sizes{2, 256, 48, 4, 1, classes, "f32"};
    OpGraph graph = stepOf(sizes, crossEntropyOf(Precision::Bf16));
    PlanRequest request = requestOf({"", devices, "dgx-h100"});
    Plan plan = valueOf(evaluateLayout(graph, request, valueOf(readTarget(request)), {devices, 1}, {}));
    int64_t tokens = sizes.batch * sizes.length / devices;
    int64_t losses = devices == 1 ? 1 : 2; // the sum of a device, and that of all
    CHECK(plan.lossBytes == tokens * classes * 8 + tokens * 4 + losses * 4);
    const StagePlan &stage = stageOf(plan);
    CHECK(stage.lossBytes == plan.lossBytes);
    CHECK(stage.fullestOp == "y.cross_entropy.grad");
    REQUIRE(stage.peakValues.size() > 2);
    auto found =
        llvm::find_if(stage.peakValues, [](const PlanPeakValues &each) { return each.pattern == "head.fp32"; });
    REQUIRE(found != stage.peakValues.end());
    CHECK(found->bytes == tokens * classes * 4);
    CHECK(found->category == MemoryCategory::Activations);
  }
}
