// Kernels of normalisations: moments over some dims, elements centred and scaled by them, then scales and biases.
#include "apc/IR/Ops/Normalization/Kernels.h"

#include "../Attributes.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

Moments momentsOf(const Tensor &data, llvm::ArrayRef<int64_t> kept) {
  Moments moments;
  moments.dims.assign(kept.begin(), kept.end());
  auto rows = static_cast<size_t>(mergedSize(kept));
  auto elements = static_cast<size_t>(data.numElements());
  moments.mean.assign(rows, 0);
  moments.variance.assign(rows, 0);
  moments.meanSquare.assign(rows, 0);
  double count = rows == 0 ? 1 : static_cast<double>(elements) / static_cast<double>(rows);
  auto addUp = [&](std::vector<double> &sums, llvm::function_ref<double(double, int64_t)> term) {
    BroadcastWalk walk({kept}, data.dims);
    for (size_t i = 0; i < elements; ++i, walk.next())
      sums[walk[0]] += term(data.floats[i], walk[0]) / count;
  };
  addUp(moments.mean, [](double x, int64_t) { return x; });
  addUp(moments.variance, [&](double x, int64_t row) { return (x - moments.mean[row]) * (x - moments.mean[row]); });
  addUp(moments.meanSquare, [](double x, int64_t) { return x * x; });
  return moments;
}

std::vector<double> inverseRoots(std::vector<double> values, double epsilon) {
  for (double &value : values)
    value = 1 / std::sqrt(value + epsilon);
  return values;
}

void combineRows(Tensor &data, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<double> values,
                 double (*function)(double, double)) {
  BroadcastWalk walk({dims}, data.dims);
  for (double &value : data.floats) {
    value = function(value, values[walk[0]]);
    walk.next();
  }
}

static double plus(double a, double b) { return a + b; }

void standardise(Tensor &data, const Moments &moments, llvm::ArrayRef<double> inverse) {
  combineRows(data, moments.dims, moments.mean, minus);
  combineRows(data, moments.dims, inverse, times);
}

void addTensor(Tensor &data, const Tensor *addend) {
  if (addend)
    combineRows(data, addend->dims, addend->floats, plus);
}

void scaleTensor(Tensor &data, const Tensor *scale) {
  if (scale)
    combineRows(data, scale->dims, scale->floats, times);
}

namespace {

/// The dims of `data` with 1 from `axis` on.
llvm::SmallVector<int64_t, 4> keptBefore(llvm::ArrayRef<int64_t> data, int64_t axis) {
  llvm::SmallVector<int64_t, 4> kept(data);
  size_t first = axis < 0 ? axis + data.size() : axis;
  std::fill(kept.begin() + static_cast<std::ptrdiff_t>(first), kept.end(), 1);
  return kept;
}

/// False when an operand that is there is not known, or is not of floats.
bool areKnown(mlir::Operation *op, Operands operands) {
  for (auto [index, operand] : llvm::enumerate(operands))
    if (operand ? !operand->isFloat() : !isAbsent(op->getOperand(static_cast<unsigned>(index))))
      return false;
  return true;
}

/// `values` as result `index`; nothing for an absent result.
Tensor resultOf(mlir::Operation *op, unsigned index, std::vector<double> values) {
  Tensor tensor;
  if (isAbsent(op->getResult(index)))
    return tensor;
  tensor = zeros(op->getResult(index).getType());
  tensor.floats = std::move(values);
  return tensor;
}

/// [C] beside [N, C, D1, D2] as [C, 1, 1].
Tensor alongChannels(const Tensor *parameters, size_t numDims) {
  Tensor tensor = *parameters;
  if (tensor.dims.size() == 1)
    for (size_t dim = 2; dim < numDims; ++dim)
      tensor.dims.push_back(1);
  return tensor;
}

} // namespace

