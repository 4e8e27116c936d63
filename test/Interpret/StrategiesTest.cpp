// Every op of the samples is proven on pieces, and has the same result on them as whole, under every legal strategy on
// small meshes.
#include "../ValueOf.h"
#include "StrategySamples.h"

#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

using namespace apc;

namespace {

/// Floats in [-1, 1), without their signs where `isPositive`; integers in [0, below).
Tensor draw(mlir::Type type, bool isPositive, uint64_t below, std::mt19937_64 &random) {
  Tensor tensor = zeros(type);
  for (double &value : tensor.floats) {
    value = static_cast<double>(random() % 2000) / 1000 - 1;
    value = isPositive ? std::fabs(value) : value;
  }
  for (int64_t &value : tensor.ints)
    value = static_cast<int64_t>(random() % below);
  roundToElement(tensor);
  return tensor;
}

/// An argument says how it is drawn in `test.positive` and `test.below`, which is 2 where it is not said.
std::vector<Tensor> drawInputs(mlir::func::FuncOp function) {
  std::mt19937_64 random(7);
  std::vector<Tensor> inputs;
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto below = function.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), "test.below");
    bool isPositive = !!function.getArgAttr(argument.getArgNumber(), "test.positive");
    inputs.push_back(draw(argument.getType(), isPositive, static_cast<uint64_t>(below ? below.getInt() : 2), random));
  }
  return inputs;
}

Parameters drawParameters(mlir::func::FuncOp function) {
  std::mt19937_64 random(11);
  Parameters parameters;
  for (ParameterOp parameter : function.getOps<ParameterOp>())
    parameters[parameter.getName().str()] =
        draw(parameter.getOutput().getType(), parameter->hasAttr("test.positive"), 2, random);
  return parameters;
}

/// Each function of a file is one sample.
void checkFile(llvm::StringRef name) {
  mlir::MLIRContext context;
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto file = mlir::parseSourceFile<mlir::ModuleOp>((APC_PIECES "/" + name).str(), &context);
  REQUIRE(file);
  size_t numStrategies = 0;
  for (auto function : file->getOps<mlir::func::FuncOp>()) {
    INFO(function.getName().str());
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(file->getLoc());
    auto main = llvm::cast<mlir::func::FuncOp>(function->clone());
    main.setName("main");
    module->push_back(main);
    mlir::FailureOr<OpGraph> graph = buildGraph(*module);
    REQUIRE(mlir::succeeded(graph));
    Sample sample{*module, *graph, 0, drawInputs(main), {}, drawParameters(main)};
    sample.expected = valueOf(run(*module, sample.inputs, sample));
    sample.op = main.getNumArguments() + sample.parameters.size();
    for (const char *mesh : {"[a=2]", "[a=2 | b=2]", "[a=3]", "[a=2 | b=3]"})
      numStrategies += checkStrategies(sample, mesh);
  }
  CHECK(numStrategies > 50);
}

} // namespace

TEST_CASE("Contractions compute the same on pieces") { checkFile("contraction.mlir"); }
TEST_CASE("Pools and groups compute the same on pieces") { checkFile("pooling.mlir"); }
TEST_CASE("Normalisations compute the same on pieces") { checkFile("normalization.mlir"); }
TEST_CASE("Attention computes the same on pieces") { checkFile("attention.mlir"); }
TEST_CASE("Convolutions, pools and resampling compute the same on pieces") { checkFile("convolution.mlir"); }
TEST_CASE("Reductions and losses compute the same on pieces") { checkFile("reduction.mlir"); }
TEST_CASE("Recurrent cells and their backward passes compute the same on pieces") { checkFile("recurrent.mlir"); }
TEST_CASE("Gradients compute the same on pieces") { checkFile("gradients.mlir"); }
TEST_CASE("Steps of optimizers compute the same on pieces") { checkFile("updates.mlir"); }
TEST_CASE("Slopes of activations compute the same on pieces") { checkFile("slopes.mlir"); }
TEST_CASE("Tables of features give the same on pieces") { checkFile("features.mlir"); }
TEST_CASE("Arithmetic on quantised tensors computes the same on pieces") { checkFile("quantized.mlir"); }
