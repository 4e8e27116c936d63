// Reductions, arg max, top k and running sums.
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace apc {

namespace {

double combineReals(Reduce reduce, double a, double b) {
  switch (reduce) {
  case Reduce::Product:
    return a * b;
  case Reduce::Max:
    return std::isnan(a) || a > b ? a : b;
  case Reduce::Min:
    return std::isnan(a) || a < b ? a : b;
  default:
    return a + b;
  }
}

Number combine(Reduce reduce, Number a, Number b) {
  if (a.isFloat)
    return Number::of(combineReals(reduce, a.real, b.real));
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

/// The reduction of no elements: the bounds of the type for max and min.
Number neutral(Reduce reduce, mlir::Type element) {
  bool isProduct = reduce == Reduce::Product, isMax = reduce == Reduce::Max;
  if (!isMax && reduce != Reduce::Min)
    return llvm::isa<mlir::FloatType>(element) ? Number::of(isProduct ? 1.0 : 0.0) : Number::of(int64_t(isProduct));
  if (llvm::isa<mlir::FloatType>(element)) {
    double infinity = std::numeric_limits<double>::infinity();
    return Number::of(isMax ? -infinity : infinity);
  }
  unsigned width = std::min(element.getIntOrFloatBitWidth(), 64U);
  if (element.isInteger(1) || element.isUnsignedInteger())
    return Number::of(isMax ? 0 : static_cast<int64_t>(~uint64_t(0) >> (64 - width)));
  int64_t largest = std::numeric_limits<int64_t>::max() >> (64 - width);
  return Number::of(isMax ? -largest - 1 : largest);
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

} // namespace

namespace {

/// The operand's dims, 1 where reduced; none when axes are unknown or out of range.
std::optional<llvm::SmallVector<int64_t, 4>> keptDims(mlir::Operation *op, Operands operands) {
  bool mayHaveAxes = !isAbsent(op->getOperand(1));
  if (!operands[0] || (mayHaveAxes && !operands[1]))
    return std::nullopt;
  llvm::SmallVector<int64_t, 4> kept(operands[0]->dims);
  llvm::ArrayRef<int64_t> axes = mayHaveAxes ? llvm::ArrayRef(operands[1]->ints) : llvm::ArrayRef<int64_t>();
  auto noop = op->getAttrOfType<mlir::IntegerAttr>("noop_with_empty_axes");
  if (axes.empty() && !(noop && noop.getInt() != 0))
    kept.assign(kept.size(), 1);
  for (int64_t axis : axes) {
    auto dim = dimAt(axis, kept.size());
    if (!dim)
      return std::nullopt;
    kept[*dim] = 1;
  }
  return kept;
}

/// The value that an element adds to its reduction.
Number before(Reduce reduce, Number x) {
  if (reduce == Reduce::L1)
    return x.isFloat ? Number::of(std::fabs(x.real)) : Number::of(x.integer < 0 ? -x.integer : x.integer);
  if (reduce == Reduce::SumSquare)
    return x.isFloat ? Number::of(x.real * x.real) : Number::of(*wrappingMultiply(x.integer, x.integer));
  if (reduce == Reduce::L2)
    return Number::of(x.asReal() * x.asReal());
  return reduce == Reduce::LogSum ? Number::of(x.asReal()) : x;
}

/// The result of a reduction of `count` elements.
Number after(Reduce reduce, Number x, int64_t count) {
  if (reduce == Reduce::L2)
    return Number::of(std::sqrt(x.asReal()));
  if (reduce == Reduce::LogSum || reduce == Reduce::LogSumExp)
    return Number::of(std::log(x.asReal()));
  if (reduce != Reduce::Mean || (!x.isFloat && count == 0))
    return x;
  return x.isFloat ? Number::of(x.real / static_cast<double>(count)) : Number::of(x.integer / count);
}

/// Calls `visit` with the flat index of each element of `data` and the flat index of its result.
void forEachReduced(const Tensor &data, llvm::ArrayRef<int64_t> kept,
                    llvm::function_ref<void(int64_t, int64_t)> visit) {
  BroadcastWalk walk({kept}, data.dims);
  for (int64_t i = 0, count = data.numElements(); i < count; ++i, walk.next())
    visit(i, walk[0]);
}

/// log(sum(exp(x))) as m + log(sum(exp(x - m))) with m the greatest.
Evaluated evaluateLogSumExp(mlir::Operation *op, const Tensor &data, llvm::ArrayRef<int64_t> kept) {
  Tensor result = zeros(op->getResult(0).getType());
  auto count = static_cast<size_t>(result.numElements());
  std::vector<double> greatest(count, -std::numeric_limits<double>::infinity()), sums(count, 0);
  forEachReduced(data, kept, [&](int64_t from, int64_t to) {
    greatest[to] = combineReals(Reduce::Max, greatest[to], getElement(data, from).asReal());
  });
  for (double &value : greatest)
    value = std::isinf(value) ? 0 : value;
  forEachReduced(data, kept, [&](int64_t from, int64_t to) {
    sums[to] += std::exp(getElement(data, from).asReal() - greatest[to]);
  });
  for (size_t i = 0; i < count; ++i)
    setElement(result, static_cast<int64_t>(i), Number::of(greatest[i] + std::log(sums[i])));
  return evaluatedAs(std::move(result));
}

} // namespace

Evaluated evaluateReduction(mlir::Operation *op, Operands operands, Reduce reduce, std::optional<uint64_t> count) {
  auto kept = keptDims(op, operands);
  if (!kept)
    return std::nullopt;
  const Tensor &data = *operands[0];
  if (reduce == Reduce::LogSumExp)
    return evaluateLogSumExp(op, data, *kept);
  Tensor result = zeros(op->getResult(0).getType());
  bool inReals = data.isFloat() || reduce == Reduce::L2 || reduce == Reduce::LogSum;
  mlir::Type accumulated = inReals ? mlir::Float64Type::get(op->getContext()) : data.element;
  std::vector<Number> values(result.numElements(), neutral(reduce, accumulated));
  forEachReduced(data, *kept, [&](int64_t from, int64_t to) {
    values[to] = combine(reduce, values[to], before(reduce, getElement(data, from)));
  });
  int64_t perResult = values.empty() ? 0 : data.numElements() / static_cast<int64_t>(values.size());
  auto divisor = count ? static_cast<int64_t>(*count) : perResult;
  for (auto [i, value] : llvm::enumerate(values))
    if (!setElement(result, static_cast<int64_t>(i), after(reduce, value, divisor)))
      return std::nullopt;
  return evaluatedAs(std::move(result));
}

namespace {

/// Whether x stands before y where the largest (or smallest) come first; NaN is the largest.
bool isBetter(Number x, Number y, bool largest) {
  if (!x.isFloat)
    return largest ? x.integer > y.integer : x.integer < y.integer;
  if (std::isnan(x.real) || std::isnan(y.real))
    return largest ? std::isnan(x.real) && !std::isnan(y.real) : !std::isnan(x.real) && std::isnan(y.real);
  return largest ? x.real > y.real : x.real < y.real;
}

} // namespace

// A NaN wins over all numbers, the first NaN over the others.
Evaluated evaluateArgReduction(mlir::Operation *op, Operands operands, Reduce reduce, int64_t axis, bool last) {
  const Tensor *data = operands[0];
  auto dim = data ? dimAt(axis, data->dims.size()) : std::nullopt;
  if (!dim || data->dims[*dim] == 0)
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  Lines lines(data->dims, *dim);
  bool largest = reduce == Reduce::Max;
  for (int64_t line = 0; line < lines.count(); ++line) {
    int64_t best = 0;
    for (int64_t position = 1; position < lines.length; ++position) {
      Number x = getElement(*data, lines.index(line, position)), y = getElement(*data, lines.index(line, best));
      bool isNaN = x.isFloat && std::isnan(x.real), wasNaN = y.isFloat && std::isnan(y.real);
      bool isEqual = isNaN == wasNaN && (isNaN || (x.isFloat ? x.real == y.real : x.integer == y.integer));
      bool wins = isNaN != wasNaN ? isNaN : isBetter(x, y, largest);
      if (isEqual ? last : wins)
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
    Number total = neutral(reduce, data->element);
    for (int64_t step = 0; step < lines.length; ++step) {
      int64_t index = lines.index(line, reverse ? lines.length - 1 - step : step);
      Number next = combine(reduce, total, getElement(*data, index));
      setElement(result, index, exclusive ? total : next);
      total = next;
    }
  }
  return evaluatedAs(result);
}

// Equal elements keep their order.
Evaluated TopKOp::evaluate(Operands operands) {
  const Tensor *data = operands[0];
  auto dim = data ? dimAt(getAxis(), data->dims.size()) : std::nullopt;
  if (!dim)
    return std::nullopt;
  Tensor values = zeros(getValues().getType()), indices = zeros(getIndices().getType());
  Lines from(data->dims, *dim), to(values.dims, *dim);
  std::vector<int64_t> positions(from.length);
  bool largest = getLargest() != 0;
  for (int64_t line = 0; line < from.count(); ++line) {
    std::iota(positions.begin(), positions.end(), 0);
    std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
      return isBetter(getElement(*data, from.index(line, a)), getElement(*data, from.index(line, b)), largest);
    });
    for (int64_t k = 0; k < to.length; ++k) {
      setElement(values, to.index(line, k), getElement(*data, from.index(line, positions[k])));
      indices.ints[to.index(line, k)] = positions[k];
    }
  }
  return llvm::SmallVector<Tensor, 1>{std::move(values), std::move(indices)};
}

} // namespace apc
