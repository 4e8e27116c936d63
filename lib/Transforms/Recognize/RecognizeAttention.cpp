// Softmax attention out of its products, scaling and masks.
#include "Match.h"
#include "Recognizers.h"

#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

/// The parts between two products that make one attention.
struct Attention {
  mlir::Value q, k, v, mask;
  double scale = 1;
  std::optional<double> fill; ///< of scores where the mask is not `seen`
  bool seen = true, nanIsZero = false, areKeysTransposed = true;
};

/// Looks through casts of single use whose results hold every number of `element`.
mlir::Value throughWideCasts(mlir::Value value, mlir::Type element) {
  auto isWide = [&](mlir::Type type) { return type == element || type.isF32() || type.isF64(); };
  while (auto cast = value.getDefiningOp<CastOp>()) {
    mlir::Value from = cast->getOperand(0);
    if (!value.hasOneUse() || !isWide(elementOf(value)) || !isWide(elementOf(from)))
      break;
    value = from;
  }
  return value;
}

/// The value of which `value` is `scale` times, where that is all; `value` itself otherwise.
mlir::Value unscaled(mlir::Value value, double &scale) {
  Product product = productOf(value);
  bool isScaled = value.hasOneUse() && product.leaves.size() == 1 && product.leaves[0].getType() == value.getType();
  if (!isScaled)
    return value;
  scale *= product.scalar;
  return product.leaves[0];
}

/// Softmax over the last dim, of a single use, or Where(IsNaN(softmax), 0, softmax); its operand.
mlir::Value softmaxOperand(mlir::Value weights, bool &nanIsZero) {
  if (auto where = weights.getDefiningOp<WhereOp>()) {
    auto test = where.getCondition().getDefiningOp<IsNaNOp>();
    mlir::Value softmax = where.getY();
    std::optional<double> zero = scalarOf(where.getX());
    if (!test || !weights.hasOneUse() || zero != 0.0 || test->getOperand(0) != softmax || !softmax.hasNUses(2) ||
        !test->getResult(0).hasOneUse())
      return {};
    nanIsZero = true;
    weights = softmax;
  } else if (!weights.hasOneUse()) {
    return {};
  }
  auto softmax = weights.getDefiningOp<SoftmaxOp>();
  if (!softmax)
    return {};
  auto numDims = static_cast<int64_t>(dimsOf(weights).size());
  int64_t axis = softmax.getAxis().value_or(softmax.getOpsetVersion() < 13 ? 1 : -1);
  return axis == -1 || axis == numDims - 1 ? softmax.getInput() : mlir::Value();
}

/// Takes `value` for scores of single use, scaled or not: queries, keys and the scale.
bool takeProduct(mlir::Value value, mlir::Type element, Attention &attention) {
  double scale = 1;
  value = throughWideCasts(value, element);
  if (!value.hasOneUse())
    return false;
  value = throughWideCasts(unscaled(value, scale), element);
  auto product = value.getDefiningOp<MatMulOp>();
  if (!product || !value.hasOneUse() || elementOf(value) != element)
    return false;
  attention.q = unscaled(product.getA(), scale);
  attention.k = unscaled(product.getB(), scale);
  attention.scale = scale;
  return true;
}

/// Takes Where(mask, scores, fill), Where(mask, fill, scores), scores + mask, or scores alone.
bool takeScores(mlir::Value value, mlir::Type element, Attention &attention) {
  value = throughWideCasts(value, element);
  if (auto where = value.getDefiningOp<WhereOp>(); where && value.hasOneUse()) {
    std::optional<double> first = scalarOf(where.getX()), second = scalarOf(where.getY());
    attention.seen = second.has_value();
    attention.fill = attention.seen ? second : first;
    attention.mask = where.getCondition();
    // A cast of bools to bools, one for each layer, would keep the layers' masks apart.
    if (mlir::Value mask = throughCast(attention.mask); mask.getType() == attention.mask.getType())
      attention.mask = mask;
    mlir::Value scores = attention.seen ? where.getX() : where.getY();
    return attention.fill && scores.getType() == value.getType() && takeProduct(scores, element, attention);
  }
  if (auto add = value.getDefiningOp<AddOp>(); add && value.hasOneUse())
    for (auto [scores, mask] : {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())})
      if (scores.getType() == value.getType() && takeProduct(scores, element, attention)) {
        attention.mask = mask;
        return true;
      }
  return takeProduct(value, element, attention);
}

