// Kernels of pools: the maximum, the mean or the norm of each window, and the way back.
#include "Convolution.h"
#include "WindowWalk.h"

#include <cmath>
#include <limits>

namespace apc {

namespace {

using Reals = std::vector<double>;

/// Planes [n * c] of windows over data.
struct Planes {
  llvm::SmallVector<WindowDim, 3> windows;
  std::vector<WindowRun> runs;
  int64_t count = 0, input = 0, output = 0;

  /// Calls `visit(output position, data position)` for every point of every window that is not a pad, kernel points in
  /// order.
  template <typename Visit>
  void forEachPoint(Visit visit) const {
    for (int64_t plane = 0; plane < count; ++plane)
      for (const WindowRun &run : runs)
        for (int64_t i = 0; i < run.count; ++i)
          visit(plane * output + run.first + i, plane * input + run.data + i * run.step);
  }
};

std::optional<Planes> planesOf(const mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> &windows, Operands operands) {
  if (mlir::failed(windows) || llvm::is_contained(operands, nullptr))
    return std::nullopt;
  Planes planes{*windows, windowRuns(*windows), 0, countInputs(*windows), countOutputs(*windows)};
  planes.count = operands[0]->dims[0] * operands[0]->dims[1];
  return planes;
}

std::optional<Planes> readPlanes(mlir::Operation *op, Operands operands) { return planesOf(readPool(op), operands); }

/// The maximum of each window and the first position at which it stands, -1 for windows of pads.
struct Maxima {
  Reals greatest;
  std::vector<int64_t> places;

  Maxima(const Planes &planes, const Reals &data)
      : greatest(planes.count * planes.output, -std::numeric_limits<double>::infinity()),
        places(planes.count * planes.output, -1) {
    planes.forEachPoint([&](int64_t to, int64_t from) {
      if (places[to] >= 0 && !(data[from] > greatest[to]) && !(std::isnan(data[from]) && !std::isnan(greatest[to])))
        return;
      greatest[to] = data[from];
      places[to] = from;
    });
  }
};

/// A position in a plane of the row-major order, seen with the first spatial dim innermost: 5 of [2, 3] is (1, 2), that
/// is 2 * 2 + 1.
int64_t columnMajor(int64_t position, llvm::ArrayRef<WindowDim> windows) {
  llvm::SmallVector<int64_t, 3> index(windows.size());
  for (size_t dim = windows.size(); dim-- > 0; position /= windows[dim].input)
    index[dim] = position % windows[dim].input;
  int64_t result = 0;
  for (size_t dim = windows.size(); dim-- > 0;)
    result = result * windows[dim].input + index[dim];
  return result;
}

double powered(double x, int64_t p) {
  return p == 1 ? std::fabs(x) : p == 2 ? x * x : std::pow(std::fabs(x), static_cast<double>(p));
}
double rooted(double sum, int64_t p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1.0 / static_cast<double>(p));
}

} // namespace

Reals countPoints(llvm::SmallVector<WindowDim, 3> windows, bool countPads) {
  for (WindowDim &window : windows) {
    if (!countPads)
      continue;
    window.input += window.padBegin + window.padEnd;
    window.padBegin = window.padEnd = 0;
  }
  Reals counts(countOutputs(windows), 0);
  for (const WindowRun &run : windowRuns(windows))
    for (int64_t i = 0; i < run.count; ++i)
      ++counts[run.first + i];
  return counts;
}

Evaluated MaxPoolOp::evaluate(Operands operands) {
  auto planes = readPlanes(*this, operands);
  if (!planes)
    return std::nullopt;
  Maxima maxima(*planes, realsOf(*operands[0]));
  Evaluated results = evaluatedAsReals(*this, std::move(maxima.greatest));
  if (!results)
    return std::nullopt;
  if (isAbsent(getIndices())) {
    results->emplace_back();
    return results;
  }
  Tensor indices = zeros(getIndices().getType());
  for (auto [i, place] : llvm::enumerate(maxima.places))
    indices.ints[i] = getStorageOrder() == 0 || place < 0
                          ? place
                          : place / planes->input * planes->input + columnMajor(place % planes->input, planes->windows);
  results->push_back(std::move(indices));
  return results;
}

