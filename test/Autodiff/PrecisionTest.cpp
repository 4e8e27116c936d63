// Element types of training steps in low precision, and the numbers that follow.
#include "TrainingPrograms.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

TrainingOptions optionsOf(Precision precision, OptimizerKind kind = OptimizerKind::Adam) {
  TrainingOptions options;
  options.loss = "sum:y";
  options.precision = precision;
  options.optimizer.kind = kind;
  return options;
}

std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << mlir::getElementTypeOrSelf(type);
  return text;
}

/// "W bf16 from f32, W.master f32, ...", by name.
std::map<std::string, std::string> parameterTypes(const BuiltStep &step) {
  std::map<std::string, std::string> types;
  for (ParameterOp parameter : step.main().getOps<ParameterOp>()) {
    std::string &text = types[parameter.getName().str()] = textOf(parameter.getOutput().getType());
    if (auto stored = parameter->getAttrOfType<mlir::TypeAttr>(storedAttribute))
      text += " from " + textOf(stored.getValue());
  }
  return types;
}

/// The element types of the results of all ops of one kind, in order.
template <typename Op>
std::vector<std::string> typesOf(const BuiltStep &step) {
  std::vector<std::string> types;
  for (Op op : step.main().getOps<Op>())
    types.push_back(textOf(op->getResult(0).getType()));
  return types;
}

using Lines = std::vector<std::string>;

/// Steps of `productText` that carry parameters and states on.
class ProductRun {
public:
  ProductRun(const TrainingOptions &options, std::vector<double> begin) : step(productText("2xf32"), options) {
    mlir::Builder builder(step.main().getContext());
    held["W.master"] = vectorOf(begin, builder.getF32Type());
    held["W"] = vectorOf(begin, mlir::getElementTypeOrSelf(parameter("W").getOutput()));
    roundToElement(held["W"]);
  }

  void advance(std::vector<double> gradient, double rate) {
    mlir::Builder builder(step.main().getContext());
    Tensor count{{}, builder.getI64Type(), {++steps}, {}};
    Tensor learningRate{{}, builder.getF32Type(), {}, {rate}};
    step.advance({vectorOf(std::move(gradient), builder.getF32Type()), count, learningRate}, held);
  }
  void hold(const std::string &name, double value) {
    held[name] = zeros(parameter(name).getOutput().getType());
    held[name].floats = {value};
  }
  double number(const std::string &name) const {
    const Tensor &tensor = held.at(name);
    return tensor.isFloat() ? tensor.floats[0] : static_cast<double>(tensor.ints[0]);
  }

private:
  ParameterOp parameter(const std::string &name) {
    for (ParameterOp each : step.main().getOps<ParameterOp>())
      if (each.getName() == name)
        return each;
    FAIL("there is no parameter " << name);
    return {};
  }

  BuiltStep step;
  std::map<std::string, Tensor> held;
  int64_t steps = 0;
};

} // namespace

TEST_CASE("Weights, activations and gradients are in low precision; masters, states and the loss in f32") {
  auto [precision, low] =
      GENERATE(table<Precision, std::string>({{Precision::Bf16, "bf16"}, {Precision::Fp16, "f16"}}));
  BuiltStep step(linearText, optionsOf(precision));
  auto types = parameterTypes(step);
  for (const char *name : {"W", "B"}) {
    CHECK(types[name] == low + " from f32");
    for (const char *state : {".master", ".first", ".second"})
      CHECK(types[name + std::string(state)] == "f32");
  }
  CHECK(typesOf<AddOp>(step).front() == low);
  for (AdamUpdateOp update : step.main().getOps<AdamUpdateOp>())
    CHECK(textOf(update.getGradient().getType()) == low);
  CHECK(textOf(step.main().getResultTypes().front()) == "f32");
  // The input stays as it is given.
  CHECK(textOf(step.main().getArgumentTypes().front()) == "f32");
}

