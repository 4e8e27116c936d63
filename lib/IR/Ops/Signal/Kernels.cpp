// Kernels of Fourier transforms and determinants.
#include "Signal.h"
#include "apc/IR/Kernels/Evaluate.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

namespace apc {

namespace {

using Complex = std::complex<double>;
using Points = std::vector<Complex>;

int64_t leastFactor(int64_t n) {
  for (int64_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0)
      return factor;
  return n;
}

/// The sums over j of x[first + j step] root^(j k), k = 0, 1, ..., count - 1; `roots` holds the powers of the root of
/// the whole, whose `count * step` points it goes once around. Source: Cooley and Tukey, An Algorithm for the Machine
/// Calculation of Complex Fourier Series, 1965.
Points transform(const Points &x, int64_t first, int64_t count, int64_t step, const Points &roots) {
  if (count == 1)
    return {x[first]};
  int64_t factor = leastFactor(count), part = count / factor;
  std::vector<Points> parts;
  for (int64_t i = 0; i < factor; ++i)
    parts.push_back(transform(x, first + i * step, part, step * factor, roots));
  Points result(count);
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < factor; ++i)
      result[k] += parts[i][k % part] * roots[i * k % count * step];
  return result;
}

/// Around the circle by k of `count` steps; quarters are exact.
Complex turn(int64_t k, int64_t count) {
  static constexpr double quarters[] = {1, 0, -1, 0, 1};
  if (4 * k % count == 0)
    return {quarters[4 * k / count], quarters[(4 * k / count + 3) % 4]};
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count));
}

/// The discrete Fourier transform; `inverse` has the other sign and divides by the number of points.
Points transformed(const Points &x, bool inverse) {
  auto count = static_cast<int64_t>(x.size());
  Points roots(count);
  for (int64_t k = 0; k < count; ++k)
    roots[k] = inverse ? turn(k, count) : std::conj(turn(k, count));
  Points result = transform(x, 0, count, 1, roots);
  for (Complex &value : result)
    value /= inverse ? static_cast<double>(count) : 1.0;
  return result;
}

/// A tensor [..., n, ..., parts] seen as lines of n points.
struct LinesOfPoints {
  Tensor &tensor;
  int64_t length, inner, parts;

  LinesOfPoints(Tensor &tensor, size_t dim) : tensor(tensor), length(tensor.dims[dim]), parts(tensor.dims.back()) {
    inner = 1;
    for (int64_t size : llvm::ArrayRef(tensor.dims).drop_front(dim + 1).drop_back())
      inner *= size;
  }
  int64_t place(int64_t line, int64_t point) const {
    return ((line / inner * length + point) * inner + line % inner) * parts;
  }
  Complex get(int64_t line, int64_t point) const {
    const double *at = tensor.floats.data() + place(line, point);
    return {at[0], parts > 1 ? at[1] : 0};
  }
  void set(int64_t line, int64_t point, Complex value) const {
    double *at = tensor.floats.data() + place(line, point);
    at[0] = value.real();
    if (parts > 1)
      at[1] = value.imag();
  }
};

/// The upper half of the spectrum of a real signal, from the lower one.
void mirror(Points &points, int64_t known) {
  auto count = static_cast<int64_t>(points.size());
  for (int64_t k = known; k < count; ++k)
    points[k] = std::conj(points[count - k]);
}

double determinant(std::vector<double> matrix, int64_t size) {
  double result = 1;
  for (int64_t column = 0; column < size; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < size; ++row)
      if (std::fabs(matrix[row * size + column]) > std::fabs(matrix[pivot * size + column]))
        pivot = row;
    double head = matrix[pivot * size + column];
    result *= pivot == column ? head : -head;
    if (head == 0)
      return 0;
    for (int64_t k = column; k < size && pivot != column; ++k)
      std::swap(matrix[pivot * size + k], matrix[column * size + k]);
    for (int64_t row = column + 1; row < size; ++row) {
      double factor = matrix[row * size + column] / head;
      for (int64_t k = column; k < size; ++k)
        matrix[row * size + k] -= factor * matrix[column * size + k];
    }
  }
  return result;
}

/// A matrix brought to the form [1, v; 0, d] by row operations `rows` and exchanges of columns: column j of the form is
/// column `order[j]`. `scale` is the determinant of the way back.
struct Reduced {
  std::vector<double> matrix, rows;
  std::vector<int64_t> order;
  double scale = 1;
};

/// The row and the column of the greatest element from row and column `step` on.
std::pair<int64_t, int64_t> greatestFrom(llvm::ArrayRef<double> matrix, int64_t size, int64_t step) {
  std::pair<int64_t, int64_t> at = {step, step};
  for (int64_t row = step; row < size; ++row)
    for (int64_t column = step; column < size; ++column)
      if (std::fabs(matrix[row * size + column]) > std::fabs(matrix[at.first * size + at.second]))
        at = {row, column};
  return at;
}