Evaluated AveragePoolOp::evaluate(Operands operands) {
  auto planes = readPlanes(*this, operands);
  if (!planes)
    return std::nullopt;
  Reals data = realsOf(*operands[0]), sums(planes->count * planes->output, 0);
  planes->forEachPoint([&](int64_t to, int64_t from) { sums[to] += data[from]; });
  Reals counts = countPoints(planes->windows, getCountIncludePad() != 0);
  // 2 points of 4 count double.
  double share = 1;
  if (auto whole = getWholeKernel())
    for (auto [part, size] : llvm::zip_equal(getKernelShape(), *whole))
      share *= static_cast<double>(size) / static_cast<double>(part);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum /= counts[static_cast<int64_t>(i) % planes->output] * share;
  return evaluatedAsReals(*this, std::move(sums));
}

Evaluated MaxPoolGradOp::evaluate(Operands operands) {
  auto planes = planesOf(readPoolGradient(*this), operands);
  if (!planes)
    return std::nullopt;
  Maxima maxima(*planes, realsOf(*operands[1]));
  Reals result(planes->count * planes->input, 0);
  for (auto [gradient, place] : llvm::zip_equal(operands[0]->floats, maxima.places))
    if (place >= 0)
      result[place] += gradient;
  return evaluatedAsReals(*this, std::move(result));
}

Evaluated AveragePoolGradOp::evaluate(Operands operands) {
  auto planes = planesOf(readPoolGradient(*this), operands);
  if (!planes)
    return std::nullopt;
  Reals counts = countPoints(planes->windows, getCountIncludePad() != 0), result(planes->count * planes->input, 0);
  planes->forEachPoint([&](int64_t window, int64_t point) {
    result[point] += operands[0]->floats[window] / counts[window % planes->output];
  });
  return evaluatedAsReals(*this, std::move(result));
}

Evaluated LpPoolOp::evaluate(Operands operands) {
  auto planes = readPlanes(*this, operands);
  if (!planes)
    return std::nullopt;
  auto p = static_cast<int64_t>(getP());
  Reals data = realsOf(*operands[0]), sums(planes->count * planes->output, 0);
  planes->forEachPoint([&](int64_t to, int64_t from) { sums[to] += powered(data[from], p); });
  for (double &sum : sums)
    sum = rooted(sum, p);
  return evaluatedAsReals(*this, std::move(sums));
}

Evaluated evaluateGlobalPool(mlir::Operation *op, Operands operands, Pool pool, int64_t p,
                             std::optional<uint64_t> count) {
  if (!operands[0])
    return std::nullopt;
  Reals data = realsOf(*operands[0]), result(operands[0]->dims[0] * operands[0]->dims[1]);
  size_t plane = result.empty() ? 0 : data.size() / result.size();
  for (auto [i, value] : llvm::enumerate(result)) {
    value = pool == Pool::Max ? -std::numeric_limits<double>::infinity() : 0;
    for (double x : llvm::ArrayRef(data).slice(i * plane, plane)) {
      if (pool == Pool::Max)
        value = x > value || std::isnan(x) ? x : value;
      else
        value += pool == Pool::Norm ? powered(x, p) : x;
    }
    if (pool == Pool::Norm)
      value = rooted(value, p);
    if (pool == Pool::Average)
      value /= static_cast<double>(count.value_or(plane));
  }
  return evaluatedAsReals(op, std::move(result));
}

// Positions count over the sizes that follow from the windows; a larger `output_shape` has zeros behind.
Evaluated MaxUnpoolOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  llvm::ArrayRef<int64_t> input = operands[0]->dims;
  auto windows = readWindowAttributes(*this, input.drop_front(2), {});
  if (mlir::failed(windows))
    return std::nullopt;
  Tensor result = zeros(getOutput().getType());
  llvm::SmallVector<int64_t, 5> dims(input);
  for (auto [index, window] : llvm::enumerate(*windows))
    dims[index + 2] = (window.input - 1) * window.stride + window.span() - window.padBegin - window.padEnd;
  for (int64_t i = 0, count = operands[0]->numElements(); i < count; ++i) {
    int64_t rest = operands[1]->ints[i], position = 0, size = 1;
    bool isInside = rest >= 0;
    for (size_t dim = dims.size(); dim-- > 0 && isInside; rest /= std::max<int64_t>(dims[dim], 1)) {
      int64_t place = dim == 0 ? rest : rest % std::max<int64_t>(dims[dim], 1);
      isInside = place < result.dims[dim];
      position += place * size;
      size *= result.dims[dim];
    }
    if (isInside)
      setElement(result, position, getElement(*operands[0], i));
  }
  return evaluatedAs(std::move(result));
}

} // namespace apc
