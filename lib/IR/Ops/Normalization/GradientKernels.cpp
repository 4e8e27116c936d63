// Kernels of the gradients of normalisations.
#include "apc/IR/Ops/Normalization/Normalization.h"

#include <cmath>

namespace apc {

namespace {

/// X normalised, and 1 / deviation of each row, [..., 1].
struct Normalised {
  Tensor data;
  llvm::SmallVector<int64_t, 4> rows;
  std::vector<double> inverse;
};

Normalised normalise(const Tensor &x, int64_t axis, double epsilon, bool isCentred) {
  llvm::SmallVector<int64_t, 4> rows(x.dims);
  size_t first = axis < 0 ? axis + x.dims.size() : axis;
  std::fill(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(), 1);
  Moments moments = momentsOf(x, rows);
  if (!isCentred)
    moments.mean.assign(moments.mean.size(), 0);
  Normalised result{x, rows, inverseRoots(isCentred ? moments.variance : moments.meanSquare, epsilon)};
  standardise(result.data, moments, result.inverse);
  return result;
}

/// Channels [C] beside [N, C, D1, D2] as [C, 1, 1].
Tensor channels(const Tensor &values, size_t numDims) {
  Tensor tensor = values;
  tensor.dims.resize(numDims - 1, 1);
  return tensor;
}

/// X less the means, times 1 / deviations, [C] both.
Tensor normaliseChannels(const Tensor &x, const Tensor &mean, const std::vector<double> &inverse) {
  Tensor result = x;
  Tensor shape = channels(mean, x.dims.size());
  combineRows(result, shape.dims, mean.floats, minus);
  combineRows(result, shape.dims, inverse, times);
  return result;
}

} // namespace

Evaluated LayerNormalizationGradOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Tensor gradient = *operands[0];
  scaleTensor(gradient, operands[2]);
  bool isCentred = getCentred() != 0;
  auto axis = static_cast<int64_t>(getAxis());
  Normalised x = normalise(*operands[1], axis, getEpsilon().convertToDouble(), isCentred);
  Tensor product = gradient;
  for (auto [value, normal] : llvm::zip_equal(product.floats, x.data.floats))
    value *= normal;
  std::vector<double> along = momentsOf(product, x.rows).mean, mean = momentsOf(gradient, x.rows).mean;
  if (!isCentred)
    mean.assign(mean.size(), 0);
  combineRows(x.data, x.rows, along, times);
  combineRows(gradient, x.rows, mean, minus);
  for (auto [value, away] : llvm::zip_equal(gradient.floats, x.data.floats))
    value -= away;
  combineRows(gradient, x.rows, x.inverse, times);
  Tensor result = zeros(getGradient().getType());
  result.floats = std::move(gradient.floats);
  return evaluatedAs(std::move(result));
}

Evaluated LayerNormalizationScaleGradOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Normalised x =
      normalise(*operands[1], static_cast<int64_t>(getAxis()), getEpsilon().convertToDouble(), getCentred() != 0);
  Tensor result = zeros(getGradient().getType());
  size_t length = result.floats.size();
  for (auto [i, normal] : llvm::enumerate(x.data.floats))
    result.floats[i % length] += operands[0]->floats[i] * normal;
  return evaluatedAs(std::move(result));
}

Evaluated BatchNormalizeOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  size_t numDims = operands[0]->dims.size();
  Tensor result =
      normaliseChannels(*operands[0], *operands[3], inverseRoots(operands[4]->floats, getEpsilon().convertToDouble()));
  Tensor scale = channels(*operands[1], numDims), bias = channels(*operands[2], numDims);
  scaleTensor(result, &scale);
  addTensor(result, &bias);
  return evaluatedAs(std::move(result));
}

Evaluated BatchNormalizeGradOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Tensor result = *operands[0];
  const Tensor &x = *operands[1];
  std::vector<double> inverse = inverseRoots(operands[4]->floats, getEpsilon().convertToDouble());
  Tensor away = normaliseChannels(x, *operands[3], inverse);
  size_t numDims = x.dims.size();
  double count = static_cast<double>(getCount().value_or(x.numElements() / std::max<int64_t>(1, x.dims[1])));
  Tensor dScale = channels(*operands[5], numDims), dBias = channels(*operands[6], numDims);
  scaleTensor(away, &dScale);
  addTensor(away, &dBias);
  for (auto [value, part] : llvm::zip_equal(result.floats, away.floats))
    value -= part / count;
  Tensor scale = channels(*operands[2], numDims);
  scaleTensor(result, &scale);
  combineRows(result, scale.dims, inverse, times);
  result.element = x.element;
  return evaluatedAs(std::move(result));
}

Evaluated BatchScaleGradOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  const Tensor &x = *operands[1];
  Tensor normal = normaliseChannels(x, *operands[2], inverseRoots(operands[3]->floats, getEpsilon().convertToDouble()));
  Tensor result = zeros(getDscale().getType());
  Tensor shape = channels(result, x.dims.size());
  BroadcastWalk walk({shape.dims}, x.dims);
  for (auto [gradient, value] : llvm::zip_equal(operands[0]->floats, normal.floats)) {
    result.floats[walk[0]] += gradient * value;
    walk.next();
  }
  return evaluatedAs(std::move(result));
}

void localizeBatchGradient(LocalOp &local) {
  auto original = llvm::cast<BatchNormalizeGradOp>(local.original);
  llvm::ArrayRef<int64_t> dims = dimsOf(original.getX());
  int64_t count = dims[0];
  for (int64_t size : dims.drop_front(2))
    count *= size;
  local.setInt("count", count);
}

} // namespace apc
