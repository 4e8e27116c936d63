// Training steps built from small modules: the results of main, ties, states, sums, and the parameters that are
// trained.
#include "TrainingPrograms.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Program/PlanNames.h"

#include <catch2/catch.hpp>

using namespace apc;

using Lines = std::vector<std::string>;

TEST_CASE("A step gives the loss, then new parameters with their states, each in the place of the old") {
  TrainingOptions options;
  options.loss = "sum:y";
  BuiltStep adam(linearText, options);
  CHECK(adam.argumentNames() == Lines{"x", "step", "learning_rate"});
  CHECK(adam.results() == Lines{"loss", "B.updated for B, tied to B", "B.first.updated for B.first, tied to B.first",
                                "B.second.updated for B.second, tied to B.first", "W.updated for W, tied to W",
                                "W.first.updated for W.first, tied to W.first",
                                "W.second.updated for W.second, tied to W.first"});
  CHECK(adam.states() == Lines{"B.first 3", "B.second 3", "W.first 4x3", "W.second 4x3"});
  options.optimizer.amsgrad = true;
  BuiltStep amsgrad(linearText, options);
  CHECK(amsgrad.states() ==
        Lines{"B.first 3", "B.greatest 3", "B.second 3", "W.first 4x3", "W.greatest 4x3", "W.second 4x3"});
  CHECK(amsgrad.results().back() == "W.greatest.updated for W.greatest, tied to W.first");
  options.optimizer.amsgrad = false;
  options.optimizer.kind = OptimizerKind::Momentum;
  options.returnsGradients = true;
  BuiltStep momentum(linearText, options);
  CHECK(momentum.states() == Lines{"B.momentum 3", "W.momentum 4x3"});
  CHECK(momentum.results().back() == "W.grad");
  options.optimizer.kind = OptimizerKind::Sgd;
  BuiltStep sgd(linearText, options);
  CHECK(sgd.states().empty());
  CHECK(sgd.results() == Lines{"loss", "B.updated for B, tied to B", "W.updated for W, tied to W", "B.grad", "W.grad"});
}

TEST_CASE("A step that draws numbers takes the number of the draw, and each number draws others") {
  TrainingOptions options;
  options.loss = "sum:y";
  options.optimizer.kind = OptimizerKind::Sgd;
  BuiltStep step(R"(func.func @main(%x: tensor<4x8xf64> {apc.name = "x"}) -> (tensor<4x8xf64> {apc.name = "y"}) {
    %w = apc.parameter "w" "initializer" : tensor<8x8xf64>
    %ratio = apc.constant dense<0.5> : tensor<f32>
    %on = apc.constant dense<true> : tensor<i1>
    %none = apc.none
    %p = "apc.matmul"(%x, %w) : (tensor<4x8xf64>, tensor<8x8xf64>) -> tensor<4x8xf64> loc("p")
    %y:2 = "apc.dropout"(%p, %ratio, %on, %none) {opset_version = 13 : i64} :
        (tensor<4x8xf64>, tensor<f32>, tensor<i1>, none) -> (tensor<4x8xf64>, none) loc("y")
    return %y#0 : tensor<4x8xf64>
  })",
                 options);
  CHECK(step.argumentNames() == Lines{"x", "draw", "step", "learning_rate"});
  mlir::Builder builder(step.main().getContext());
  Tensor x{{4, 8}, builder.getF64Type(), {}, std::vector<double>(32, 1.0)};
  Tensor w{{8, 8}, builder.getF64Type(), {}, std::vector<double>(64, 0.0)};
  auto updated = [&](int64_t draw) {
    std::map<std::string, Tensor> held{{"w", w}};
    step.advance({x,
                  {{}, builder.getI64Type(), {draw}, {}},
                  {{}, builder.getI64Type(), {1}, {}},
                  {{}, builder.getF32Type(), {}, {1.0}}},
                 held);
    return held.at("w").floats;
  };
  CHECK(updated(1) == updated(1));
  CHECK(updated(1) != updated(2));
}

TEST_CASE("Values of a step have names of their own, gradients of a value and of an op that is called like it too") {
  TrainingOptions options;
  options.loss = "mse:y"; // y.squares.grad is the gradient of a value, and the op "y.squares" has one as well
  BuiltStep step(linearText, options);
  PlanNames names = namePlan(step.main());
  std::map<std::string, unsigned> counts;
  for (const auto &[value, name] : names.values)
    ++counts[name];
  CHECK(counts["y.squares.grad"] == 1);
  CHECK(counts.size() == names.values.size());
}

TEST_CASE("Gradients are tied to the op that they reverse, by its factors") {
  TrainingOptions options;
  options.loss = "sum:y";
  options.optimizer.kind = OptimizerKind::Sgd;
  BuiltStep step(linearText, options);
  CHECK(step.tiedTo("add") == Lines{"reduce_sum: b0 b1 -"});
  CHECK(step.tiedTo("product") == Lines{"einsum: m n k"});
  CHECK(step.tiedTo("W.update") == Lines{"sgd_update: b0 b1"});
}

