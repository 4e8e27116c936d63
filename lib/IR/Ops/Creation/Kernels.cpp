// Kernels that make windows and mel filters for signal processing.
#include "Creation.h"

#include "apc/IR/Kernels/Evaluate.h"

#include <cmath>
#include <numbers>

namespace apc {

Evaluated evaluateWindow(mlir::Operation *op, std::array<double, 3> coefficients, bool periodic) {
  Tensor result = zeros(op->getResult(0).getType());
  int64_t size = result.numElements();
  auto period = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  for (int64_t n = 0; n < size; ++n) {
    double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    double value = coefficients[0] - coefficients[1] * std::cos(angle) + coefficients[2] * std::cos(2 * angle);
    setElement(result, n, Number::of(value));
  }
  return evaluatedAs(std::move(result));
}

namespace {

constexpr double melScale = 2595, melBreak = 700;

double melOf(double hertz) { return melScale * std::log10(1 + hertz / melBreak); }
double hertzOf(double mel) { return melBreak * (std::pow(10.0, mel / melScale) - 1); }

/// Column `column` rises from 0 at bin `low` to 1 at `centre` and falls to 0 at `high`.
void fillTriangle(Tensor &matrix, int64_t column, int64_t low, int64_t centre, int64_t high) {
  auto set = [&](int64_t bin, double value) {
    if (bin >= 0 && bin < matrix.dims[0])
      setElement(matrix, bin * matrix.dims[1] + column, Number::of(value));
  };
  if (low == centre)
    set(centre, 1);
  for (int64_t bin = low; low < centre && bin <= centre; ++bin)
    set(bin, static_cast<double>(bin - low) / static_cast<double>(centre - low));
  for (int64_t bin = centre; bin < high; ++bin)
    set(bin, static_cast<double>(high - bin) / static_cast<double>(high - centre));
}

} // namespace

Evaluated MelWeightMatrixOp::evaluate(Operands operands) {
  if (llvm::any_of(operands, [](const Tensor *t) { return !t || t->numElements() != 1; }))
    return std::nullopt;
  Tensor matrix = zeros(getOutput().getType());
  int64_t columns = matrix.dims[1];
  double length = getElement(*operands[1], 0).asReal(), sampleRate = getElement(*operands[2], 0).asReal();
  double low = melOf(getElement(*operands[3], 0).asReal()), high = melOf(getElement(*operands[4], 0).asReal());
  double step = (high - low) / static_cast<double>(columns + 2);
  auto binOf = [&](int64_t edge) {
    double hertz = hertzOf(low + step * static_cast<double>(edge));
    return static_cast<int64_t>(std::floor((length + 1) * hertz / sampleRate));
  };
  for (int64_t column = 0; column < columns; ++column)
    fillTriangle(matrix, column, binOf(column), binOf(column + 1), binOf(column + 2));
  return evaluatedAs(std::move(matrix));
}

} // namespace apc
