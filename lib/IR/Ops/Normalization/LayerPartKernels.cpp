// Kernels of the parts of normalisations of layers: rows stand one behind the other, each with its statistics.
#include "apc/IR/Ops/Normalization/Normalization.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

/// Rows of `data` and the numbers of each: [4, 5, 8] beside [4, 5, 2] has 20 rows of 8 elements, with 2 numbers.
struct Rows {
  size_t count, length, numbers;

  Rows(llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> statistics) : count(1), numbers(statistics.back()) {
    for (int64_t size : statistics.drop_back())
      count *= size;
    length = 1;
    for (int64_t size : data.drop_front(statistics.size() - 1))
      length *= size;
  }
};

/// Calls `take` with each row and the place of each of its elements.
void forEach(const Rows &rows, llvm::function_ref<void(size_t, size_t)> take) {
  for (size_t row = 0; row < rows.count; ++row)
    for (size_t i = 0; i < rows.length; ++i)
      take(row, row * rows.length + i);
}

/// Mean (0 where there is the mean square alone) and 1 / deviation of a row.
struct RowMoments {
  double mean = 0, inverse = 0;
};

std::vector<RowMoments> momentsOf(const Tensor &statistics, double epsilon) {
  bool isCentred = statistics.dims.back() == 2;
  std::vector<RowMoments> moments(statistics.floats.size() / (isCentred ? 2 : 1));
  for (auto [row, own] : llvm::enumerate(moments)) {
    own.mean = isCentred ? statistics.floats[2 * row] : 0;
    double square = isCentred ? statistics.floats[2 * row + 1] : statistics.floats[row];
    // Rounded statistics of rows without variance may differ a little the wrong way.
    own.inverse = 1 / std::sqrt(std::max(0.0, square - own.mean * own.mean) + epsilon);
  }
  return moments;
}

Tensor resultLike(mlir::Value result, std::vector<double> floats) {
  Tensor tensor = zeros(result.getType());
  tensor.floats = std::move(floats);
  return tensor;
}

} // namespace

Evaluated LayerStatisticsOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0], result = zeros(getMeans().getType());
  addTensor(data, operands[1]);
  addTensor(data, operands[2]);
  Rows rows(data.dims, result.dims);
  double count = static_cast<double>(getCount().value_or(rows.length));
  forEach(rows, [&](size_t row, size_t at) {
    double x = data.floats[at];
    if (rows.numbers == 2)
      result.floats[2 * row] += x / count;
    result.floats[rows.numbers * row + rows.numbers - 1] += x * x / count;
  });
  return evaluatedAs(std::move(result));
}

Evaluated LayerNormalizeOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Tensor data = *operands[0];
  addTensor(data, operands[4]);
  addTensor(data, operands[5]);
  std::vector<double> sum = data.floats;
  std::vector<RowMoments> moments = momentsOf(*operands[1], getEpsilon().convertToDouble());
  forEach(Rows(data.dims, operands[1]->dims), [&](size_t row, size_t at) {
    data.floats[at] = (data.floats[at] - moments[row].mean) * moments[row].inverse;
  });
  scaleTensor(data, operands[2]);
  addTensor(data, operands[3]);
  llvm::SmallVector<Tensor, 2> results{resultLike(getY(), std::move(data.floats))};
  results.push_back(isAbsent(getSum()) ? Tensor() : resultLike(getSum(), std::move(sum)));
  return results;
}

Evaluated LayerGradientStatisticsOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Tensor gradient = *operands[0], result = zeros(getMeans().getType());
  scaleTensor(gradient, operands[3]);
  std::vector<RowMoments> moments = momentsOf(*operands[2], getEpsilon().convertToDouble());
  Rows rows(gradient.dims, result.dims);
  double count = static_cast<double>(getCount().value_or(rows.length));
  forEach(rows, [&](size_t row, size_t at) {
    double q = gradient.floats[at], normal = (operands[1]->floats[at] - moments[row].mean) * moments[row].inverse;
    if (rows.numbers == 2)
      result.floats[2 * row] += q / count;
    result.floats[rows.numbers * row + rows.numbers - 1] += q * normal / count;
  });
  return evaluatedAs(std::move(result));
}

Evaluated LayerNormalizeGradOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  Tensor gradient = *operands[0];
  scaleTensor(gradient, operands[3]);
  std::vector<RowMoments> moments = momentsOf(*operands[2], getEpsilon().convertToDouble());
  llvm::ArrayRef<double> means = operands[4]->floats;
  Rows rows(gradient.dims, operands[4]->dims);
  forEach(rows, [&](size_t row, size_t at) {
    const RowMoments &own = moments[row];
    double normal = (operands[1]->floats[at] - own.mean) * own.inverse, mean = rows.numbers == 2 ? means[2 * row] : 0;
    double along = means[rows.numbers * row + rows.numbers - 1];
    gradient.floats[at] = own.inverse * (gradient.floats[at] - mean - normal * along);
  });
  return evaluatedAs(resultLike(getDX(), std::move(gradient.floats)));
}

Evaluated LayerNormalizeScaleGradOp::evaluate(Operands operands) {
  if (!areAllKnown(*this, operands))
    return std::nullopt;
  const Tensor &x = *operands[1];
  Tensor result = zeros(getDscale().getType());
  std::vector<RowMoments> moments = momentsOf(*operands[2], getEpsilon().convertToDouble());
  Rows rows(x.dims, operands[2]->dims);
  forEach(rows, [&](size_t row, size_t at) {
    double normal = (x.floats[at] - moments[row].mean) * moments[row].inverse;
    result.floats[at - row * rows.length] += operands[0]->floats[at] * normal;
  });
  return evaluatedAs(std::move(result));
}

} // namespace apc
