// Properties that every training step has, whatever its numbers.
#include "TrainingPrograms.h"

#include "apc/IR/Kernels/Evaluate.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

/// W after two steps from 0 under a loss, the sum of x * W, that is `factor` times as large.
std::vector<double> afterSteps(const TrainingOptions &options, double factor) {
  BuiltStep step(productText("3xf64"), options);
  mlir::Builder builder(step.main().getContext());
  std::map<std::string, Tensor> held;
  const std::vector<std::vector<double>> gradients = {{0.5, -2, 0.25}, {1, 1, -0.125}};
  for (auto [index, gradient] : llvm::enumerate(gradients)) {
    Tensor x{{3}, builder.getF64Type(), {}, {}};
    for (double value : gradient)
      x.floats.push_back(factor * value);
    Tensor count{{}, builder.getI64Type(), {static_cast<int64_t>(index) + 1}, {}};
    Tensor rate{{}, builder.getF32Type(), {}, {0.125}};
    step.advance({x, count, rate}, held);
  }
  return {held.at("W").floats.begin(), held.at("W").floats.end()};
}

TrainingOptions optionsWith(OptimizerKind kind) {
  TrainingOptions options;
  options.loss = "sum:y";
  options.optimizer.kind = kind;
  return options;
}

/// W after a step of SGD on y = x W and the mean square of y and a target, from 0, in so many micro-batches of 4 rows.
std::vector<double> afterMicroBatches(int64_t count) {
  int64_t rows = 4 / count;
  std::string x = "tensor<" + std::to_string(rows) + "x3xf64>", y = "tensor<" + std::to_string(rows) + "x2xf64>";
  TrainingOptions options = optionsWith(OptimizerKind::Sgd);
  options.loss = "mse:y";
  options.microBatches = count;
  BuiltStep step("func.func @main(%x: " + x + " {apc.name = \"x\"}) -> (" + y + R"( {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<3x2xf64>
  %y = "apc.matmul"(%x, %w) : ()" +
                     x + ", tensor<3x2xf64>) -> " + y + " loc(\"y\")\n  return %y : " + y + "\n}",
                 options);
  mlir::Builder builder(step.main().getContext());
  std::vector<Tensor> inputs;
  double next = 0;
  std::vector<double> xs(12), ys(8);
  for (std::vector<double> *list : {&xs, &ys})
    for (double &value : *list)
      value = std::sin(next += 1);
  for (int64_t batch = 0; batch < count; ++batch) {
    Tensor given{{rows, 3}, builder.getF64Type(), {}, {}}, target{{rows, 2}, builder.getF64Type(), {}, {}};
    given.floats.assign(xs.begin() + batch * rows * 3, xs.begin() + (batch + 1) * rows * 3);
    target.floats.assign(ys.begin() + batch * rows * 2, ys.begin() + (batch + 1) * rows * 2);
    inputs.insert(inputs.end(), {given, target, Tensor{{}, builder.getI64Type(), {1}, {}},
                                 Tensor{{}, builder.getF32Type(), {}, {0.5}}});
  }
  std::map<std::string, Tensor> held;
  step.advance(inputs, held);
  return {held.at("W").floats.begin(), held.at("W").floats.end()};
}

} // namespace

// Micro-batches are summed and divided once (Narayanan et al. 2021): the step is that of the whole batch.
TEST_CASE("A step in 2 or 4 micro-batches is that of the whole batch") {
  std::vector<double> whole = afterMicroBatches(1);
  CHECK(std::abs(whole[0]) > 1e-2);
  for (int64_t count : {2, 4}) {
    std::vector<double> parts = afterMicroBatches(count);
    REQUIRE(parts.size() == whole.size());
    for (size_t index = 0; index < whole.size(); ++index)
      CHECK(parts[index] == Approx(whole[index]).epsilon(1e-9));
  }
}

TEST_CASE("A loss that is c times as large makes steps of SGD c times as large") {
  std::vector<double> once = afterSteps(optionsWith(OptimizerKind::Sgd), 1),
                      often = afterSteps(optionsWith(OptimizerKind::Sgd), 8);
  for (size_t index = 0; index < once.size(); ++index)
    CHECK(often[index] == Approx(8 * once[index]).epsilon(1e-12));
}

TEST_CASE("A loss that is c times as large changes no step of AdamW, its epsilon being small") {
  TrainingOptions options = optionsWith(OptimizerKind::AdamW);
  options.optimizer.epsilon = 1e-30;
  std::vector<double> once = afterSteps(options, 1), often = afterSteps(options, 1024);
  for (size_t index = 0; index < once.size(); ++index)
    CHECK(often[index] == Approx(once[index]).epsilon(1e-9));
  options.optimizer.epsilon = 1; // large enough to be felt
  CHECK(std::abs(afterSteps(options, 1)[0] - afterSteps(options, 1024)[0]) > 1e-3);
}

TEST_CASE("Clipped gradients do not depend on the size of a loss beyond the norm") {
  TrainingOptions options = optionsWith(OptimizerKind::Sgd);
  options.clipNorm = 0.5;
  std::vector<double> once = afterSteps(options, 16), often = afterSteps(options, 1024);
  for (size_t index = 0; index < once.size(); ++index)
    CHECK(often[index] == Approx(once[index]).epsilon(1e-6));
}