TEST_CASE("A model in f16 is trained in f32 when asked, without masters") {
  std::string text = linearText;
  for (size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32", at))
    text.replace(at, 3, "f16");
  BuiltStep step(text, optionsOf(Precision::Fp32));
  auto types = parameterTypes(step);
  CHECK(types.size() == 6);
  CHECK(types["W"] == "f32 from f16");
  CHECK(typesOf<AddOp>(step).front() == "f32");
  BuiltStep own(text, optionsOf(Precision::Model));
  CHECK(parameterTypes(own)["W"] == "f16");
  CHECK(parameterTypes(own)["W.master"] == "f32");
}

TEST_CASE(
    "Values that no weight reaches stay in f32 and are cast where they meet weights; finite constants stay finite") {
  BuiltStep step(R"(func.func @main(%p: tensor<2x4xi64> {apc.name = "p"}, %m: tensor<2x4xi1> {apc.name = "m"})
    -> (tensor<2x4xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<4xf32>
  %v = apc.parameter "V" "initializer" : tensor<4x4xf32>
  %low = apc.constant dense<-3.40282347E+38> : tensor<f32>
  %f = "apc.cast"(%p) {to = 1 : i64} : (tensor<2x4xi64>) -> tensor<2x4xf32> loc("positions")
  %c = "apc.cos"(%f) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("angles")
  %a = "apc.mul"(%c, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("a")
  %s = "apc.where"(%m, %a, %low) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> loc("s")
  %y = "apc.matmul"(%s, %v) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("y")
  return %y : tensor<2x4xf32>
})",
                 optionsOf(Precision::Bf16));
  CHECK(typesOf<CosOp>(step).front() == "f32"); // bf16 counts no further than 256
  CHECK(typesOf<MulOp>(step).front() == "bf16");
  auto where = *step.main().getOps<WhereOp>().begin();
  auto constant = where.getY().getDefiningOp<ConstantOp>();
  REQUIRE(constant);
  double value = Tensor::read(llvm::cast<mlir::DenseElementsAttr>(constant.getValue())).floats[0];
  CHECK(textOf(where.getY().getType()) == "bf16");
  CHECK(value == -std::ldexp(255, 120)); // the largest finite number of bf16
}

TEST_CASE("Ops behind the last weight are in f32, and gradients return to low precision before it") {
  BuiltStep step(R"(func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<4x4xf32>
  %a = "apc.exp"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("a")
  %b = "apc.matmul"(%a, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("b")
  %c = "apc.tanh"(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("c")
  %d = "apc.matmul"(%c, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("d")
  %y = "apc.log_softmax"(%d) {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("y")
  return %y : tensor<2x4xf32>
})",
                 optionsOf(Precision::Bf16));
  CHECK(typesOf<ExpOp>(step).front() == "f32");
  CHECK(typesOf<TanhOp>(step).front() == "bf16");
  CHECK(typesOf<LogSoftmaxOp>(step).front() == "f32");
  CHECK(typesOf<LogSoftmaxGradOp>(step) == Lines{"f32"});
  CHECK(typesOf<ReduceSumOp>(step).front() == "f32");
}

TEST_CASE("Statistics of normalisations are taken in f32") {
  const char *const text =
      R"(func.func @main(%x: tensor<2x3x4xf32> {apc.name = "x"}) -> (tensor<2x3x4xf32> {apc.name = "y"}) {
  %v = apc.parameter "V" "initializer" : tensor<4x4xf32>
  %s = apc.parameter "S" "initializer" : tensor<3xf32>
  %b = apc.parameter "B" "initializer" : tensor<3xf32>
  %m = apc.parameter "mean" "initializer" : tensor<3xf32>
  %q = apc.parameter "variance" "initializer" : tensor<3xf32>
  %p = "apc.matmul"(%x, %v) : (tensor<2x3x4xf32>, tensor<4x4xf32>) -> tensor<2x3x4xf32> loc("p")
  %y = "apc.batch_normalization"(%p, %s, %b, %m, %q) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>) loc("y")
  return %y : tensor<2x3x4xf32>
})";
  std::string whole = text;
  whole.replace(whole.find("-> (tensor<2x3x4xf32>) loc"), 23, "-> (tensor<2x3x4xf32>, none, none, none, none) ");
  whole.replace(whole.find("%y = \"apc.batch"), 2, "%y, %n1, %n2, %n3, %n4");
  TrainingOptions options = optionsOf(Precision::Bf16);
  BuiltStep step(whole, options);
  CHECK(typesOf<ReduceMeanOp>(step) == Lines{"f32", "f32"});
  CHECK(typesOf<BatchNormalizeOp>(step) == Lines{"bf16"});
  options.freezesBatchNorm = true;
  BuiltStep frozen(whole, options);
  CHECK(parameterTypes(frozen)["mean"] == "f32");
  CHECK(typesOf<BatchNormalizationOp>(frozen) == Lines{"bf16"});
}