/// For keys or values that are repeated `group` times ([b, kv, t, d] as [b, kv, 1, t, d], [b, kv, group, t, d] and
/// [b, kv * group, t, d]): the value before the repetition.
mlir::Value repeated(mlir::Value value, int64_t &group) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto expand = reshape ? reshape.getData().getDefiningOp<ExpandOp>() : nullptr;
  if (!expand || !value.hasOneUse() || !reshape.getData().hasOneUse() || !expand.getInput().hasOneUse())
    return {};
  mlir::Operation *inner = expand.getInput().getDefiningOp();
  if (!llvm::isa_and_present<UnsqueezeOp, ReshapeOp>(inner))
    return {};
  mlir::Value source = inner->getOperand(0);
  llvm::SmallVector<int64_t, 5> dims(dimsOf(source));
  if (dims.size() < 3 || dimsOf(expand.getOutput()).size() != dims.size() + 1)
    return {};
  size_t heads = dims.size() - 3;
  group = dimsOf(expand.getOutput())[heads + 1];
  dims.insert(dims.begin() + heads + 1, 1);
  if (llvm::ArrayRef<int64_t>(dims) != dimsOf(expand.getInput()))
    return {};
  dims[heads + 1] = group;
  if (llvm::ArrayRef<int64_t>(dims) != dimsOf(expand.getOutput()))
    return {};
  dims.erase(dims.begin() + heads + 1);
  dims[heads] *= group;
  return llvm::ArrayRef<int64_t>(dims) == dimsOf(value) ? source : mlir::Value();
}

/// The operand of a transposition of the last two dims, of a single use.
mlir::Value lastDimsExchanged(mlir::Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  auto perm = transpose ? transpose.getPerm() : std::nullopt;
  if (!perm || !value.hasOneUse())
    return {};
  auto numDims = static_cast<int64_t>(perm->size());
  for (auto [to, from] : llvm::enumerate(*perm)) {
    auto place = static_cast<int64_t>(to);
    if (from != (place < numDims - 2 ? place : 2 * numDims - 3 - place))
      return {};
  }
  return transpose.getData();
}

/// Operands that are only rearranged for MatMul.
void takeLayouts(Attention &attention) {
  if (mlir::Value keys = lastDimsExchanged(attention.k)) {
    attention.k = keys;
    attention.areKeysTransposed = false;
  }
  int64_t keyGroup = 0, valueGroup = 0;
  mlir::Value keys = attention.areKeysTransposed ? mlir::Value() : repeated(attention.k, keyGroup);
  mlir::Value values = repeated(attention.v, valueGroup);
  if (keys && values && keyGroup == valueGroup) {
    attention.k = keys;
    attention.v = values;
  }
}

/// Queries, keys and values have the same dims in front and 3 dims or more; numbers are those of f32.
bool isExpressible(const Attention &attention) {
  llvm::ArrayRef<int64_t> q = dimsOf(attention.q), k = dimsOf(attention.k), v = dimsOf(attention.v);
  auto isF32 = [](double number) { return static_cast<double>(static_cast<float>(number)) == number; };
  return q.size() >= 3 && k.size() == q.size() && v.size() == q.size() && q.drop_back(3) == k.drop_back(3) &&
         q.drop_back(3) == v.drop_back(3) && k[q.size() - 3] == v[q.size() - 3] &&
         elementOf(attention.k) == elementOf(attention.q) && elementOf(attention.v) == elementOf(attention.q) &&
         (!attention.fill || isF32(*attention.fill));
}

std::optional<Attention> matchAttention(MatMulOp root) {
  Attention attention;
  mlir::Type element = elementOf(root.getY());
  attention.v = root.getB();
  mlir::Value weights = throughWideCasts(root.getA(), element);
  mlir::Value scores = softmaxOperand(weights, attention.nanIsZero);
  if (!scores || !takeScores(scores, element, attention))
    return std::nullopt;
  takeLayouts(attention);
  return isExpressible(attention) ? std::optional(attention) : std::nullopt;
}

struct RecognizeAttention : mlir::OpRewritePattern<MatMulOp> {
  RecognizeAttention(mlir::MLIRContext *context, RecognizedComposites &counts)
      : OpRewritePattern(context), counts(counts) {}

  mlir::LogicalResult matchAndRewrite(MatMulOp root, mlir::PatternRewriter &rewriter) const override {
    std::optional<Attention> found = matchAttention(root);
    if (!found)
      return mlir::failure();
    mlir::Value mask = found->mask;
    if (!mask)
      mask = NoneOp::create(rewriter, root.getLoc());
    auto flag = [&](bool value) { return rewriter.getI64IntegerAttr(value ? 1 : 0); };
    auto number = [&](double value) { return rewriter.getF32FloatAttr(static_cast<float>(value)); };
    auto attention = SoftmaxAttentionOp::create(rewriter, root.getLoc(), root.getType(), found->q, found->k, found->v,
                                                mask, found->fill ? number(*found->fill) : mlir::FloatAttr(),
                                                flag(found->areKeysTransposed), flag(found->nanIsZero),
                                                number(found->scale), flag(found->seen));
    replaceBy(root, attention, rewriter);
    ++counts.attention;
    return mlir::success();
  }

  RecognizedComposites &counts;
};

} // namespace

void addAttentionRecognizers(mlir::RewritePatternSet &patterns, RecognizedComposites &counts) {
  patterns.add<RecognizeAttention>(patterns.getContext(), counts);
}

} // namespace apc
