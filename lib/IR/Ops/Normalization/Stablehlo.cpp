// Normalisations in StableHLO; statistics are in 32 bits or more.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

#include "llvm/ADT/Sequence.h"

namespace apc {

namespace hlo {
namespace {

double real(const llvm::APFloat &number) { return number.convertToDouble(); }
unsigned place(int64_t axis, Hlo x) { return static_cast<unsigned>(axis < 0 ? axis + x.numDims() : axis); }
mlir::Type elementOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType(); }
/// The dims from `axis` on.
HloDims rowDims(Hlo x, int64_t axis) { return llvm::to_vector<6>(llvm::seq<int64_t>(place(axis, x), x.numDims())); }

/// A softmax, or its logarithm; all dims from axis on count as one before opset 13.
template <bool isLog, typename Op>
HloList softmaxOf(Op op, HloWriter &h) {
  Hlo x = precise(h(op.getInput()));
  HloDims dims =
      op.getOpsetVersion() < 13 ? rowDims(x, op.getAxis().value_or(1)) : HloDims{place(op.getAxis().value_or(-1), x)};
  Hlo less = x - logSumExp(x, dims, true);
  return convert(isLog ? less : exp(less), elementOf(op.getOutput()));
}
template <bool isLog, typename Op>
HloList softmaxGradient(Op op, HloWriter &h) {
  Hlo dy = h(op.getDY()), y = h(op.getY());
  HloDims dims =
      op.getOpsetVersion() < 13 ? rowDims(y, op.getAxis().value_or(1)) : HloDims{place(op.getAxis().value_or(-1), y)};
  return isLog ? dy - exp(y) * sum(dy, dims, true) : y * (dy - sum(dy * y, dims, true));
}
HloList softmaxBy(SoftmaxByOp op, HloWriter &h) {
  Hlo less = precise(h(op.getInput())) - h(op.getLogSum());
  return convert(op.getLog() != 0 ? less : exp(less), elementOf(op.getOutput()));
}
HloList softmaxGradSum(SoftmaxGradSumOp op, HloWriter &h) {
  Hlo dy = precise(h(op.getDY())), y = h(op.getY());
  return sum(y ? dy * precise(y) : dy, {place(op.getAxis(), dy)}, true);
}
HloList softmaxGradBy(SoftmaxGradByOp op, HloWriter &h) {
  Hlo dy = precise(h(op.getDY())), y = precise(h(op.getY())), total = h(op.getSum());
  return convert(op.getLog() != 0 ? dy - exp(y) * total : y * (dy - total), elementOf(op.getDX()));
}

/// Rows normalised, and what was found of each on the way.
struct Rows {
  Hlo normal, mean, inverse;
};
Rows normalized(Hlo x, int64_t axis, const llvm::APFloat &epsilon, bool isCentred) {
  HloDims dims = rowDims(x, axis);
  Hlo rowMean = isCentred ? mean(x, dims, true) : Hlo(), centred = isCentred ? x - rowMean : x;
  Hlo inverse = rsqrt(mean(square(centred), dims, true) + real(epsilon));
  return {centred * inverse, rowMean, inverse};
}

HloList layerNormalization(LayerNormalizationOp op, HloWriter &h) {
  Rows rows = normalized(precise(h(op.getX())), op.getAxis(), op.getEpsilon(), true);
  Hlo scale = h(op.getScale()), shift = h(op.getB()), y = convert(rows.normal, scale.element()) * scale;
  return {shift ? y + shift : y, rows.mean, rows.inverse};
}
template <typename Op>
HloList rmsNormalization(Op op, HloWriter &h) {
  Rows rows = normalized(precise(h(op.getX())), op.getAxis(), op.getEpsilon(), false);
  Hlo scale = h(op->getOperand(1));
  HloList results = {convert(rows.normal, scale.element()) * scale};
  if (op->getNumResults() > 1)
    results.push_back(rows.inverse);
  return results;
}

HloList layerGradient(LayerNormalizationGradOp op, HloWriter &h) {
  Hlo x = precise(h(op.getX())), scale = h(op.getScale()), q = precise(h(op.getDY()));
  q = scale ? q * precise(scale) : q;
  Rows rows = normalized(x, op.getAxis(), op.getEpsilon(), op.getCentred() != 0);
  HloDims dims = rowDims(x, op.getAxis());
  Hlo result = q - rows.normal * mean(q * rows.normal, dims, true);
  result = op.getCentred() != 0 ? result - mean(q, dims, true) : result;
  return convert(rows.inverse * result, elementOf(op.getGradient()));
}
HloList layerScaleGradient(LayerNormalizationScaleGradOp op, HloWriter &h) {
  Rows rows = normalized(precise(h(op.getX())), op.getAxis(), op.getEpsilon(), op.getCentred() != 0);
  Hlo total = sumTo(precise(h(op.getDY())) * rows.normal, dimsOf(op.getGradient()));
  return convert(total, elementOf(op.getGradient()));
}

/// Column `index` of statistics, with a dim of size 1 for each dim of the row.
Hlo column(Hlo statistics, int64_t index, Hlo like) {
  unsigned last = statistics.numDims() - 1;
  HloDims dims(statistics.dims().drop_back());
  dims.resize(like.numDims(), 1);
  return reshape(slice(statistics, last, index, index + 1), dims);
}
int64_t lastColumn(Hlo statistics) { return statistics.size(statistics.numDims() - 1) - 1; }

/// Rows normalised by the mean and the mean square that statistics hold, or by the latter alone.
Rows normalizedBy(Hlo x, Hlo statistics, const llvm::APFloat &epsilon) {
  Hlo variance = column(statistics, lastColumn(statistics), x), mean;
  if (lastColumn(statistics) == 1) {
    mean = column(statistics, 0, x);
    variance = variance - mean * mean;
  }
  Hlo inverse = rsqrt(hlo::max(variance, filled(variance, 0)) + real(epsilon));
  return {(mean ? x - mean : x) * inverse, mean, inverse};
}

/// The sums of rows over the number of their elements in the whole, one behind the other.
Hlo rowMeans(llvm::ArrayRef<Hlo> terms, int64_t axis, std::optional<int64_t> count, mlir::Type element) {
  HloList columns;
  for (Hlo term : terms) {
    HloDims dims = rowDims(term, axis);
    int64_t own = 1;
    for (int64_t dim : dims)
      own *= term.size(static_cast<unsigned>(dim));
    Hlo total = sum(term, dims) / static_cast<double>(count.value_or(own));
    columns.push_back(unsqueeze(total, total.numDims()));
  }
  return convert(concat(columns, columns.front().numDims() - 1), element);
}

template <typename Op>
Hlo sumOfInputs(Op op, HloWriter &h) {
  Hlo x = precise(h(op.getX()));
  for (Hlo other : {h(op.getSkip()), h(op.getBias())})
    x = other ? x + precise(other) : x;
  return x;
}

HloList layerStatistics(LayerStatisticsOp op, HloWriter &h) {
  Hlo x = sumOfInputs(op, h);
  HloList terms = {square(x)};
  if (op.getCentred() != 0)
    terms.insert(terms.begin(), x);
  return rowMeans(terms, op.getAxis(), op.getCount(), elementOf(op.getMeans()));
}
HloList layerNormalize(LayerNormalizeOp op, HloWriter &h) {
  Hlo x = sumOfInputs(op, h), shift = h(op.getB());
  Hlo y = normalizedBy(x, h(op.getStatistics()), op.getEpsilon()).normal * precise(h(op.getScale()));
  return {convert(shift ? y + precise(shift) : y, elementOf(op.getY())), convert(x, elementOf(op.getX()))};
}
HloList layerGradientStatistics(LayerGradientStatisticsOp op, HloWriter &h) {
  Hlo q = precise(h(op.getDY())) * precise(h(op.getScale()));
  HloList terms = {q * normalizedBy(precise(h(op.getX())), h(op.getStatistics()), op.getEpsilon()).normal};
  if (op.getCentred() != 0)
    terms.insert(terms.begin(), q);
  return rowMeans(terms, op.getAxis(), op.getCount(), elementOf(op.getMeans()));
}
HloList layerNormalizeGradient(LayerNormalizeGradOp op, HloWriter &h) {
  Hlo q = precise(h(op.getDY())) * precise(h(op.getScale())), means = h(op.getMeans());
  Rows rows = normalizedBy(precise(h(op.getX())), h(op.getStatistics()), op.getEpsilon());
  Hlo result = q - rows.normal * column(means, lastColumn(means), q);
  result = lastColumn(means) == 1 ? result - column(means, 0, q) : result;
  return convert(rows.inverse * result, elementOf(op.getDX()));
}
HloList layerNormalizeScaleGradient(LayerNormalizeScaleGradOp op, HloWriter &h) {
  Rows rows = normalizedBy(precise(h(op.getX())), h(op.getStatistics()), op.getEpsilon());
  return convert(sumTo(precise(h(op.getDY())) * rows.normal, dimsOf(op.getDscale())), elementOf(op.getDscale()));
}

/// One number for each channel, or for each point, beside x.
Hlo byChannel(Hlo numbers, Hlo x) {
  if (numbers.numDims() != 1)
    return numbers;
  HloDims dims(x.numDims() - 1, 1);
  dims.front() = numbers.size(0);
  return reshape(numbers, dims);
}
/// All dims but that of channels.
HloDims batchDims(Hlo x) {
  HloDims dims = {0};
  for (unsigned dim = 2; dim < x.numDims(); ++dim)
    dims.push_back(dim);
  return dims;
}
Hlo batchNormal(Hlo x, Hlo mean, Hlo variance, const llvm::APFloat &epsilon) {
  return (x - byChannel(mean, x)) * rsqrt(byChannel(variance, x) + real(epsilon));
}

HloList batchNormalization(BatchNormalizationOp op, HloWriter &h) {
  bool isMoreWanted = llvm::any_of(op->getResults().drop_front(), [](mlir::Value value) { return !isAbsent(value); });
  if (op.getTrainingMode() != 0 || isMoreWanted)
    return h.refuse("statistics of the batch");
  Hlo x = h(op.getX()), y = batchNormal(x, h(op.getInputMean()), h(op.getInputVar()), op.getEpsilon());
  HloList results(op->getNumResults());
  results.front() = y * byChannel(h(op.getScale()), x) + byChannel(h(op.getB()), x);
  return results;
}
HloList batchNormalize(BatchNormalizeOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  Hlo y = batchNormal(x, h(op.getMean()), h(op.getVariance()), op.getEpsilon()) * byChannel(h(op.getScale()), x);
  return convert(y + byChannel(h(op.getB()), x), elementOf(op.getY()));
}
HloList batchScaleGradient(BatchScaleGradOp op, HloWriter &h) {
  Hlo x = h(op.getX()), normal = batchNormal(x, h(op.getMean()), h(op.getVariance()), op.getEpsilon());
  return convert(sum(h(op.getDY()) * normal, batchDims(x)), elementOf(op.getDscale()));
}
HloList batchNormalizeGradient(BatchNormalizeGradOp op, HloWriter &h) {
  Hlo x = h(op.getX()), dy = h(op.getDY()), inverse = rsqrt(byChannel(h(op.getVariance()), x) + real(op.getEpsilon()));
  auto count =
      static_cast<double>(op.getCount().value_or(static_cast<uint64_t>(x.type().getNumElements() / x.size(1))));
  Hlo normal = (x - byChannel(h(op.getMean()), x)) * inverse;
  Hlo inner = dy - byChannel(h(op.getDB()), x) / count - normal * (byChannel(h(op.getDscale()), x) / count);
  return convert(byChannel(h(op.getScale()), x) * inverse * inner, elementOf(op.getDX()));
}

HloList instanceNormalization(InstanceNormalizationOp op, HloWriter &h) {
  Hlo x = h(op.getInput());
  Rows rows = normalized(precise(x), 2, op.getEpsilon(), true);
  return convert(rows.normal, x.element()) * byChannel(h(op.getScale()), x) + byChannel(h(op.getB()), x);
}

constexpr HloLowering rows[] = {
    hloRow<SoftmaxOp, softmaxOf<false, SoftmaxOp>>(),
    hloRow<LogSoftmaxOp, softmaxOf<true, LogSoftmaxOp>>(),
    hloRow<SoftmaxGradOp, softmaxGradient<false, SoftmaxGradOp>>(),
    hloRow<LogSoftmaxGradOp, softmaxGradient<true, LogSoftmaxGradOp>>(),
    hloRow<SoftmaxByOp, softmaxBy>(),
    hloRow<SoftmaxGradSumOp, softmaxGradSum>(),
    hloRow<SoftmaxGradByOp, softmaxGradBy>(),
    hloRow<LayerNormalizationOp, layerNormalization>(),
    hloRow<RMSNormalizationOp, rmsNormalization<RMSNormalizationOp>>(),
    hloRow<SimplifiedLayerNormalizationOp, rmsNormalization<SimplifiedLayerNormalizationOp>>(),
    hloRow<LayerNormalizationGradOp, layerGradient>(),
    hloRow<LayerNormalizationScaleGradOp, layerScaleGradient>(),
    hloRow<LayerStatisticsOp, layerStatistics>(),
    hloRow<LayerNormalizeOp, layerNormalize>(),
    hloRow<LayerGradientStatisticsOp, layerGradientStatistics>(),
    hloRow<LayerNormalizeGradOp, layerNormalizeGradient>(),
    hloRow<LayerNormalizeScaleGradOp, layerNormalizeScaleGradient>(),
    hloRow<BatchNormalizationOp, batchNormalization>(),
    hloRow<BatchNormalizeOp, batchNormalize>(),
    hloRow<BatchScaleGradOp, batchScaleGradient>(),
    hloRow<BatchNormalizeGradOp, batchNormalizeGradient>(),
    hloRow<InstanceNormalizationOp, instanceNormalization>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloNormalization();
llvm::ArrayRef<HloLowering> hloNormalization() { return hlo::rows; }

} // namespace apc
