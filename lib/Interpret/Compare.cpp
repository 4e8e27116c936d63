// Element by element, with tolerances.
#include "apc/Interpret/Compare.h"

#include "apc/IR/RuleBuilder.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace apc {

double largestMagnitude(const Tensor &tensor) {
  double largest = 0;
  for (double value : tensor.floats)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  for (int64_t value : tensor.ints)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
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

/// The distance of two floats: 0 between NaN and NaN, infinite between a number and none.
static double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  double apart = std::abs(a - b);
  return std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity();
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

TensorDifference compare(const Tensor &got, const Tensor &expected, Tolerance tolerance) {
  TensorDifference difference;
  difference.isSameType = got.dims == expected.dims && got.element == expected.element;
  difference.largest = largestMagnitude(expected);
  if (!difference.isSameType)
    return difference;
  for (int64_t i = 0, end = expected.numElements(); i < end; ++i) {
    auto at = static_cast<size_t>(i);
    double apart = 0, accepted = 0;
    if (expected.isFloat()) {
      apart = distance(got.floats[at], expected.floats[at]);
      accepted = tolerance.absolute + tolerance.relative * std::abs(expected.floats[at]);
    } else if (got.ints[at] != expected.ints[at]) {
      apart = std::max(1.0, std::abs(static_cast<double>(got.ints[at]) - static_cast<double>(expected.ints[at])));
    }
    difference.absolute = std::max(difference.absolute, apart);
    if (apart == 0 || (apart <= accepted && std::isfinite(apart)))
      continue;
    difference.first = difference.count++ == 0 ? i : difference.first;
  }
  return difference;
}

std::optional<std::string> findDifference(const Tensor &got, const Tensor &expected, Tolerance tolerance) {
  // Sums of large terms that cancel keep the rounding of the terms: where spectra reach 50, 2e-7 is a zero.
  tolerance.absolute = std::max(tolerance.absolute, largestMagnitude(expected) * 0x1p-23);
  TensorDifference difference = compare(got, expected, tolerance);
  if (!difference.isSameType)
    return "is " + typeText(got) + ", expected " + typeText(expected);
  if (difference.count == 0)
    return std::nullopt;
  auto at = static_cast<size_t>(difference.first);
  std::string values = expected.isFloat() ? llvm::formatv("{0}, expected {1}", llvm::format("%.9g", got.floats[at]),
                                                          llvm::format("%.9g", expected.floats[at]))
                                                .str()
                                          : llvm::formatv("{0}, expected {1}", got.ints[at], expected.ints[at]).str();
  return llvm::formatv("element {0} is {1} ({2} of {3} differ)", indexText(difference.first, expected.dims), values,
                       difference.count, expected.numElements())
      .str();
}

double acceptedError(mlir::Type element) {
  if (!llvm::isa<mlir::FloatType>(element))
    return 0;
  if (element.isF64())
    return 1e-9;
  if (element.isF32())
    return 1e-4;
  return element.isF16() ? 2e-2 : 1e-1;
}

std::vector<OutputError> outputErrors(llvm::ArrayRef<std::string> names, llvm::ArrayRef<Tensor> found,
                                      llvm::ArrayRef<Tensor> expected) {
  std::vector<OutputError> errors;
  for (auto [name, got, wanted] : llvm::zip_equal(names, found, expected)) {
    TensorDifference difference = compare(got, wanted, {0, 0});
    OutputError error{name, difference.largest, difference.absolute, 0, acceptedError(wanted.element)};
    if (!difference.isSameType)
      error.absolute = std::numeric_limits<double>::infinity();
    error.relative = error.absolute == 0 ? 0 : error.absolute / std::max(error.largest, 1e-30);
    errors.push_back(std::move(error));
  }
  return errors;
}

} // namespace apc
