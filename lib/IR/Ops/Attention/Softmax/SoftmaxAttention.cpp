// Attention recognised from several operators of an exporter: sizes, rule and kernel.
#include "SoftmaxAttention.h"

#include "../../ForwardAttributes.h"
#include "../Kernels.h"
#include "CausalMask.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

namespace apc {

namespace {

enum SoftmaxAttentionOperand : unsigned { Queries, Keys, Values, Mask, Arriving };

mlir::LogicalResult checkScoreMask(mlir::Operation *op, const ScoreSizes &sizes) {
  mlir::Value mask = op->getOperand(attentionOperands(op).mask);
  bool isFilled = op->hasAttr("fill");
  if (isAbsent(mask))
    return isFilled ? op->emitOpError() << "has 'fill' without a mask" : mlir::success();
  if (operandElement(op, attentionOperands(op).mask).isInteger(1) != isFilled)
    return op->emitOpError() << "needs a mask of bools where 'fill' is given, and one of floats where it is not";
  llvm::SmallVector<int64_t, 4> scores = sizes.scores();
  llvm::ArrayRef<int64_t> dims = dimsOf(mask);
  bool fits = dims.size() <= scores.size();
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = dims[i] == 1 || dims[i] == scores[scores.size() - dims.size() + i];
  if (!fits)
    return op->emitOpError() << "operand 'mask' of shape " << printDims(dims) << " does not broadcast to the scores "
                             << printDims(scores);
  return mlir::success();
}

/// Queries, keys and, where the op reads them, values have as many dims.
mlir::LogicalResult checkNumDims(mlir::Operation *op, const AttentionOperands &places) {
  size_t numDims = dimsOf(op->getOperand(Queries)).size(), ofKeys = dimsOf(op->getOperand(Keys)).size(),
         ofValues = places.values ? dimsOf(op->getOperand(*places.values)).size() : numDims;
  if (numDims >= 3 && ofKeys == numDims && ofValues == numDims)
    return mlir::success();
  return op->emitOpError() << "needs queries, keys and values of the same number of dims, 3 or more, not of " << numDims
                           << ", " << ofKeys << " and " << ofValues;
}

/// A mask's dims out of the scores' factors: those of size 1 that broadcast have none.
llvm::SmallVector<DimFactors, 4> maskFactors(llvm::ArrayRef<int64_t> mask, llvm::ArrayRef<int64_t> scores,
                                             llvm::ArrayRef<DimFactors> factors) {
  llvm::SmallVector<DimFactors, 4> dims;
  size_t first = scores.size() - mask.size();
  for (size_t i = 0; i < mask.size(); ++i)
    dims.push_back(mask[i] == scores[first + i] ? factors[first + i] : DimFactors());
  return dims;
}

/// The gradients for queries, keys and values take 5 products for the 2 of the attention; that of the mask, made on the
/// way, a subtraction and a product for each score; sums of scores take the first product.
double flopsOf(const ScoreSizes &sizes, std::optional<unsigned> gradientOf, bool isSum) {
  constexpr double gradientShare = 2.5 / 3;
  double perElement = 2.0 * double(sizes.batch) * double(sizes.heads()) * double(sizes.queries) * double(sizes.keys);
  if (isSum || gradientOf == Mask)
    return perElement * (isSum ? double(sizes.headSize) : 1);
  return sizes.flops() * (gradientOf ? gradientShare : 1);
}

} // namespace

AttentionOperands attentionOperands(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, AttentionOperands>(op)
      .Case([](SoftmaxAttentionOp) { return AttentionOperands{.values = 2, .mask = 3, .numOperands = 4}; })
      .Case([](SoftmaxAttentionLogSumOp) { return AttentionOperands{.mask = 2, .numOperands = 3}; })
      .Case(
          [](SoftmaxAttentionByOp) { return AttentionOperands{.values = 2, .mask = 3, .logSum = 4, .numOperands = 5}; })
      .Case<SoftmaxAttentionByQueryGradOp, SoftmaxAttentionByKeyGradOp, SoftmaxAttentionByValueGradOp,
            SoftmaxAttentionByMaskGradOp>([](auto) {
        return AttentionOperands{.values = 2, .mask = 3, .arriving = 4, .result = 5, .logSum = 6, .numOperands = 7};
      })
      .Default(
          [](mlir::Operation *) { return AttentionOperands{.values = 2, .mask = 3, .arriving = 4, .numOperands = 5}; });
}

mlir::FailureOr<ScoreSizes> readScoreSizes(mlir::Operation *op) {
  AttentionOperands places = attentionOperands(op);
  if (mlir::failed(checkNumDims(op, places)) || mlir::failed(checkExtents(op)))
    return mlir::failure();
  llvm::ArrayRef<int64_t> q = dimsOf(op->getOperand(Queries)), k = dimsOf(op->getOperand(Keys));
  bool transposed = intAttribute(op, "keys_transposed", 0) != 0;
  ScoreSizes sizes;
  size_t heads = q.size() - 3;
  sizes.front.assign(q.begin(), q.begin() + heads);
  sizes.batch = mergedSize(sizes.front);
  sizes.kvHeads = k[heads];
  auto group = divide(op, q[heads], sizes.kvHeads, "the number of key heads");
  if (mlir::failed(group))
    return mlir::failure();
  sizes.group = *group;
  sizes.queries = q[heads + 1];
  sizes.headSize = q[heads + 2];
  int64_t keys = places.values ? dimsOf(op->getOperand(*places.values))[heads + 1] : k[heads + (transposed ? 2 : 1)];
  sizes.keys = sizes.present = sizes.attended = keys;
  sizes.valueSize = places.values ? dimsOf(op->getOperand(*places.values))[heads + 2] : sizes.headSize;
  auto expected = [&](int64_t a, int64_t b) {
    llvm::SmallVector<int64_t, 4> dims(sizes.front.begin(), sizes.front.end());
    dims.append({sizes.kvHeads, a, b});
    return dims;
  };
  if (mlir::failed(checkDims(op, Keys, transposed ? expected(sizes.headSize, keys) : expected(keys, sizes.headSize))) ||
      (places.values && mlir::failed(checkDims(op, *places.values, expected(keys, sizes.valueSize)))) ||
      mlir::failed(checkScoreMask(op, sizes)))
    return mlir::failure();
  return sizes;
}

namespace {

/// The factors of the tensors, in the order in which rules have them.
struct ScoreFactors {
  llvm::SmallVector<DimFactors, 4> front;
  DimFactors kvHeads, heads, queries, keys, size, valueSize;