TEST_CASE("Steps smaller than bf16 can tell apart add up in the master") {
  ProductRun run(optionsOf(Precision::Bf16, OptimizerKind::Sgd), {1, 1});
  for (int step = 1; step <= 4; ++step) {
    run.advance({1, 1}, 0x1p-10);
    CHECK(run.number("W.master") == 1 - step * 0x1p-10);
  }
  CHECK(run.number("W") == 1 - 0x1p-8); // rounded from the master; 2^-10 alone is lost below 1
}

TEST_CASE("A step that is not finite changes nothing, halves the scale and is not counted") {
  ProductRun run(optionsOf(Precision::Fp16), {1, 1});
  run.advance({1, 1}, 0.125); // 65536 is infinite in f16
  CHECK(run.number("W") == 1);
  CHECK(run.number("W.first") == 0);
  CHECK(run.number("loss_scale.exponent") == -1);
  CHECK(run.number("loss_scale.skipped_steps") == 1);
  run.advance({1, 1}, 0.125); // 32768 fits: the first step of Adam goes as far as the rate
  CHECK(run.number("W.master") == Approx(0.875).epsilon(1e-6));
  CHECK(run.number("W.first") == Approx(0.1).epsilon(1e-6));
  CHECK(run.number("loss_scale.good_steps") == 1);
  run.advance({INFINITY, 1}, 0.125);
  run.advance({NAN, 1}, 0.125);
  CHECK(run.number("W.master") == Approx(0.875).epsilon(1e-6));
  CHECK(run.number("loss_scale.exponent") == -3);
  CHECK(run.number("loss_scale.good_steps") == 0);
  CHECK(run.number("loss_scale.skipped_steps") == 3);
}

TEST_CASE("The scale doubles after 2000 good steps in a row") {
  ProductRun run(optionsOf(Precision::Fp16, OptimizerKind::Sgd), {1, 1});
  run.hold("loss_scale.good_steps", 1998);
  run.hold("loss_scale.exponent", -2); // 16384; f16 ends at 65504
  run.advance({0x1p-4, 0}, 1);
  CHECK(run.number("loss_scale.exponent") == -2);
  run.advance({0x1p-4, 0}, 1);
  CHECK(run.number("loss_scale.exponent") == -1);
  CHECK(run.number("loss_scale.good_steps") == 0);
  CHECK(run.number("W.master") == 1 - 0x1p-3);
}

TEST_CASE("A scale that the user gives stays, keeps small gradients, and is gone before they are clipped") {
  TrainingOptions options = optionsOf(Precision::Fp16, OptimizerKind::Sgd);
  options.lossScaling.fixed = 1024;
  ProductRun small(options, {0, 0});
  small.advance({0x1p-30, 0}, 1); // f16 ends at 2^-24, but x itself is an f16 here: it is 0 before it is scaled
  CHECK(small.number("W.master") == 0);
  small.advance({0x1p-14, 0}, 1);
  CHECK(small.number("W.master") == -0x1p-14);
  small.advance({INFINITY, 0}, 1);
  CHECK(small.number("W.master") == -0x1p-14);
  options.clipNorm = 1;
  ProductRun clipped(options, {0, 0});
  clipped.advance({3, 4}, 1);
  CHECK(clipped.number("W.master") == Approx(-0.59999988).epsilon(1e-6));
}

