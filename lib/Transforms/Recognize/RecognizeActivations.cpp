// GELU and SiLU out of their arithmetic.
#include "Match.h"
#include "Recognizers.h"

#include <cmath>
#include <numbers>

namespace apc {

namespace {

/// x^3 as Pow(x, 3) or as a product of three.
bool isCubeOf(mlir::Value value, mlir::Value x) {
  if (auto pow = value.getDefiningOp<PowOp>()) {
    std::optional<double> exponent = scalarOf(pow->getOperand(1));
    return exponent && *exponent == 3 && pow->getOperand(0) == x;
  }
  Product product = productOf(value);
  return product.scalar == 1 && product.leaves.size() == 3 && llvm::all_equal(product.leaves) && product.leaves[0] == x;
}

/// x + 0.044715 x^3, in either order.
bool isTanhArgument(mlir::Value value, mlir::Value x) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return false;
  for (auto [linear, cubic] : {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())}) {
    Product product = productOf(cubic);
    if (linear != x || !near(product.scalar, 0.044715))
      continue;
    if (product.leaves.size() == 1
            ? isCubeOf(product.leaves[0], x)
            : product.leaves.size() == 3 && llvm::all_equal(product.leaves) && product.leaves[0] == x)
      return true;
  }
  return false;
}

/// The `approximate` attribute of the GELU that `x * gate / 2` is, where gate = 1 + erf(...) or 1 + tanh(...).
std::optional<llvm::StringRef> geluKind(mlir::Value gate, mlir::Value x) {
  auto sum = plusScalar(gate);
  if (!sum || !near(sum->second, 1) || !gate.hasOneUse() || !sum->first.hasOneUse())
    return std::nullopt;
  if (auto erf = sum->first.getDefiningOp<ErfOp>()) {
    Product argument = productOf(erf->getOperand(0));
    if (argument.leaves.size() == 1 && argument.leaves[0] == x && near(argument.scalar, 1 / std::numbers::sqrt2))
      return "none";
  }
  if (auto tanh = sum->first.getDefiningOp<TanhOp>()) {
    Product argument = productOf(tanh->getOperand(0));
    if (argument.leaves.size() == 1 && near(argument.scalar, std::sqrt(2 * std::numbers::inv_pi)) &&
        isTanhArgument(argument.leaves[0], x))
      return "tanh";
  }
  return std::nullopt;
}

struct RecognizeGelu : mlir::OpRewritePattern<MulOp> {
  RecognizeGelu(mlir::MLIRContext *context, RecognizedComposites &counts) : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(MulOp root, mlir::PatternRewriter &rewriter) const override {
    Product product = productOf(root.getC());
    if (product.leaves.size() != 2 || !near(product.scalar, 0.5))
      return mlir::failure();
    for (auto [x, gate] :
         {std::pair(product.leaves[0], product.leaves[1]), std::pair(product.leaves[1], product.leaves[0])})
      if (std::optional<llvm::StringRef> kind = geluKind(gate, x)) {
        auto gelu = GeluOp::create(rewriter, root.getLoc(), root.getType(), x, rewriter.getStringAttr(*kind));
        replaceBy(root, gelu, rewriter);
        ++counts.gelu;
        return mlir::success();
      }
    return mlir::failure();
  }

  RecognizedComposites &counts;
};

struct RecognizeSwish : mlir::OpRewritePattern<MulOp> {
  RecognizeSwish(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(MulOp root, mlir::PatternRewriter &rewriter) const override {
    for (auto [x, gate] : {std::pair(root.getA(), root.getB()), std::pair(root.getB(), root.getA())}) {
      auto sigmoid = gate.getDefiningOp<SigmoidOp>();
      if (!sigmoid || !gate.hasOneUse() || sigmoid->getOperand(0) != x)
        continue;
      auto swish = SwishOp::create(rewriter, root.getLoc(), root.getType(), x, rewriter.getF32FloatAttr(1));
      replaceBy(root, swish, rewriter);
      ++counts.swish;
      return mlir::success();
    }
    return mlir::failure();
  }

  RecognizedComposites &counts;
};

} // namespace

void addActivationRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeGelu, RecognizeSwish>(patterns.getContext(), counts);
}

} // namespace apc
