// Ops that are not well formed have no gradient, and a reason.
#include "GradientPrograms.h"

#include "apc/IR/Differentiate.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

template <typename Op>
Op firstOf(const GradientProgram &program) {
  auto ops = program.main().getOps<Op>();
  REQUIRE(!ops.empty());
  return *ops.begin();
}

} // namespace

TEST_CASE("An attention of more samples than it takes is refused with the most that it takes") {
  GradientProgram program(OpCase{"apc.softmax_attention", {"2x3x4xf64", "2x5x4xf64", "2x5x3xf64", "none"}});
  mlir::Operation *attention = firstOf<SoftmaxAttentionOp>(program);
  for (mlir::Value value : {attention->getOperand(0), attention->getOperand(1), attention->getOperand(2),
                            mlir::Value(attention->getResult(0))}) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    llvm::SmallVector<int64_t, 3> dims(type.getShape());
    dims[0] = (int64_t(1) << 30) + 1;
    value.setType(type.clone(dims));
  }
  mlir::OpBuilder builder(program.main().front().getTerminator());
  GradientBuilder gradient(builder, attention, {attention->getResult(0)}, {true, true, true, false});
  CHECK_FALSE(differentiate(gradient));
  CHECK_THAT(gradient.getRefusal().str(), Catch::Contains("[1073741825, 3, 4]; dims of at most 1073741824 are needed"));
}

TEST_CASE("An op of a gradient whose type does not follow is a reason against the gradient") {
  GradientProgram program(OpCase{"apc.neg", {"2x3xf64"}});
  mlir::Operation *neg = firstOf<NegOp>(program);
  mlir::OpBuilder builder(program.main().front().getTerminator());
  GradientBuilder gradient(builder, neg, {neg->getResult(0)}, {true});
  CHECK(gradient.getRefusal().empty());
  mlir::Value made = gradient.make<TransposeOp>(neg->getResult(0), gradient.attribute("perm", {2, 0, 1}));
  CHECK(made.getType() == neg->getResult(0).getType());
  CHECK_THAT(gradient.getRefusal().str(), Catch::Contains("perm [2, 0, 1] is no permutation of 2 dims"));
}
