// Models that hold their backward pass: what is taken for it, and the step that follows.
#include "TrainingPrograms.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/MainFunction.h"

#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

using Catch::Contains;
using Lines = std::vector<std::string>;

namespace {

/// loss = mean((x W + B)^2) with x [rows, 3] and W [3, 2]; its gradients are outputs of these names.
std::string heldText(const std::string &weight, const std::string &bias, int64_t rows = 4) {
  std::string n = std::to_string(rows), y = "tensor<" + n + "x2xf32>", x = "tensor<" + n + "x3xf32>";
  return "func.func @main(%x: " + x + R"( {apc.name = "x"}) -> (tensor<f32> {apc.name = "loss"},
    tensor<3x2xf32> {apc.name = ")" +
         weight + R"("}, tensor<2xf32> {apc.name = ")" + bias + R"("}) {
  %n = apc.none
  %w = apc.parameter "W" "initializer" : tensor<3x2xf32>
  %b = apc.parameter "B" "initializer" : tensor<2xf32>
  %two = apc.constant dense<)" +
         std::to_string(1.0 / static_cast<double>(rows)) + R"(> : tensor<f32>
  %rows = apc.constant dense<0> : tensor<1xi64>
  %p = "apc.matmul"(%x, %w) : ()" +
         x + ", tensor<3x2xf32>) -> " + y + R"( loc("product")
  %y = "apc.add"(%p, %b) : ()" +
         y + ", tensor<2xf32>) -> " + y + R"( loc("y")
  %q = "apc.mul"(%y, %y) : ()" +
         y + ", " + y + ") -> " + y + R"( loc("square")
  %l = "apc.reduce_mean"(%q, %n) {keepdims = 0 : i64} : ()" +
         y + R"(, none) -> tensor<f32> loc("mean")
  %d = "apc.mul"(%y, %two) : ()" +
         y + ", tensor<f32>) -> " + y + R"( loc("dy")
  %t = "apc.transpose"(%x) {perm = array<i64: 1, 0>} : ()" +
         x + ") -> tensor<3x" + n + R"(xf32> loc("turn")
  %g = "apc.matmul"(%t, %d) : (tensor<3x)" +
         n + "xf32>, " + y + R"() -> tensor<3x2xf32> loc("dw")
  %h = "apc.reduce_sum"(%d, %rows) {keepdims = 0 : i64} : ()" +
         y + R"(, tensor<1xi64>) -> tensor<2xf32> loc("db")
  return %l, %g, %h : tensor<f32>, tensor<3x2xf32>, tensor<2xf32>
})";
}

/// loss = sum(x W); W and its state M take new values beside it.
const char *const updateText = R"(
func.func @main(%x: tensor<4x3xf32> {apc.name = "x"}) -> (tensor<f32> {apc.name = "loss"},
    tensor<3x2xf32> {apc.name = "new.W"}, tensor<3x2xf32> {apc.name = "new.M"}) {
  %n = apc.none
  %w = apc.parameter "W" "initializer" : tensor<3x2xf32>
  %m = apc.parameter "M" "initializer" : tensor<3x2xf32>
  %ones = apc.constant dense<1.0> : tensor<4x2xf32>
  %rate = apc.constant dense<0.5> : tensor<f32>
  %y = "apc.matmul"(%x, %w) : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> loc("y")
  %l = "apc.reduce_sum"(%y, %n) {keepdims = 0 : i64} : (tensor<4x2xf32>, none) -> tensor<f32> loc("sum")
  %t = "apc.transpose"(%x) {perm = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32> loc("turn")
  %g = "apc.matmul"(%t, %ones) : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> loc("dw")
  %v = "apc.add"(%m, %g) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("moving")
  %s = "apc.mul"(%v, %rate) : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32> loc("step")
  %u = "apc.sub"(%w, %s) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32> loc("moved")
  return %l, %u, %v : tensor<f32>, tensor<3x2xf32>, tensor<3x2xf32>
})";

/// The backward pass that `text` holds, as findHeldBackward describes it; "" for nothing.
std::string describe(const std::string &text, llvm::StringRef loss = "") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  auto held = findHeldBackward(mainOf(*module), loss);
  return held ? describeHeld(mainOf(*module), *held) : "";
}

TrainingOptions sgd(bool derives, int64_t microBatches = 1) {
  TrainingOptions options;
  options.optimizer.kind = OptimizerKind::Sgd;
  options.derivesBackward = derives;
  options.microBatches = microBatches;
  return options;
}

/// W and B after a step on 4 rows in so many micro-batches, from waves.
std::map<std::string, Tensor> afterStep(const TrainingOptions &options) {
  BuiltStep step(heldText("grad.W", "grad.B", 4 / options.microBatches), options);
  mlir::Builder builder(step.main().getContext());
  double next = 0;
  auto draw = [&](std::vector<int64_t> dims) {
    Tensor tensor = zeros(mlir::RankedTensorType::get(dims, builder.getF32Type()));
    for (double &value : tensor.floats)
      value = std::sin(next += 1);
    roundToElement(tensor);
    return tensor;
  };
  std::map<std::string, Tensor> held{{"W", draw({3, 2})}, {"B", draw({2})}};
  std::vector<Tensor> inputs;
  for (int64_t batch = 0; batch < options.microBatches; ++batch)
    inputs.insert(inputs.end(), {draw({4 / options.microBatches, 3}), Tensor{{}, builder.getI64Type(), {1}, {}},
                                 Tensor{{}, builder.getF32Type(), {}, {0.5}}});
  step.advance(inputs, held);
  return held;
}

