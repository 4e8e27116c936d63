// Attention recognised from several operators of an exporter: sizes, rule and kernel.
#include "Factors.h"
#include "Kernels.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

namespace {

enum SoftmaxAttentionOperand : unsigned { Queries, Keys, Values, Mask, Arriving };

/// Sizes of the last three dims, dims in front of them, and the scores [..., heads, s, t] that masks broadcast to. The
/// batch is the product of the dims in front.
struct ScoreSizes : AttentionSizes {
  llvm::SmallVector<int64_t, 2> front;

  llvm::SmallVector<int64_t, 4> scores() const {
    llvm::SmallVector<int64_t, 4> dims(front.begin(), front.end());
    dims.append({heads(), queries, attended});
    return dims;
  }
};

mlir::LogicalResult checkScoreMask(mlir::Operation *op, const ScoreSizes &sizes) {
  mlir::Value mask = op->getOperand(Mask);
  bool isFilled = op->hasAttr("fill");
  if (isAbsent(mask))
    return isFilled ? op->emitOpError() << "has 'fill' without a mask" : mlir::success();
  if (operandElement(op, Mask).isInteger(1) != isFilled)
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

mlir::FailureOr<ScoreSizes> readSizes(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> q = dimsOf(op->getOperand(Queries)), k = dimsOf(op->getOperand(Keys)),
                          v = dimsOf(op->getOperand(Values));
  if (q.size() < 3 || k.size() != q.size() || v.size() != q.size())
    return op->emitOpError() << "needs queries, keys and values of the same number of dims, 3 or more, not of "
                             << q.size() << ", " << k.size() << " and " << v.size();
  if (mlir::failed(checkExtents(op)))
    return mlir::failure();
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
  sizes.keys = sizes.present = sizes.attended = v[heads + 1];
  sizes.valueSize = v[heads + 2];
  auto expected = [&](int64_t a, int64_t b) {
    llvm::SmallVector<int64_t, 4> dims(sizes.front.begin(), sizes.front.end());
    dims.append({sizes.kvHeads, a, b});
    return dims;
  };
  bool transposed = intAttribute(op, "keys_transposed", 0) != 0;
  if (mlir::failed(checkDims(
          op, Keys, transposed ? expected(sizes.headSize, sizes.keys) : expected(sizes.keys, sizes.headSize))) ||
      mlir::failed(checkDims(op, Values, expected(sizes.keys, sizes.valueSize))) ||
      mlir::failed(checkScoreMask(op, sizes)))
    return mlir::failure();
  return sizes;
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

/// One row of scores at a time: products, mask, softmax, values.
class RowAttention {
public:
  RowAttention(mlir::Operation *op, Operands operands, const ScoreSizes &sizes)
      : q(*operands[Queries]), k(*operands[Keys]), v(*operands[Values]), mask(operands[Mask]), sizes(sizes),
        scores(sizes.scores()), scale(floatAttribute(op, "scale", 1)), seen(intAttribute(op, "seen", 1)),
        areTransposed(intAttribute(op, "keys_transposed", 0) != 0), nanIsZero(intAttribute(op, "nan_is_zero", 0) != 0),
        weights(sizes.keys) {
    if (op->hasAttr("fill"))
      fill = floatAttribute(op, "fill", 0);
  }

  /// Query `row` of [..., heads, s] into `result`, the elements of one row of values.
  void compute(int64_t row, double *result) {
    weigh(row);
    int64_t keyHead = keyHeadOf(row);
    for (int64_t t = 0; t < sizes.keys; ++t)
      for (int64_t e = 0; e < sizes.valueSize; ++e)
        result[e] += weights[t] * v.floats[(keyHead * sizes.keys + t) * sizes.valueSize + e];
  }

  /// Adds the part of query `row` to the gradient of operand `which`; `arriving` is what arrives at its result.
  void addGradient(int64_t row, unsigned which, const double *arriving, Tensor &gradient) {
    weigh(row);
    int64_t keyHead = keyHeadOf(row);
    if (which == Values) {
      for (int64_t t = 0; t < sizes.keys; ++t)
        for (int64_t e = 0; e < sizes.valueSize; ++e)
          gradient.floats[(keyHead * sizes.keys + t) * sizes.valueSize + e] += weights[t] * arriving[e];
      return;
    }
    for (auto [index, slope] : llvm::enumerate(slopes(row, arriving))) {
      auto t = static_cast<int64_t>(index);
      if (which == Mask)
        gradient.floats[broadcastIndex(mask->dims, scores, row * sizes.keys + t)] += slope;
      for (int64_t d = 0; which != Mask && d < sizes.headSize; ++d) {
        int64_t query = row * sizes.headSize + d, key = keyAt(keyHead, t, d);
        gradient.floats[which == Queries ? query : key] +=
            scale * slope * (which == Queries ? k.floats[key] : q.floats[query]);
      }
    }
  }

private:
  int64_t keyHeadOf(int64_t row) const { return row / sizes.queries / sizes.group; }
  int64_t keyAt(int64_t keyHead, int64_t t, int64_t d) const {
    return keyHead * sizes.keys * sizes.headSize + (areTransposed ? d * sizes.keys + t : t * sizes.headSize + d);
  }
  double product(int64_t row, int64_t keyHead, int64_t t) const {
    double sum = 0;
    for (int64_t d = 0; d < sizes.headSize; ++d)
      sum += q.floats[row * sizes.headSize + d] * k.floats[keyAt(keyHead, t, d)];
    return sum;
  }
  /// The weights of query `row`.
  void weigh(int64_t row) {
    int64_t keyHead = keyHeadOf(row);
    for (int64_t t = 0; t < sizes.keys; ++t)
      weights[t] = masked(row * sizes.keys + t, scale * product(row, keyHead, t));
    takeSoftmax();
  }
  /// The gradients of the scores before the mask, 0 where it has put others.
  std::vector<double> slopes(int64_t row, const double *arriving) const {
    std::vector<double> result(sizes.keys, 0);
    double along = 0;
    for (int64_t t = 0; t < sizes.keys; ++t) {
      for (int64_t e = 0; e < sizes.valueSize; ++e)
        result[t] += arriving[e] * v.floats[(keyHeadOf(row) * sizes.keys + t) * sizes.valueSize + e];
      along += weights[t] * result[t];
    }
    for (int64_t t = 0; t < sizes.keys; ++t)
      result[t] = isFilled(row * sizes.keys + t) ? 0 : weights[t] * (result[t] - along);
    return result;
  }
  bool isFilled(int64_t position) const {
    return mask && fill && mask->ints[broadcastIndex(mask->dims, scores, position)] != seen;
  }

  double masked(int64_t position, double score) const {
    if (!mask)
      return score;
    int64_t at = broadcastIndex(mask->dims, scores, position);
    return !fill ? score + mask->floats[at] : mask->ints[at] == seen ? score : *fill;
  }

  void takeSoftmax() {
    double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (double x : weights)
      greatest = std::isnan(x) || x > greatest ? x : greatest;
    for (double &x : weights)
      sum += x = std::exp(x - greatest);
    for (double &x : weights) {
      x /= sum;
      if (nanIsZero && std::isnan(x))
        x = 0;
    }
  }

  const Tensor &q, &k, &v;
  const Tensor *mask;
  const ScoreSizes &sizes;
  llvm::SmallVector<int64_t, 4> scores;
  double scale;
  std::optional<double> fill;
  int64_t seen;
  bool areTransposed, nanIsZero;
  std::vector<double> weights;
};

/// The gradients for queries, keys and values take 5 products for the 2 of the attention; that of the mask, made on the
/// way, a subtraction and a product for each score.
double flopsOf(const ScoreSizes &sizes, std::optional<unsigned> gradientOf) {
  constexpr double gradientShare = 2.5 / 3;
  if (gradientOf == Mask)
    return 2.0 * double(sizes.batch) * double(sizes.heads()) * double(sizes.queries) * double(sizes.keys);
  return sizes.flops() * (gradientOf ? gradientShare : 1);
}

/// The rule of the attention, or of the gradient for operand `gradientOf`, whose last operand has the result's dims.
mlir::FailureOr<FactorRule> ruleOf(mlir::Operation *op, std::optional<unsigned> gradientOf) {
  auto sizes = readSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  llvm::SmallVector<DimFactors, 4> front = builder.addFactors("b", sizes->front);
  DimFactors kvHeads = {builder.addFactor("kv", sizes->kvHeads)}, heads = kvHeads;
  if (sizes->group != 1)
    heads.push_back(builder.addFactor("g", sizes->group));
  DimFactors queries = {builder.addFactor("s", sizes->queries)}, keys = {builder.addWhole("t", sizes->keys)},
             size = {builder.addWhole("d", sizes->headSize)}, valueSize = {builder.addWhole("e", sizes->valueSize)};
  auto layout = [&](const DimFactors &a, const DimFactors &b, const DimFactors &c) {
    llvm::SmallVector<DimFactors, 4> dims = front;
    dims.append({a, b, c});
    return dims;
  };
  bool transposed = intAttribute(op, "keys_transposed", 0) != 0;
  llvm::SmallVector<DimFactors, 4> tensors[] = {layout(heads, queries, size),
                                                transposed ? layout(kvHeads, size, keys) : layout(kvHeads, keys, size),
                                                layout(kvHeads, keys, valueSize),
                                                {}};
  mlir::Value mask = op->getOperand(Mask);
  if (!isAbsent(mask))
    tensors[Mask] = maskFactors(dimsOf(mask), sizes->scores(), layout(heads, queries, keys));
  for (unsigned operand : {Queries, Keys, Values, Mask})
    addOperand(builder, op->getOperand(operand), tensors[operand]);
  if (gradientOf) {
    addOperand(builder, op->getOperand(Arriving), layout(heads, queries, valueSize));
    builder.addLinear({Arriving});
  }
  addResult(builder, op->getResult(0), gradientOf ? tensors[*gradientOf] : layout(heads, queries, valueSize));
  llvm::SmallVector<FactorId, 2> rows = queries;
  rows.append(heads.begin() + 1, heads.end());
  bool masked = !isAbsent(mask) && hasRowPerQuery(dimsOf(mask), sizes->queries);
  builder.setAttention({sizes->headSize, sizes->keys, /*causal=*/false, masked, rows});
  FactorRule rule = builder.take();
  setFlops(rule, flopsOf(*sizes, gradientOf));
  return rule;
}

} // namespace

mlir::LogicalResult SoftmaxAttentionOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  SoftmaxAttentionOp op = *this;
  auto sizes = readSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(op->getOperand(Queries)));
  dims.back() = sizes->valueSize;
  return addType(op, dims, operandElement(op, Queries), types);
}

