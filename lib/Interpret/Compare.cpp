// Element by element, with tolerances.
#include "apc/Interpret/Compare.h"

#include "apc/IR/RuleBuilder.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace apc {

double largestMagnitude(const Tensor &tensor) {
  double largest = 0;
  for (double value : tensor.floats)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return largest;
}

Tolerance onnxTolerance(const Tensor &expected, unsigned numOps) {
  constexpr double unit = 0x1p-23;
  double roundings = std::sqrt(std::max(1.0, static_cast<double>(numOps)));
  Tolerance tolerance;
  tolerance.absolute = std::max(tolerance.absolute, unit * roundings * largestMagnitude(expected));
  if (expected.element.isF16() || expected.element.isBF16()) {
    double fourUnits = expected.element.isF16() ? 0x1p-8 : 0x1p-5;
    tolerance = {fourUnits, fourUnits / 4};
  }
  return tolerance;
}

/// "[2, 3] f32".
static std::string typeText(const Tensor &tensor) {
  std::string text = printDims(tensor.dims);
  llvm::raw_string_ostream(text) << " " << tensor.element;
  return text;
}

static bool isClose(double got, double expected, Tolerance tolerance) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected))
    return got == expected;
  return std::abs(got - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

/// The index of the element at a row-major position: 5 in [2, 3] is [1, 2].
static std::string indexText(int64_t position, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t, 4> index(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    index[dim] = position % dims[dim];
    position /= dims[dim];
  }
  return printDims(index);
}

std::optional<std::string> findDifference(const Tensor &got, const Tensor &expected, Tolerance tolerance) {
  if (got.dims != expected.dims || got.element != expected.element)
    return "is " + typeText(got) + ", expected " + typeText(expected);
  // Sums of large terms that cancel keep the rounding of the terms: where spectra reach 50, 2e-7 is a zero.
  double largest = 0;
  for (double value : expected.floats)
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  tolerance.absolute = std::max(tolerance.absolute, largest * 0x1p-23);
  int64_t first = -1, count = 0;
  for (int64_t i = 0, end = expected.numElements(); i < end; ++i) {
    auto at = static_cast<size_t>(i);
    bool same = expected.isFloat() ? isClose(got.floats[at], expected.floats[at], tolerance)
                                   : got.ints[at] == expected.ints[at];
    if (same)
      continue;
    first = first < 0 ? i : first;
    ++count;
  }
  if (count == 0)
    return std::nullopt;
  auto at = static_cast<size_t>(first);
  std::string values = expected.isFloat() ? llvm::formatv("{0}, expected {1}", llvm::format("%.9g", got.floats[at]),
                                                          llvm::format("%.9g", expected.floats[at]))
                                                .str()
                                          : llvm::formatv("{0}, expected {1}", got.ints[at], expected.ints[at]).str();
  return llvm::formatv("element {0} is {1} ({2} of {3} differ)", indexText(first, expected.dims), values, count,
                       expected.numElements())
      .str();
}

} // namespace apc
