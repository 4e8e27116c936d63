// FLOPs of training steps of GPT models, held against the formulas of Narayanan et al., 2021, and Korthikanti et al.,
// 2022.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// FLOPs of all contractions of a graph, in one step.
double contractionFlops(const PlanRequest &request) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  ImportedModel model = valueOf(importForRequest(request, context));
  if (llvm::Error error = recognizeAndBuildStep(model.module, request))
    FAIL(takeMessage(std::move(error)).second);
  OpGraph graph = valueOf(graphOfModel(*model.module, request.modelPath));
  double sum = 0;
  for (const GraphOp &op : graph.ops) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    if (rule.work == Work::Contraction)
      sum += static_cast<double>(op.repeats) * rule.flops();
  }
  return sum;
}

PlanRequest gpt3(StepMode mode) {
  PlanRequest request = requestOf({"gpt3_175b_loss.onnx"});
  request.mode = mode;
  return request;
}

// B, L, s, h and V of the file.
constexpr double batch = 4, layers = 96, length = 2048, hidden = 12288, vocabulary = 50257;
constexpr double perLayer = batch * length * hidden * hidden, scores = batch * length * length * hidden;

} // namespace

TEST_CASE("A step of GPT-3 has 72 B L s h^2 (1 + s / 6 h + V / 12 h L) FLOPs, and its scores a second time") {
  double formula = 72 * layers * perLayer * (1 + length / (6 * hidden) + vocabulary / (12 * hidden * layers));
  CHECK(formula / batch == Approx(2.20441e15).epsilon(1e-5));
  // Fused attention makes its scores again on the way back: 5 products there against 2 on the way forth.
  double again = 2 * layers * scores;
  CHECK(contractionFlops(gpt3(StepMode::Train)) == Approx(formula + again).epsilon(1e-6));
  CHECK(contractionFlops(gpt3(StepMode::Infer)) == Approx(formula / 3).epsilon(1e-6));
}

TEST_CASE("Micro-batches change no FLOPs") {
  PlanRequest request = gpt3(StepMode::Train);
  double whole = contractionFlops(request);
  request.globalBatch = 4;
  request.microBatch = 1;
  CHECK(contractionFlops(request) == Approx(whole).epsilon(1e-12));
}

TEST_CASE("Recomputed attention repeats two products of 2 B s^2 h in each layer") {
  PlanRequest request = gpt3(StepMode::Train);
  double without = contractionFlops(request);
  request.recompute = RecomputeChoice::Attention;
  CHECK(contractionFlops(request) - without == Approx(4 * layers * scores).epsilon(1e-6));
}

TEST_CASE("Recomputed layers repeat their forward pass but for the last product, whose result is the next layer's") {
  PlanRequest request = gpt3(StepMode::Train);
  double without = contractionFlops(request);
  request.recompute = RecomputeChoice::Full;
  double products = (24 - 8) * perLayer, attention = 4 * scores;
  CHECK(contractionFlops(request) - without == Approx(layers * (products + attention)).epsilon(0.02));
}

TEST_CASE("A backward pass of ResNet-50 lacks the gradient of the images: 118 MMAC each") {
  PlanRequest request = requestOf({"resnet50.onnx"});
  double forward = contractionFlops(request);
  request.mode = StepMode::Train;
  request.loss = "sum";
  double step = contractionFlops(request);
  // 64 maps of 112 x 112 from 3 maps under 7 x 7.
  constexpr double images = 256, first = 2.0 * 64 * 112 * 112 * 3 * 7 * 7;
  CHECK(step == Approx(3 * forward - images * first).epsilon(1e-6));
}