// `... (kv g) s !d, ... kv !t !d, ... kv !t !e, mask -> ... (kv g) s !e`: dims in front, key heads, the query heads of
// each key head and query positions may be cut. Masks broadcast to the scores [..., heads, s, t] as NumPy does.
// FLOPs: 2 * heads * s * t * (d + e) for each point of the dims in front, masks or not.
mlir::FailureOr<FactorRule> SoftmaxAttentionOp::getRule() { return ruleOf(*this, std::nullopt); }

Evaluated SoftmaxAttentionOp::evaluate(Operands operands) {
  SoftmaxAttentionOp op = *this;
  auto sizes = readSizes(op);
  if (mlir::failed(sizes) || !areAllKnown(op, operands) || !operands[Queries]->isFloat())
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  RowAttention attention(op, operands, *sizes);
  for (int64_t row = 0, rows = sizes->batch * sizes->heads() * sizes->queries; row < rows; ++row)
    attention.compute(row, result.floats.data() + row * sizes->valueSize);
  return evaluatedAs(std::move(result));
}

bool SoftmaxAttentionOp::differentiate(GradientBuilder &g) {
  llvm::SmallVector<mlir::NamedAttribute, 5> attributes;
  for (llvm::StringRef name : {"fill", "keys_transposed", "nan_is_zero", "scale", "seen"})
    if (mlir::Attribute value = (*this)->getAttr(name))
      attributes.push_back(g.attribute(name, value));
  llvm::SmallVector<mlir::Value, 5> operands(getOperands());
  operands.push_back(g.incoming());
  if (g.wants(Queries))
    g.give(Queries, g.make<SoftmaxAttentionQueryGradOp>(operands, attributes));
  if (g.wants(Keys))
    g.give(Keys, g.make<SoftmaxAttentionKeyGradOp>(operands, attributes));
  if (g.wants(Values))
    g.give(Values, g.make<SoftmaxAttentionValueGradOp>(operands, attributes));
  if (g.wants(Mask))
    g.give(Mask, g.make<SoftmaxAttentionMaskGradOp>(operands, attributes));
  return true;
}

