// Layer normalisation and root-mean-square normalisation out of their arithmetic.
#include "Match.h"
#include "Recognizers.h"

#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

/// The operand of a mean over the last dim that keeps it, of a single use.
mlir::Value meanOperand(mlir::Value mean) {
  auto reduce = mean.getDefiningOp<ReduceMeanOp>();
  if (!reduce || !mean.hasOneUse() || reduce.getKeepdims() != 1)
    return {};
  auto axes = constantInts(reduce.getAxes());
  auto numDims = static_cast<int64_t>(dimsOf(reduce.getData()).size());
  bool isLast = axes && axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == numDims - 1);
  return isLast ? reduce.getData() : mlir::Value();
}

bool isSquareOf(mlir::Value square, mlir::Value x) {
  if (!square.hasOneUse())
    return false;
  if (auto pow = square.getDefiningOp<PowOp>()) {
    std::optional<double> exponent = scalarOf(pow->getOperand(1));
    return exponent && *exponent == 2 && pow->getOperand(0) == x;
  }
  auto mul = square.getDefiningOp<MulOp>();
  return mul && mul.getA() == x && mul.getB() == x;
}

/// The epsilon of `root`, when it is sqrt(mean(x^2) + epsilon).
std::optional<double> rootMeanSquareEpsilon(mlir::Value root, mlir::Value x) {
  auto sqrt = root.getDefiningOp<SqrtOp>();
  if (!sqrt || !root.hasOneUse() || !sqrt->getOperand(0).hasOneUse())
    return std::nullopt;
  auto sum = plusScalar(sqrt->getOperand(0));
  mlir::Value square = sum ? meanOperand(sum->first) : mlir::Value();
  if (!square || !isSquareOf(square, x))
    return std::nullopt;
  return sum->second;
}

/// The value under 1 / value, written as Div(1, value) or Reciprocal(value), of a single use.
mlir::Value reciprocalOperand(mlir::Value value) {
  if (!value.hasOneUse())
    return {};
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    return reciprocal->getOperand(0);
  auto div = value.getDefiningOp<DivOp>();
  std::optional<double> one = div ? scalarOf(div.getA()) : std::nullopt;
  return one && *one == 1 ? div.getB() : mlir::Value();
}

struct Normalized {
  mlir::Value x;
  double epsilon;
};

/// x / sqrt(mean(x^2) + epsilon), written with Div or with a reciprocal.
std::optional<Normalized> matchNormalized(mlir::Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  auto attempt = [](mlir::Value x, mlir::Value root) -> std::optional<Normalized> {
    std::optional<double> epsilon = root ? rootMeanSquareEpsilon(root, x) : std::nullopt;
    return epsilon ? std::optional<Normalized>({x, *epsilon}) : std::nullopt;
  };
  if (auto div = value.getDefiningOp<DivOp>())
    return attempt(div.getA(), div.getB());
  auto mul = value.getDefiningOp<MulOp>();
  if (!mul)
    return std::nullopt;
  if (auto found = attempt(mul.getA(), reciprocalOperand(mul.getB())))
    return found;
  return attempt(mul.getB(), reciprocalOperand(mul.getA()));
}

/// One number for each point of the last dim of `x`.
bool isScaleOf(mlir::Value scale, mlir::Value x) {
  return dimsOf(scale).size() == 1 && !dimsOf(x).empty() && dimsOf(scale)[0] == dimsOf(x).back();
}

struct RecognizeRmsNorm : mlir::OpRewritePattern<MulOp> {
  RecognizeRmsNorm(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(MulOp root, mlir::PatternRewriter &rewriter) const override {
    for (auto [normalized, scale] : {std::pair(root.getA(), root.getB()), std::pair(root.getB(), root.getA())}) {
      std::optional<Normalized> match = matchNormalized(throughCast(normalized));
      if (!match || !isScaleOf(scale, match->x) || root.getC().getType() != normalized.getType())
        continue;
      // `stash_type` 1 stands for casts to f32 before and back after; other formats are left alone.
      mlir::Value x = match->x;
      if (elementOf(x) != elementOf(normalized)) {
        auto cast = x.getDefiningOp<CastOp>();
        if (!cast || !elementOf(x).isF32() || elementOf(cast->getOperand(0)) != elementOf(normalized))
          continue;
        x = cast->getOperand(0);
      }
      auto norm = RMSNormalizationOp::create(
          rewriter, root.getLoc(), root.getType(), x, scale, rewriter.getI64IntegerAttr(-1),
          rewriter.getF32FloatAttr(static_cast<float>(match->epsilon)), rewriter.getI64IntegerAttr(1));
      replaceBy(root, norm, rewriter);
      ++counts.rmsNorm;
      return mlir::success();
    }
    return mlir::failure();
  }

  RecognizedComposites &counts;
};

struct RecognizeLayerNorm : mlir::OpRewritePattern<AddOp> {
  RecognizeLayerNorm(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(AddOp root, mlir::PatternRewriter &rewriter) const override {
    for (auto [scaled, bias] : {std::pair(root.getA(), root.getB()), std::pair(root.getB(), root.getA())}) {
      auto mul = scaled.getDefiningOp<MulOp>();
      if (!mul || !scaled.hasOneUse())
        continue;
      for (auto [normalized, scale] : {std::pair(mul.getA(), mul.getB()), std::pair(mul.getB(), mul.getA())})
        if (std::optional<Normalized> match = matchNormalized(normalized))
          if (mlir::Value x = centredOperand(match->x); x && isScaleOf(scale, x) && isScaleOf(bias, x))
            return replace(root, x, scale, bias, match->epsilon, rewriter);
    }
    return mlir::failure();
  }

private:
  /// x when `centred` is x - mean(x).
  static mlir::Value centredOperand(mlir::Value centred) {
    auto sub = centred.getDefiningOp<SubOp>();
    return sub && meanOperand(sub.getB()) == sub.getA() ? sub.getA() : mlir::Value();
  }

  mlir::LogicalResult replace(AddOp root, mlir::Value x, mlir::Value scale, mlir::Value bias, double epsilon,
                              mlir::PatternRewriter &rewriter) const {
    if (root.getC().getType() != x.getType() || elementOf(scale) != elementOf(x))
      return mlir::failure();
    mlir::Type none = rewriter.getNoneType();
    auto norm = LayerNormalizationOp::create(rewriter, root.getLoc(), mlir::TypeRange{root.getType(), none, none}, x,
                                             scale, bias, rewriter.getI64IntegerAttr(-1),
                                             rewriter.getF32FloatAttr(static_cast<float>(epsilon)),
                                             rewriter.getI64IntegerAttr(1));
    replaceBy(root, norm, rewriter);
    ++counts.layerNorm;
    return mlir::success();
  }

  RecognizedComposites &counts;
};

} // namespace

void addNormalizationRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeRmsNorm, RecognizeLayerNorm>(patterns.getContext(), counts);
}

} // namespace apc