Evaluated evaluateLayerNormalization(mlir::Operation *op, Operands operands, LayerNormalization layer) {
  if (!areKnown(op, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  for (unsigned addend : layer.addends)
    if (addend < operands.size())
      addTensor(data, operands[addend]);
  std::vector<double> sum = layer.sumResult ? data.floats : std::vector<double>();
  Moments moments = momentsOf(data, keptBefore(data.dims, layer.axis));
  if (!layer.isCentred)
    moments.mean.assign(moments.mean.size(), 0);
  std::vector<double> inverse = inverseRoots(layer.isCentred ? moments.variance : moments.meanSquare, layer.epsilon);
  standardise(data, moments, inverse);
  scaleTensor(data, operands[layer.scale]);
  if (layer.bias)
    addTensor(data, operands[*layer.bias]);
  llvm::SmallVector<Tensor, 1> results{resultOf(op, 0, std::move(data.floats))};
  for (unsigned index = 1; index < op->getNumResults(); ++index) {
    if (index == layer.sumResult)
      results.push_back(resultOf(op, index, sum));
    else
      results.push_back(resultOf(op, index, index == layer.meanResult ? moments.mean : inverse));
  }
  return results;
}

bool isBatchTraining(mlir::Operation *op) {
  bool asksStatistics = llvm::any_of(op->getResults().drop_front(), [](mlir::Value r) { return !isAbsent(r); });
  return intAttribute(op, "training_mode", 0) != 0 || (asksStatistics && intAttribute(op, "is_test", 0) == 0);
}

Evaluated BatchNormalizationOp::evaluate(Operands operands) {
  if (!areKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  size_t numDims = data.dims.size();
  llvm::SmallVector<int64_t, 4> kept(data.dims);
  for (size_t dim = 0; dim < numDims; ++dim)
    if (dim == 0 || (dim >= 2 && getSpatial() != 0))
      kept[dim] = 1;
  Tensor mean = alongChannels(operands[3], numDims), variance = alongChannels(operands[4], numDims);
  Tensor scale = alongChannels(operands[1], numDims), bias = alongChannels(operands[2], numDims);
  Moments moments{kept, mean.floats, variance.floats, {}};
  if (isBatchTraining(*this))
    moments = momentsOf(data, kept);
  standardise(data, moments, inverseRoots(moments.variance, getEpsilon().convertToDouble()));
  scaleTensor(data, &scale);
  addTensor(data, &bias);
  llvm::SmallVector<Tensor, 1> results{resultOf(*this, 0, std::move(data.floats))};
  double momentum = getMomentum().convertToDouble();
  for (unsigned index = 1; index < 5; ++index) {
    std::vector<double> current = index % 2 == 1 ? moments.mean : moments.variance;
    const std::vector<double> &before = operands[index % 2 == 1 ? 3 : 4]->floats;
    for (size_t i = 0; index < 3 && i < current.size(); ++i)
      current[i] = before[i] * momentum + current[i] * (1 - momentum);
    results.push_back(resultOf(*this, index, std::move(current)));
  }
  return results;
}

Evaluated InstanceNormalizationOp::evaluate(Operands operands) {
  if (!areKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  Moments moments = momentsOf(data, keptBefore(data.dims, std::min<int64_t>(2, data.dims.size())));
  Tensor scale = alongChannels(operands[1], data.dims.size()), bias = alongChannels(operands[2], data.dims.size());
  standardise(data, moments, inverseRoots(moments.variance, getEpsilon().convertToDouble()));
  scaleTensor(data, &scale);
  addTensor(data, &bias);
  return evaluatedAs(std::move(data));
}

// [N, C, D] in G groups is [N, G, C / G, D]; parameters [C] are [G, C / G, 1], those of groups [G, 1, 1].
Evaluated GroupNormalizationOp::evaluate(Operands operands) {
  if (!areKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  llvm::SmallVector<int64_t, 4> dims = data.dims;
  auto groups = static_cast<int64_t>(getNumGroups());
  int64_t channels = dims[1];
  data.dims[1] = channels / groups;
  data.dims.insert(data.dims.begin() + 1, groups);
  Moments moments = momentsOf(data, keptBefore(data.dims, 2));
  standardise(data, moments, inverseRoots(moments.variance, getEpsilon().convertToDouble()));
  for (unsigned index : {1u, 2u}) {
    Tensor parameters = *operands[index];
    parameters.dims = {groups, parameters.numElements() == channels ? channels / groups : 1};
    parameters.dims.resize(data.dims.size() - 1, 1);
    index == 1 ? scaleTensor(data, &parameters) : addTensor(data, &parameters);
  }
  data.dims = dims;
  return evaluatedAs(std::move(data));
}

void localizeGroups(LocalOp &local) {
  auto original = llvm::cast<GroupNormalizationOp>(local.original);
  auto groups = static_cast<int64_t>(original.getNumGroups());
  int64_t inGroup = std::max<int64_t>(1, dimsOf(original.getX())[1] / groups);
  local.setInt("num_groups", std::max<int64_t>(1, local.resultDims(0)[1] / inGroup));
}

namespace {

/// The dims of `data` with 1 at `axes`.
llvm::SmallVector<int64_t, 4> keptBeside(llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> axes) {
  llvm::SmallVector<int64_t, 4> kept(data);
  for (int64_t axis : axes)
    kept[axis < 0 ? axis + static_cast<int64_t>(data.size()) : axis] = 1;
  return kept;
}

} // namespace

Evaluated MeanVarianceNormalizationOp::evaluate(Operands operands) {
  if (!areKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  Moments moments = momentsOf(data, keptBeside(data.dims, getAxes()));
  std::vector<double> inverse = moments.variance;
  constexpr double leastDeviation = 1e-9;
  for (double &value : inverse)
    value = 1 / (std::sqrt(value) + leastDeviation);
  standardise(data, moments, inverse);
  return evaluatedAs(std::move(data));
}

// A vector of norm 0 stays 0.
Evaluated LpNormalizationOp::evaluate(Operands operands) {
  if (!areKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  llvm::SmallVector<int64_t, 4> kept = keptBeside(data.dims, {static_cast<int64_t>(getAxis())});
  std::vector<double> inverse(mergedSize(kept), 0);
  auto p = static_cast<double>(getP());
  BroadcastWalk walk({kept}, data.dims);
  for (double x : data.floats) {
    inverse[walk[0]] += std::pow(std::fabs(x), p);
    walk.next();
  }
  for (double &value : inverse)
    value = value == 0 ? 0 : 1 / std::pow(value, 1 / p);
  combineRows(data, kept, inverse, times);
  return evaluatedAs(std::move(data));
}

// Channel c is divided by (bias + alpha / size * the squares of channels c - (size - 1) / 2 to c + size / 2) ^ beta.
Evaluated LRNOp::evaluate(Operands operands) {
  if (!areKnown(*this, operands) || getSize() == 0)
    return std::nullopt;
  const Tensor &x = *operands[0];
  Tensor result = x;
  auto size = static_cast<int64_t>(getSize());
  int64_t channels = x.dims[1], inner = mergedSize(llvm::ArrayRef(x.dims).drop_front(2));
  double alpha = getAlpha().convertToDouble() / static_cast<double>(size), beta = getBeta().convertToDouble(),
         bias = getBias().convertToDouble();
  for (int64_t i = 0, count = x.numElements(); i < count; ++i) {
    int64_t channel = i / inner % channels, base = i - channel * inner;
    int64_t first = std::max<int64_t>(0, channel - (size - 1) / 2), last = std::min(channels - 1, channel + size / 2);
    double squares = 0;
    for (int64_t c = first; c <= last; ++c)
      squares += x.floats[base + c * inner] * x.floats[base + c * inner];
    result.floats[i] = x.floats[i] / std::pow(bias + alpha * squares, beta);
  }
  return evaluatedAs(std::move(result));
}

} // namespace apc
