// Reductions, arg max, top k and running sums of small constants.
#include "apc/IR/Ops/Reduction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace apc {

namespace {

Number combine(Reduce reduce, Number a, Number b) {
  if (a.isFloat) {
    switch (reduce) {
    case Reduce::Sum:
    case Reduce::Mean:
      return Number::of(a.real + b.real);
    case Reduce::Product:
      return Number::of(a.real * b.real);
    case Reduce::Max:
      return Number::of(std::fmax(a.real, b.real));
    case Reduce::Min:
      return Number::of(std::fmin(a.real, b.real));
    }
  }
  switch (reduce) {
  case Reduce::Product:
    return Number::of(*wrappingMultiply(a.integer, b.integer));
  case Reduce::Max:
    return Number::of(std::max(a.integer, b.integer));
  case Reduce::Min:
    return Number::of(std::min(a.integer, b.integer));
  default:
    return Number::of(*wrappingAdd(a.integer, b.integer));
  }
}

/// What no elements reduce to; empty for max and min, which have no bound to give, and for the mean.
std::optional<Number> neutral(Reduce reduce, bool isFloat) {
  if (reduce != Reduce::Sum && reduce != Reduce::Product)
    return std::nullopt;
  int64_t value = reduce == Reduce::Product;
  return isFloat ? Number::of(static_cast<double>(value)) : Number::of(value);
}

/// A tensor seen along one dim: element (outer, position, inner).
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;

  Lines(llvm::ArrayRef<int64_t> dims, size_t along) {
    for (size_t dim = 0; dim < dims.size(); ++dim)
      (dim < along ? outer : dim == along ? length : inner) *= dims[dim];
  }
  int64_t index(int64_t line, int64_t position) const {
    return ((line / inner) * length + position) * inner + line % inner;
  }
  int64_t count() const { return outer * inner; }
};

std::optional<size_t> dimAt(int64_t axis, size_t numDims) {
  auto count = static_cast<int64_t>(numDims);
  if (axis < -count || axis >= count)
    return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

/// Positions along a line, best first; equal elements keep their order.
std::vector<int64_t> sortedPositions(const Tensor &tensor, const Lines &lines, int64_t line, bool largest) {
  std::vector<int64_t> positions(lines.length);
  std::iota(positions.begin(), positions.end(), 0);
  auto better = [&](int64_t a, int64_t b) {
    Number x = getElement(tensor, lines.index(line, largest ? a : b));
    Number y = getElement(tensor, lines.index(line, largest ? b : a));
    return x.isFloat ? x.real > y.real : x.integer > y.integer;
  };
  std::stable_sort(positions.begin(), positions.end(), better);
  return positions;
}

bool hasNaN(const Tensor &tensor) {
  return llvm::any_of(tensor.floats, [](double value) { return std::isnan(value); });
}

} // namespace

Evaluated evaluateReduction(mlir::Operation *op, Operands operands, Reduce reduce) {
  const Tensor *data = operands[0];
  const Tensor *axes = isAbsent(op->getOperand(1)) ? nullptr : operands[1];
  if (!data || (!axes && !isAbsent(op->getOperand(1))))
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  // The result as if dims had been kept: 1 where reduced.
  llvm::SmallVector<int64_t, 4> kept(data->dims);
  auto noop = op->getAttrOfType<mlir::IntegerAttr>("noop_with_empty_axes");
  bool hasAxes = axes && !axes->ints.empty();
  if (!hasAxes && !(noop && noop.getInt() != 0))
    kept.assign(kept.size(), 1);
  for (int64_t axis : hasAxes ? axes->ints : std::vector<int64_t>()) {
    auto dim = dimAt(axis, kept.size());
    if (!dim)
      return std::nullopt;
    kept[*dim] = 1;
  }
  std::vector<std::optional<Number>> values(result.numElements());
  for (int64_t i = 0, count = data->numElements(); i < count; ++i) {
    std::optional<Number> &value = values[broadcastIndex(kept, data->dims, i)];
    Number element = getElement(*data, i);
    value = value ? combine(reduce, *value, element) : element;
  }
  int64_t perResult = values.empty() ? 0 : data->numElements() / static_cast<int64_t>(values.size());
  for (auto [i, value] : llvm::enumerate(values)) {
    value = value ? value : neutral(reduce, data->isFloat());
    if (!value)
      return std::nullopt;
    if (reduce == Reduce::Mean)
      value = value->isFloat ? Number::of(value->real / static_cast<double>(perResult))
                             : Number::of(value->integer / perResult);
    setElement(result, static_cast<int64_t>(i), *value);
  }
  return evaluatedAs(result);
}

Evaluated evaluateArgReduction(mlir::Operation *op, Operands operands, Reduce reduce, int64_t axis, bool last) {
  const Tensor *data = operands[0];
  auto dim = data ? dimAt(axis, data->dims.size()) : std::nullopt;
  if (!dim || data->dims[*dim] == 0 || hasNaN(*data))
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  Lines lines(data->dims, *dim);
  for (int64_t line = 0; line < lines.count(); ++line) {
    int64_t best = 0;
    for (int64_t position = 1; position < lines.length; ++position) {
      Number x = getElement(*data, lines.index(line, position)), y = getElement(*data, lines.index(line, best));
      bool isEqual = x.isFloat ? x.real == y.real : x.integer == y.integer;
      bool isLarger = x.isFloat ? x.real > y.real : x.integer > y.integer;
      if (isEqual ? last : isLarger == (reduce == Reduce::Max))
        best = position;
    }
    result.ints[line] = best;
  }
  return evaluatedAs(result);
}

Evaluated evaluateRunning(mlir::Operation *op, Operands operands, Reduce reduce, bool exclusive, bool reverse) {
  const Tensor *data = operands[0], *axis = operands[1];
  if (!data || !axis || axis->ints.size() != 1)
    return std::nullopt;
  auto dim = dimAt(axis->ints[0], data->dims.size());
  if (!dim)
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  Lines lines(data->dims, *dim);
  for (int64_t line = 0; line < lines.count(); ++line) {
    Number total = *neutral(reduce, data->isFloat());
    for (int64_t step = 0; step < lines.length; ++step) {
      int64_t index = lines.index(line, reverse ? lines.length - 1 - step : step);
      Number next = combine(reduce, total, getElement(*data, index));
      setElement(result, index, exclusive ? total : next);
      total = next;
    }
  }
  return evaluatedAs(result);
}

Evaluated TopKOp::evaluate(Operands operands) {
  const Tensor *data = operands[0];
  auto dim = data ? dimAt(getAxis(), data->dims.size()) : std::nullopt;
  if (!dim || hasNaN(*data))
    return std::nullopt;
  Tensor values = zeros(getValues().getType()), indices = zeros(getIndices().getType());
  Lines from(data->dims, *dim), to(values.dims, *dim);
  for (int64_t line = 0; line < from.count(); ++line) {
    std::vector<int64_t> positions = sortedPositions(*data, from, line, getLargest());
    for (int64_t k = 0; k < to.length; ++k) {
      setElement(values, to.index(line, k), getElement(*data, from.index(line, positions[k])));
      indices.ints[to.index(line, k)] = positions[k];
    }
  }
  return llvm::SmallVector<Tensor, 1>{std::move(values), std::move(indices)};
}

} // namespace apc