TEST_CASE("Gradients in low precision are those in f32 but for rounding") {
  auto [precision, rounding] =
      GENERATE(table<Precision, double>({{Precision::Bf16, 0x1p-5}, {Precision::Fp16, 0x1p-8}}));
  const char *const text =
      R"(func.func @main(%x: tensor<3x4xf32> {apc.name = "x"}) -> (tensor<3x5xf32> {apc.name = "y"}) {
  %v = apc.parameter "V" "initializer" : tensor<4x4xf32>
  %s = apc.parameter "S" "initializer" : tensor<4xf32>
  %w = apc.parameter "W" "initializer" : tensor<4x5xf32>
  %half = apc.constant dense<5.000000e-01> : tensor<f32>
  %none = apc.none
  %a = "apc.matmul"(%x, %v) : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32> loc("a")
  %n, %m, %i = "apc.layer_normalization"(%a, %s, %none)
      : (tensor<3x4xf32>, tensor<4xf32>, none) -> (tensor<3x4xf32>, none, none) loc("n")
  %g = "apc.gelu"(%n) : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("g")
  %h = "apc.mul"(%g, %half) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32> loc("h")
  %y = "apc.matmul"(%h, %w) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32> loc("y")
  return %y : tensor<3x5xf32>
})";
  TrainingOptions options = optionsOf(Precision::Fp32, OptimizerKind::Sgd);
  options.loss = "cross-entropy:y";
  options.returnsGradients = true;
  options.lossScaling.fixed = 256;
  BuiltStep exact(text, options);
  options.precision = precision;
  BuiltStep step(text, options);
  std::vector<Tensor> expected = exact.runOnWaves(), found = step.runOnWaves();
  auto indexOf = [](const BuiltStep &of, const std::string &name) {
    Lines results = of.results();
    return static_cast<size_t>(llvm::find(results, name) - results.begin());
  };
  double scale = precision == Precision::Fp16 ? 256 : 1;
  CHECK(found[0].floats[0] == Approx(expected[0].floats[0]).epsilon(rounding));
  for (const char *name : {"V.grad", "S.grad", "W.grad"}) {
    const Tensor &own = found.at(indexOf(step, name)), &wanted = expected.at(indexOf(exact, name));
    double largest = 0;
    for (double value : wanted.floats)
      largest = std::max(largest, std::abs(value));
    CHECK(largest > 0.01);
    REQUIRE(own.floats.size() == wanted.floats.size());
    for (auto [a, b] : llvm::zip_equal(own.floats, wanted.floats))
      CHECK(a / scale == Approx(b).epsilon(0).margin(rounding * largest));
  }
}

TEST_CASE("Precisions are found by their names") {
  for (llvm::StringRef name : precisionNames())
    CHECK(precisionName(*parsePrecision(name)) == name);
  CHECK_FALSE(parsePrecision("tf32"));
}

TEST_CASE("Readers of statistics in f32 stay in low precision") {
  BuiltStep step(R"(
func.func @main(%x: tensor<4x8xf32> {apc.name = "x"}) -> (tensor<4x6xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<8x8xf32>
  %g = apc.parameter "G" "initializer" : tensor<8xf32>
  %v = apc.parameter "V" "initializer" : tensor<8x6xf32>
  %none = apc.none
  %h = "apc.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("h")
  %s = "apc.layer_statistics"(%h, %none, %none) : (tensor<4x8xf32>, none, none) -> tensor<4x2xf32> loc("s")
  %n, %sum = "apc.layer_normalize"(%h, %s, %g, %none, %none, %none) : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<8xf32>, none, none, none) -> (tensor<4x8xf32>, none) loc("n")
  %y = "apc.matmul"(%n, %v) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("y")
  return %y : tensor<4x6xf32>
})",
                 optionsOf(Precision::Bf16));
  CHECK(typesOf<LayerStatisticsOp>(step) == Lines{"f32"});
  CHECK(typesOf<LayerNormalizeOp>(step) == Lines{"bf16"});
  CHECK(typesOf<MatMulOp>(step) == Lines{"bf16", "bf16"});
}

TEST_CASE("A weight is cast where it is first read, not at the head of the step") {
  // Behind a cast of the model to f32, shift and scale are read in f32.
  BuiltStep step(R"(
func.func @main(%x: tensor<4x8xf32> {apc.name = "x"}) -> (tensor<4x8xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<8x8xf16>
  %g = apc.parameter "G" "initializer" : tensor<8xf32>
  %a = "apc.cast"(%x) {to = 10 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf16> loc("a")
  %h = "apc.matmul"(%a, %w) : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16> loc("h")
  %c = "apc.cast"(%h) {to = 1 : i64} : (tensor<4x8xf16>) -> tensor<4x8xf32> loc("c")
  %y = "apc.mul"(%c, %g) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> loc("y")
  %z = "apc.mul"(%y, %g) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> loc("z")
  return %z : tensor<4x8xf32>
})",
                 optionsOf(Precision::Bf16));
  std::vector<std::string> names;
  for (mlir::Operation &op : step.main().front())
    if (auto location = llvm::dyn_cast<mlir::NameLoc>(op.getLoc()))
      names.push_back(location.getName().str());
  auto place = [&](const char *name) { return llvm::find(names, name) - names.begin(); };
  REQUIRE(llvm::is_contained(names, "G.fp32"));
  CHECK(place("h") < place("G.fp32"));
  CHECK(place("G.fp32") < place("y"));
}
