// Optimizers held against steps computed by hand, and against those of PyTorch.
#include "TrainingPrograms.h"

#include "apc/IR/Kernels/Evaluate.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The values of W [2] after each step, W from `begin` on. States begin at zero and are carried from step to step.
std::vector<std::vector<double>> steps(const TrainingOptions &options, double rate, std::vector<double> begin,
                                       const std::vector<std::vector<double>> &gradients) {
  BuiltStep step(productText("2xf64"), options);
  mlir::Builder builder(step.main().getContext());
  std::map<std::string, Tensor> held = {{"W", vectorOf(std::move(begin), builder.getF64Type())}};
  std::vector<std::vector<double>> found;
  for (size_t index = 0; index < gradients.size(); ++index) {
    Tensor count{{}, builder.getI64Type(), {static_cast<int64_t>(index) + 1}, {}};
    Tensor learningRate{{}, builder.getF32Type(), {}, {rate}};
    step.advance({vectorOf(gradients[index], builder.getF64Type()), count, learningRate}, held);
    found.emplace_back(held.at("W").floats.begin(), held.at("W").floats.end());
  }
  return found;
}

/// The steps from 1 with some gradients, alike in both elements.
void checkSteps(const Optimizer &optimizer, double rate, std::vector<double> expected,
                const std::vector<double> &gradients = {0.5, -0.25, 1}) {
  TrainingOptions options;
  options.loss = "sum:y";
  options.optimizer = optimizer;
  std::vector<std::vector<double>> twice;
  for (double gradient : gradients)
    twice.push_back({gradient, gradient});
  auto found = steps(options, rate, {1, 1}, twice);
  INFO(traitsOf(optimizer.kind).name.str());
  for (size_t step = 0; step < expected.size(); ++step)
    for (double value : found[step])
      CHECK(value == Approx(expected[step]).epsilon(0).margin(6e-9));
}

} // namespace

TEST_CASE("Steps of SGD: plain, with momentum, decay, dampening and Nesterov's look ahead") {
  Optimizer optimizer;
  optimizer.kind = OptimizerKind::Sgd;
  checkSteps(optimizer, 0.1, {0.95, 0.975, 0.875});
  optimizer.kind = OptimizerKind::Momentum;
  checkSteps(optimizer, 0.1, {0.95, 0.93, 0.812});
  optimizer.dampening = 0.5;
  checkSteps(optimizer, 0.1, {0.95, 0.9175, 0.83825});
  optimizer.dampening = 0;
  optimizer.nesterov = true;
  checkSteps(optimizer, 0.1, {0.905, 0.912, 0.7058});
  optimizer.nesterov = false;
  optimizer.weightDecay = 0.01;
  checkSteps(optimizer, 0.1, {0.949, 0.927151, 0.806559749});
}

TEST_CASE("Steps of Adam and AdamW, with decay and with a large epsilon") {
  Optimizer optimizer;
  optimizer.kind = OptimizerKind::Adam;
  checkSteps(optimizer, 0.01, {0.99, 0.98733663, 0.980755514});
  optimizer.epsilon = 0.1;
  checkSteps(optimizer, 0.01, {0.991666667, 0.989541106, 0.983824077});
  optimizer.epsilon = 1e-8;
  optimizer.weightDecay = 0.1;
  checkSteps(optimizer, 0.01, {0.99, 0.985319199, 0.977977555});
  optimizer.kind = OptimizerKind::AdamW;
  checkSteps(optimizer, 0.01, {0.989, 0.98534763, 0.977781166});
}

// The mean of squares falls after the first step: 0.5, 0.255, 0.1325. Its greatest is corrected as the mean is.
TEST_CASE("Steps of amsgrad go by the greatest mean of squares, where Adam's go by the last") {
  for (OptimizerKind kind : {OptimizerKind::Adam, OptimizerKind::AdamW}) {
    Optimizer optimizer{.kind = kind, .beta2 = 0.5};
    checkSteps(optimizer, 0.01, {0.99, 0.980973759, 0.971491173}, {1, 0.1, 0.1});
    optimizer.amsgrad = true;
    checkSteps(optimizer, 0.01, {0.99, 0.983553975, 0.978672515}, {1, 0.1, 0.1});
  }
}

TEST_CASE("Clipping scales by the norm with 1e-6 added to it, and leaves small gradients alone") {
  TrainingOptions options;
  options.loss = "sum:y";
  options.optimizer.kind = OptimizerKind::Sgd;
  options.clipNorm = 1;
  std::vector<double> clipped = steps(options, 1, {0, 0}, {{3, 4}})[0];
  CHECK(clipped[0] == Approx(-0.59999988).epsilon(1e-7));
  CHECK(clipped[1] == Approx(-0.79999984).epsilon(1e-7));
  std::vector<double> small = steps(options, 1, {0, 0}, {{0.3, -0.4}})[0];
  CHECK(small == std::vector<double>{-0.3, 0.4});
}

TEST_CASE("Optimizers are found by their names") {
  for (const OptimizerTraits &traits : allOptimizers())
    CHECK(parseOptimizer(traits.name) == traits.kind);
  CHECK_FALSE(parseOptimizer("lion"));
}