TEST_CASE("An update stands behind the gradient and behind every reader of its parameter, and writes in place") {
  TrainingOptions options;
  options.loss = "sum:y";
  BuiltStep step(linearText, options);
  for (AdamUpdateOp update : step.main().getOps<AdamUpdateOp>()) {
    mlir::Value parameter = update.getParameter();
    for (mlir::Operation *reader : parameter.getUsers())
      CHECK((reader == update || reader->isBeforeInBlock(update)));
    mlir::Operation *gradient = update.getGradient().getDefiningOp();
    REQUIRE(gradient);
    auto role = gradient->getAttrOfType<mlir::StringAttr>(roleAttribute);
    CHECK((role && role.getValue() == "gradient"));
    // The parameter is overwritten, then its states, and the results take their places in `main`.
    Lines written;
    for (unsigned operand : llvm::cast<OperatorInterface>(update.getOperation()).getOverwritten())
      if (auto source = update->getOperand(operand).getDefiningOp<ParameterOp>())
        written.push_back(source.getName().str());
    std::string name = parameter.getDefiningOp<ParameterOp>().getName().str();
    CHECK(written == Lines{name, name + ".first", name + ".second"});
  }
}

TEST_CASE("A value that is used twice has one sum of what arrives, where it is made") {
  TrainingOptions options;
  options.loss = "sum:y";
  BuiltStep step(R"(func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<4x4xf32>
  %a = "apc.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("a")
  %b = "apc.exp"(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("b")
  %y = "apc.mul"(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("y")
  return %y : tensor<2x4xf32>
})",
                 options);
  auto sums = llvm::to_vector(step.main().getOps<SumOp>());
  REQUIRE(sums.size() == 1);
  CHECK(sums.front()->getNumOperands() == 2);
  CHECK(sums.front()->getAttrOfType<mlir::StringAttr>(tieAttribute).getValue() == "a");
  CHECK(nameOfResult(sums.front()) == "a.grad");
}

TEST_CASE("A parameter that two ops read is updated once, by the sum of both gradients") {
  TrainingOptions options;
  options.loss = "sum:y";
  BuiltStep step(R"(func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<4x4xf32>
  %a = "apc.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("a")
  %y = "apc.matmul"(%a, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("y")
  return %y : tensor<2x4xf32>
})",
                 options);
  auto updates = llvm::to_vector(step.main().getOps<AdamUpdateOp>());
  REQUIRE(updates.size() == 1);
  auto sum = updates.front().getGradient().getDefiningOp<SumOp>();
  REQUIRE(sum);
  CHECK(sum->getNumOperands() == 2);
  CHECK(nameOfResult(sum) == "W.grad");
  CHECK(sum->getAttrOfType<mlir::StringAttr>(tieAttribute).getValue() == "W.first");
}

TEST_CASE("Tied parameters are one, with one state") {
  TrainingOptions options;
  options.loss = "sum:y";
  options.ties = {{"table", "head", true}};
  BuiltStep transposed(headText("5x4", "4x5", "2x5"), options);
  CHECK(transposed.states() == Lines{"table.first 5x4", "table.second 5x4"});
  CHECK(transposed.trained() == Lines{"table"});
  CHECK(transposed.untrained() == Lines{"head is 'table', stored twice"});
  auto transposes = llvm::to_vector(transposed.main().getOps<TransposeOp>());
  REQUIRE_FALSE(transposes.empty());
  CHECK(transposes.front().getData().getDefiningOp<ParameterOp>().getName() == "table");
  options.ties = {{"head", "table", false}};
  BuiltStep alike(headText("4x4", "4x4", "2x4"), options);
  CHECK(alike.states() == Lines{"head.first 4x4", "head.second 4x4"});
  CHECK(alike.main().getOps<TransposeOp>().empty());
}

TEST_CASE("Gradients are clipped by the norm of all of them, ahead of every update") {
  TrainingOptions options;
  options.loss = "sum:y";
  options.clipNorm = 0.5;
  BuiltStep step(linearText, options);
  mlir::Operation *scale = nullptr;
  for (AdamUpdateOp update : step.main().getOps<AdamUpdateOp>()) {
    REQUIRE_FALSE(isAbsent(update.getScale()));
    CHECK((!scale || scale == update.getScale().getDefiningOp()));
    scale = update.getScale().getDefiningOp();
    CHECK(scale->isBeforeInBlock(update));
  }
  // x is ones: dB = 2, 2, 2, dW = 2 in 12 places.
  std::vector<double> expected(3, -0.1 * 0.5 * 2 / std::sqrt(15 * 4));
  options.optimizer.kind = OptimizerKind::Sgd;
  std::vector<double> found = BuiltStep(linearText, options).runOnce(0.1)[1].floats;
  REQUIRE(found.size() == 3);
  for (size_t i = 0; i < 3; ++i)
    CHECK(found[i] == Approx(expected[i]).epsilon(1e-5));
}
