// Ops that depend on the rank, written out in plain ops, compute what they evaluate to on that rank.
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// The value of an op whose operands are constants, or the results of such ops.
Tensor valueOf(mlir::Value value) {
  if (mlir::DenseElementsAttr constant = constantOf(value))
    return Tensor::read(constant);
  mlir::Operation *op = value.getDefiningOp();
  llvm::SmallVector<mlir::DenseElementsAttr> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(isAbsent(operand) ? mlir::DenseElementsAttr() : valueOf(operand).toAttribute());
  auto results = foldConstants(op, operands);
  REQUIRE(results);
  return Tensor::read(results->front());
}

struct RankProgram {
  explicit RankProgram(const std::string &body, const std::string &mesh = "[x0=2, x1=3]") {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "#mesh = #apc.mesh<" + mesh + ">\nmodule attributes {apc.mesh = #mesh} { func.func @main() { " + body +
            " return } }",
        &context);
    REQUIRE(module);
    this->mesh = meshOf(*module)->getValue();
  }

  /// The last op of the body that depends on the rank, as a value of `rank`.
  Tensor on(int64_t rank) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    mlir::Value last;
    copy->walk([&](mlir::Operation *op) {
      if (!isResolvedByRank(op))
        return;
      mlir::OpBuilder builder(op);
      auto values = resolveOnRank(builder, op, mesh, rank);
      REQUIRE(mlir::succeeded(values));
      REQUIRE(mlir::TypeRange(mlir::ValueRange(*values)) == op->getResultTypes());
      last = values->back();
    });
    REQUIRE(mlir::succeeded(mlir::verify(*copy)));
    return valueOf(last);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Mesh mesh;
};

} // namespace

TEST_CASE("a mask, a kept addend and an offset on each rank are what they evaluate to there") {
  const char *bodies[] = {
      R"(%0 = apc.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
         %1 = apc.mask_padding %0 dim 1 of 10 <#mesh, (x0 x1)> <min> : tensor<2x2xi32>)",
      R"(%0 = apc.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
         %1 = apc.mask_padding %0 dim 0 of 7 <#mesh, (x0 x1)> <max> : tensor<2x2xf32>)",
      R"(%0 = apc.constant dense<[true, false]> : tensor<2xi1>
         %1 = apc.mask_padding %0 dim 0 of 4 <#mesh, (x1)> <and> : tensor<2xi1>)",
      R"(%0 = apc.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
         %1 = apc.mask_padding %0 dim 0 of 12 <#mesh, (x1)> <sum> {parts = array<i64: 4, 7, 1>} : tensor<6xf32>)",
      R"(%0 = apc.constant dense<[1.0, 2.0]> : tensor<2xf16> %1 = apc.keep_on_first %0 <#mesh, (x1)> : tensor<2xf16>)",
      R"(%1 = apc.shard_offset <#mesh, (x1 x0)> of 10 : tensor<i64>)",
      R"(%1 = apc.shard_offset <#mesh, (x0 x1)> of 7 : tensor<2xi64>)",
  };
  for (const char *body : bodies) {
    INFO(body);
    RankProgram program(body);
    RankInterface op;
    program.module->walk([&](RankInterface found) { op = found; });
    for (int64_t rank = 0; rank < program.mesh.numDevices(); ++rank) {
      llvm::SmallVector<Tensor, 1> inputs;
      for (mlir::Value operand : op->getOperands())
        inputs.push_back(valueOf(operand));
      llvm::SmallVector<const Tensor *, 1> operands;
      for (const Tensor &input : inputs)
        operands.push_back(&input);
      auto expected = op.evaluateOnRank(operands, program.mesh, rank);
      REQUIRE(expected);
      CHECK(program.on(rank).toAttribute() == expected->front().toAttribute());
    }
  }
}

TEST_CASE("a mask leaves what a rank holds of each part") {
  // 4 over 3 is 2, 2 and nothing, 7 is 3, 3 and 1.
  RankProgram parts(R"(%0 = apc.constant dense<[10, 11, 12, 13, 14]> : tensor<5xi64>
    %1 = apc.mask_padding %0 dim 0 of 11 <#mesh, (x1)> <sum> {parts = array<i64: 4, 7>} : tensor<5xi64>)");
  std::vector<std::vector<int64_t>> found;
  for (int64_t rank = 0; rank < 3; ++rank)
    found.push_back(parts.on(rank).ints);
  CHECK(found == std::vector<std::vector<int64_t>>{{10, 11, 12, 13, 14}, {10, 11, 12, 13, 14}, {0, 0, 12, 0, 0}});
}

TEST_CASE("a slice on each rank is its part of the piece, with zeros where the tensor ends") {
  // 4 over 3 is 2 a piece: elements 0 and 1, 2 and 3, nothing.
  RankProgram even(R"(%0 = apc.constant dense<[10, 11, 12, 13]> : tensor<4xi64>
    %1 = apc.shard_slice %0 <#mesh, Slice{x1}, [-] -> [x1] of [4]> : (tensor<4xi64>) -> tensor<2xi64>)");
  std::vector<std::vector<int64_t>> found;
  for (int64_t rank = 0; rank < 3; ++rank)
    found.push_back(even.on(rank).ints);
  CHECK(found == std::vector<std::vector<int64_t>>{{10, 11}, {12, 13}, {0, 0}});

  // 10 over (2 3): a piece of 5 over 3 is 2, 2 and 1.
  RankProgram uneven(R"(%0 = apc.constant dense<[[10, 11, 12, 13, 14]]> : tensor<1x5xi64>
    %1 = apc.shard_slice %0 <#mesh, Slice{x1}, [-, x0] -> [-, (x0 x1)] of [1, 10]> : (tensor<1x5xi64>) -> tensor<1x2xi64>)");
  found.clear();
  for (int64_t rank = 0; rank < 6; ++rank)
    found.push_back(uneven.on(rank).ints);
  CHECK(found == std::vector<std::vector<int64_t>>{{10, 11}, {12, 13}, {14, 0}, {10, 11}, {12, 13}, {14, 0}});
}

TEST_CASE("neutral elements are those of their type") {
  mlir::MLIRContext context;
  auto integer = [&](unsigned width, bool isSigned = true) {
    return mlir::IntegerType::get(&context, width,
                                  isSigned ? mlir::IntegerType::Signless : mlir::IntegerType::Unsigned);
  };
  auto number = [&](Combiner combiner, mlir::Type type) {
    return llvm::cast<mlir::IntegerAttr>(neutralAttribute(combiner, type)).getValue();
  };
  CHECK(number(Combiner::Max, integer(8)) == llvm::APInt::getSignedMinValue(8));
  CHECK(number(Combiner::Min, integer(8, false)) == llvm::APInt::getMaxValue(8));
  CHECK(number(Combiner::Product, integer(64)) == 1);
  CHECK(number(Combiner::Or, integer(1)) == 0);
  auto logSum = llvm::cast<mlir::FloatAttr>(neutralAttribute(Combiner::LogSumExp, mlir::Float32Type::get(&context)));
  CHECK(logSum.getValue().isNegInfinity());
  auto real = llvm::cast<mlir::FloatAttr>(neutralAttribute(Combiner::Min, mlir::Float16Type::get(&context)));
  CHECK(real.getValue().isInfinity());
}