void checkAlike(const std::map<std::string, Tensor> &found, const std::map<std::string, Tensor> &expected) {
  for (const char *name : {"W", "B"})
    for (auto [own, other] : llvm::zip_equal(found.at(name).floats, expected.at(name).floats))
      CHECK(own == Approx(other).epsilon(1e-5));
}

} // namespace

TEST_CASE("Outputs are gradients by their names, or by their order") {
  const std::string named = "outputs are gradients of 2 parameters, by their names, as '";
  for (auto [weight, bias] :
       {std::pair("grad.W", "grad.B"), {"W_grad", "B_grad"}, {"dW", "dB"}, {"gradients/W", "B@GRAD"}})
    CHECK(describe(heldText(weight, bias)) == named + weight + "' of 'W'");
  CHECK(describe(heldText("out_1", "out_2")) ==
        "outputs are gradients of 2 parameters, by their order, as 'out_1' of 'W'");
  CHECK(describe(heldText("grad.W", "sizes")) ==
        "outputs are gradients of 1 parameter, by their names, as 'grad.W' of 'W'");
  CHECK(describe(heldText("grad.W2", "grad.B2"), "loss") ==
        "outputs are gradients of 2 parameters, by their order, as 'grad.W2' of 'W'");
  CHECK(describe(updateText) == "outputs are new values of 2 parameters, by their names, as 'new.W' of 'W'");
}

TEST_CASE("Outputs that the loss is made of are no gradients, and a loss of an output has none") {
  CHECK(describe(heldText("grad.W", "grad.B"), "mse:loss").empty());
  CHECK(describe(heldText("grad.W", "grad.B"), "other").empty());
  // The activation has the dims and the name of a gradient, but the loss is made of it.
  CHECK(describe(R"(
func.func @main(%x: tensor<3x3xf32> {apc.name = "x"}) -> (tensor<f32> {apc.name = "loss"}, tensor<3x3xf32> {apc.name = "grad.W"}) {
  %n = apc.none
  %w = apc.parameter "W" "initializer" : tensor<3x3xf32>
  %y = "apc.matmul"(%x, %w) : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32> loc("y")
  %l = "apc.reduce_sum"(%y, %n) {keepdims = 0 : i64} : (tensor<3x3xf32>, none) -> tensor<f32> loc("sum")
  return %l, %y : tensor<f32>, tensor<3x3xf32>
})")
            .empty());
}

TEST_CASE("A step by gradients that the model holds is the step by derived ones") {
  checkAlike(afterStep(sgd(false)), afterStep(sgd(true)));
  TrainingOptions clipped = sgd(false), derived = sgd(true);
  clipped.clipNorm = derived.clipNorm = 0.125;
  checkAlike(afterStep(clipped), afterStep(derived));
  // In micro-batches, gradients are those of shares of the loss.
  checkAlike(afterStep(sgd(false, 2)), afterStep(sgd(true)));
  checkAlike(afterStep(sgd(false, 4)), afterStep(sgd(true)));
}

TEST_CASE("Nothing is derived where the model holds its backward pass") {
  BuiltStep step(heldText("grad.W", "grad.B"), sgd(false));
  CHECK(step.results() == Lines{"loss", "W.updated for W, tied to W", "B.updated for B, tied to B"});
  CHECK(step.tiedTo("product").empty());
  CHECK(step.trained() == Lines{"W", "B"});
  CHECK(!BuiltStep(heldText("grad.W", "grad.B"), sgd(true)).tiedTo("product").empty());
  TrainingOptions options = sgd(false);
  options.freeze = "B";
  CHECK(BuiltStep(heldText("grad.W", "grad.B"), options).results() == Lines{"loss", "W.updated for W, tied to W"});
  CHECK(BuiltStep(heldText("grad.W", "sizes"), sgd(false)).untrained() == Lines{"B the model holds no gradient of it"});
}

TEST_CASE("New values that a model gives itself take the place of parameters") {
  BuiltStep step(updateText, sgd(false));
  CHECK(step.argumentNames() == Lines{"x"});
  CHECK(step.results() == Lines{"loss", "W.updated for W, tied to W", "M.updated for M, tied to M"});
  CHECK(step.trained() == Lines{"W"});
  CHECK(step.untrained() == Lines{"M is a state of the model's own optimizer"});
}

TEST_CASE("Gradients in fewer bits are widened where that is asked for, and weights are lowered with them") {
  TrainingOptions options = sgd(false);
  options.precision = Precision::Bf16;
  BuiltStep low(heldText("grad.W", "grad.B"), options);
  CHECK(low.results() == Lines{"loss", "W.updated for W, tied to W", "W.master.updated for W.master, tied to W.master",
                               "B.updated for B, tied to B", "B.master.updated for B.master, tied to B.master"});
  options.widensGradients = true;
  CHECK(BuiltStep(heldText("grad.W", "grad.B"), options).results() == low.results());
}

TEST_CASE("All settings that a held backward pass does not allow are refused at once") {
  const std::string text = heldText("grad.W", "grad.B");
  TrainingOptions options = sgd(false);
  options.recompute = RecomputePolicy::Full;
  options.precision = Precision::Fp16;
  CHECK_THAT(
      refusalOf(text, options),
      Contains("the model holds its own backward pass, which is planned as it is and does not allow --recompute, "
               "--precision fp16, which scales the loss; --backward derived derives another one"));
  options = sgd(false, 2);
  options.clipNorm = 1;
  CHECK_THAT(refusalOf(updateText, options),
             Contains("its own backward pass and optimizer") && Contains("does not allow micro-batches, --clip-norm;"));
  options = sgd(false);
  options.freeze = ".*";
  CHECK_THAT(refusalOf(text, options), Contains("nothing to train"));
}