mlir::LogicalResult inferAttentionGradient(mlir::Operation *op, unsigned which,
                                           llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readSizes(op);
  if (mlir::failed(sizes))
    return mlir::failure();
  if (which == Mask && (isAbsent(op->getOperand(Mask)) || op->hasAttr("fill")))
    return op->emitOpError() << "needs a mask of floats that is added";
  llvm::SmallVector<int64_t, 4> arriving(dimsOf(op->getOperand(Queries)));
  arriving.back() = sizes->valueSize;
  if (mlir::failed(checkDims(op, Arriving, arriving)))
    return mlir::failure();
  return addType(op, dimsOf(op->getOperand(which)), operandElement(op, which), types);
}

mlir::FailureOr<FactorRule> ruleAttentionGradient(mlir::Operation *op, unsigned which) { return ruleOf(op, which); }

Evaluated evaluateAttentionGradient(mlir::Operation *op, Operands operands, unsigned which) {
  auto sizes = readSizes(op);
  if (mlir::failed(sizes) || !areAllKnown(op, operands))
    return std::nullopt;
  Tensor gradient = zeros(op->getResult(0).getType());
  RowAttention attention(op, operands, *sizes);
  for (int64_t row = 0, rows = sizes->batch * sizes->heads() * sizes->queries; row < rows; ++row)
    attention.addGradient(row, which, operands[Arriving]->floats.data() + row * sizes->valueSize, gradient);
  return evaluatedAs(std::move(gradient));
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