/// Gauss and Jordan's elimination of all columns but the last, with the greatest element left as pivot; none where all
/// that are left are 0, so that all cofactors are.
std::optional<Reduced> reduce(std::vector<double> matrix, int64_t size) {
  Reduced r{std::move(matrix), std::vector<double>(size * size, 0), std::vector<int64_t>(size), 1};
  std::iota(r.order.begin(), r.order.end(), 0);
  for (int64_t i = 0; i < size; ++i)
    r.rows[i * size + i] = 1;
  for (int64_t step = 0; step + 1 < size; ++step) {
    auto [row, column] = greatestFrom(r.matrix, size, step);
    double head = r.matrix[row * size + column];
    if (head == 0)
      return std::nullopt;
    r.scale *= (row == step) == (column == step) ? head : -head;
    std::swap(r.order[step], r.order[column]);
    for (int64_t i = 0; i < size; ++i)
      std::swap(r.matrix[i * size + step], r.matrix[i * size + column]);
    for (std::vector<double> *side : {&r.matrix, &r.rows})
      for (int64_t j = 0; j < size; ++j) {
        std::swap((*side)[step * size + j], (*side)[row * size + j]);
        (*side)[step * size + j] /= head;
      }
    for (int64_t i = 0; i < size; ++i) {
      double factor = i == step ? 0 : r.matrix[i * size + step];
      for (int64_t j = 0; factor != 0 && j < size; ++j) {
        r.matrix[i * size + j] -= factor * r.matrix[step * size + j];
        r.rows[i * size + j] -= factor * r.rows[step * size + j];
      }
    }
  }
  return r;
}

/// Those of a product are the product of those of its factors; those of [1, v; 0, d] are [d, 0; -v', 1].
void writeCofactors(const double *matrix, int64_t size, double *result) {
  auto reduced = reduce({matrix, matrix + size * size}, size);
  if (!reduced)
    return;
  int64_t last = size - 1;
  double rest = reduced->matrix[last * size + last];
  const double *ofLast = reduced->rows.data() + last * size;
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < last; ++j)
      result[i * size + reduced->order[j]] =
          reduced->scale * (rest * reduced->rows[j * size + i] - reduced->matrix[j * size + last] * ofLast[i]);
    result[i * size + reduced->order[last]] = reduced->scale * ofLast[i];
  }
}

} // namespace

Evaluated DFTOp::evaluate(Operands operands) {
  auto dft = readDft(*this);
  if (!operands[0] || mlir::failed(dft) || (!isAbsent(getDftLength()) && !operands[1]))
    return std::nullopt;
  Tensor data = *operands[0], result = zeros(getOutput().getType());
  LinesOfPoints from(data, dft->dim), to(result, dft->dim);
  bool inverse = getInverse() != 0, half = getOnesided() != 0;
  int64_t length = dft->length;
  int64_t known = inverse && half ? length / 2 + 1 : length;
  int64_t lines = to.length == 0 ? 0 : result.numElements() / (to.length * to.parts);
  for (int64_t line = 0; line < lines; ++line) {
    Points points(length);
    for (int64_t k = 0; k < std::min(known, from.length); ++k)
      points[k] = from.get(line, k);
    if (known < length)
      mirror(points, known);
    points = transformed(points, inverse);
    for (int64_t k = 0; k < to.length; ++k)
      to.set(line, k, points[k]);
  }
  return evaluatedAs(std::move(result));
}

Evaluated STFTOp::evaluate(Operands operands) {
  const Tensor *window = isAbsent(getWindow()) ? nullptr : operands[2];
  if (!operands[0] || !operands[1] || (!isAbsent(getWindow()) && !window) ||
      (!isAbsent(getFrameLength()) && !operands[3]))
    return std::nullopt;
  Tensor signal = *operands[0], result = zeros(getOutput().getType());
  if (signal.dims.size() == 2)
    signal.dims.push_back(1);
  LinesOfPoints from(signal, 1);
  int64_t step = operands[1]->ints[0], frames = result.dims[1], bins = result.dims[2];
  int64_t length = isAbsent(getFrameLength()) ? window->numElements() : operands[3]->ints[0];
  for (int64_t i = 0; i < result.dims[0] * frames; ++i) {
    Points points(length);
    for (int64_t k = 0; k < length; ++k) {
      points[k] = from.get(i / frames, i % frames * step + k);
      if (window)
        points[k] *= k < window->numElements() ? getElement(*window, k).asReal() : 0;
    }
    points = transformed(points, false);
    for (int64_t k = 0; k < bins; ++k) {
      result.floats[(i * bins + k) * 2] = points[k].real();
      result.floats[(i * bins + k) * 2 + 1] = points[k].imag();
    }
  }
  return evaluatedAs(std::move(result));
}

Evaluated DetOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  int64_t size = operands[0]->dims.back();
  for (auto [i, value] : llvm::enumerate(result.floats)) {
    auto begin = operands[0]->floats.begin() + static_cast<int64_t>(i) * size * size;
    value = determinant({begin, begin + size * size}, size);
  }
  return evaluatedAs(std::move(result));
}

Evaluated CofactorsOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  int64_t size = operands[0]->dims.back(), area = size * size;
  for (int64_t at = 0, count = result.numElements(); at < count; at += area)
    writeCofactors(operands[0]->floats.data() + at, size, result.floats.data() + at);
  return evaluatedAs(std::move(result));
}

} // namespace apc