  ScoreFactors(FactorRuleBuilder &builder, const ScoreSizes &sizes, const AttentionOperands &places)
      : front(builder.addFactors("b", sizes.front)), kvHeads{builder.addFactor("kv", sizes.kvHeads)}, heads(kvHeads) {
    if (sizes.group != 1)
      heads.push_back(builder.addFactor("g", sizes.group));
    queries = {builder.addFactor("s", sizes.queries)};
    keys = {!places.values  ? builder.addReduction("t", sizes.keys, Combiner::LogSumExp)
            : places.logSum ? builder.addFactor("t", sizes.keys)
                            : builder.addWhole("t", sizes.keys)};
    size = {builder.addWhole("d", sizes.headSize)};
    if (places.values)
      valueSize = {builder.addWhole("e", sizes.valueSize)};
  }

  llvm::SmallVector<DimFactors, 4> layout(llvm::ArrayRef<DimFactors> last) const {
    llvm::SmallVector<DimFactors, 4> dims = front;
    dims.append(last.begin(), last.end());
    return dims;
  }
};

} // namespace

/// Does the mask hide all later keys from each query, and no others?
static bool hidesLaterKeys(mlir::Operation *op, mlir::Value mask) {
  auto fill = op->getAttrOfType<mlir::FloatAttr>("fill");
  return fill ? fill.getValueAsDouble() <= hiddenScore && isCausalMask(mask, intAttribute(op, "seen", 1) != 0)
              : isAddedCausalMask(mask);
}

mlir::FailureOr<FactorRule> softmaxAttentionRule(mlir::Operation *op, std::optional<unsigned> gradientOf) {
  auto sizes = readScoreSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  AttentionOperands places = attentionOperands(op);
  FactorRuleBuilder builder;
  ScoreFactors own(builder, *sizes, places);
  bool transposed = intAttribute(op, "keys_transposed", 0) != 0;
  llvm::SmallVector<llvm::SmallVector<DimFactors, 4>, 7> tensors(places.numOperands);
  tensors[Queries] = own.layout({own.heads, own.queries, own.size});
  tensors[Keys] =
      transposed ? own.layout({own.kvHeads, own.size, own.keys}) : own.layout({own.kvHeads, own.keys, own.size});
  mlir::Value mask = op->getOperand(places.mask);
  if (!isAbsent(mask))
    tensors[places.mask] = maskFactors(dimsOf(mask), sizes->scores(), own.layout({own.heads, own.queries, own.keys}));
  llvm::SmallVector<DimFactors, 4> made = own.layout({own.heads, own.queries}), sums = made;
  if (places.values) {
    tensors[*places.values] = own.layout({own.kvHeads, own.keys, own.valueSize});
    made.push_back(own.valueSize);
  }
  for (std::optional<unsigned> like : {places.arriving, places.result})
    if (like)
      tensors[*like] = made;
  if (places.logSum)
    tensors[*places.logSum] = sums;
  for (auto [index, dims] : llvm::enumerate(tensors))
    addOperand(builder, op->getOperand(static_cast<unsigned>(index)), dims);
  if (places.arriving)
    builder.addLinear({*places.arriving});
  addResult(builder, op->getResult(0), gradientOf ? tensors[*gradientOf] : made);
  llvm::SmallVector<FactorId, 2> rows = own.queries;
  rows.append(own.heads.begin() + 1, own.heads.end());
  bool masked = !isAbsent(mask) && hasRowPerQuery(dimsOf(mask), sizes->queries);
  bool causal = masked && sizes->queries == sizes->keys && hidesLaterKeys(op, mask);
  builder.setAttention({sizes->headSize, sizes->keys, causal, masked && !causal, rows,
                        causal ? std::optional(places.mask) : std::nullopt});
  FactorRule rule = builder.take();
  setFlops(rule, flopsOf(*sizes, gradientOf, /*isSum=*/!places.values));
  return rule;
}

mlir::LogicalResult inferSoftmaxAttention(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readScoreSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  AttentionOperands places = attentionOperands(op);
  llvm::SmallVector<int64_t, 4> dims(dimsOf(op->getOperand(Queries)));
  dims.pop_back();
  if (places.logSum && mlir::failed(checkDims(op, *places.logSum, dims)))
    return mlir::failure();
  if (!places.values)
    return addType(op, dims, preciseElement(op), types);
  dims.push_back(sizes->valueSize);
  return addType(op, dims, operandElement(op, Queries), types);
}

namespace {

/// The ops of the gradients for each operand.
template <typename OfQueries, typename OfKeys, typename OfValues, typename OfMask>
void giveGradients(GradientBuilder &g, llvm::ArrayRef<mlir::Value> operands, llvm::ArrayRef<mlir::Value> ofValues) {
  auto attributes = forwardAttributes(g, {"fill", "keys_transposed", "nan_is_zero", "scale", "seen"});
  if (g.wants(Queries))
    g.give(Queries, g.make<OfQueries>(operands, attributes));
  if (g.wants(Keys))
    g.give(Keys, g.make<OfKeys>(operands, attributes));
  if (g.wants(Values))
    g.give(Values, g.make<OfValues>(ofValues, attributes));
  if (g.wants(Mask))
    g.give(Mask, g.make<OfMask>(operands, attributes));
}

} // namespace

bool SoftmaxAttentionOp::differentiate(GradientBuilder &g) {
  llvm::SmallVector<mlir::Value, 5> operands(getOperands());
  operands.push_back(g.incoming());
  giveGradients<SoftmaxAttentionQueryGradOp, SoftmaxAttentionKeyGradOp, SoftmaxAttentionValueGradOp,
                SoftmaxAttentionMaskGradOp>(g, operands, operands);
  return true;
}

// The logarithmic sums are those of the scores themselves, so gradients go through them, too, all at once.
bool SoftmaxAttentionByOp::differentiate(GradientBuilder &g) {
  llvm::SmallVector<mlir::Value, 7> operands = {getQ(),       getK(),     getV(),     getMask(),
                                                g.incoming(), g.result(), getLogSum()},
                                    ofValues = operands;
  ofValues[5] = g.absent();
  giveGradients<SoftmaxAttentionByQueryGradOp, SoftmaxAttentionByKeyGradOp, SoftmaxAttentionByValueGradOp,
                SoftmaxAttentionByMaskGradOp>(g, operands, ofValues);
  return true;
}

mlir::LogicalResult inferAttentionGradient(mlir::Operation *op, unsigned which,
                                           llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readScoreSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  if (which == Mask && (isAbsent(op->getOperand(Mask)) || op->hasAttr("fill")))
    return op->emitOpError() << "needs a mask of floats that is added";
  llvm::SmallVector<int64_t, 4> arriving(dimsOf(op->getOperand(Queries)));
  arriving.back() = sizes->valueSize;
  AttentionOperands places = attentionOperands(op);
  bool hasResult = places.result && !isAbsent(op->getOperand(*places.result));
  if (mlir::failed(checkDims(op, Arriving, arriving)) ||
      (hasResult && mlir::failed(checkDims(op, *places.result, arriving))) ||
      (places.logSum && mlir::failed(checkDims(op, *places.logSum, llvm::ArrayRef<int64_t>(arriving).drop_back()))))
    return mlir::failure();
  return addType(op, dimsOf(op->getOperand(which)), operandElement(op, which), types);
}

// [1, 2, 3, 4] with cosines c and sines s: [c - 3 s, 2 c - 4 s, 3 c + s, 4 c + 2 s].
Evaluated RotateHalfOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1] || !operands[2] || !operands[0]->isFloat())
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  const Tensor &x = *operands[0], &cosines = *operands[1], &sines = *operands[2];
  bool transposed = getTransposed() != 0;
  int64_t size = result.dims.back(), front = transposed ? size / 2 : size - size / 2;
  for (int64_t i = 0, count = result.numElements(); i < count; ++i) {
    int64_t at = i % size, begin = i - at;
    bool isFront = at < front;
    int64_t partner = begin + (isFront ? at + size - front : at - front);
    auto element = [&](int64_t place) { return x.floats[broadcastIndex(x.dims, result.dims, place)]; };
    // The sine stands where the partner goes to, transposed where it comes from.
    double sine = sines.floats[broadcastIndex(sines.dims, result.dims, transposed ? partner : i)];
    result.floats[i] = element(i) * cosines.floats[broadcastIndex(cosines.dims, result.dims, i)] +
                       (isFront == transposed ? 1 : -1) * element(partner) * sine;
  }
  return evaluatedAs(std::move(result));
}

} // namespace apc
