// Reals as elements of narrow types: powers of two, floats of 8 and 4 bits, integers.
#include "apc/IR/Kernels/Evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace apc {

namespace {

/// A power of two of [2^-127, 2^127]; NaN for negative numbers and for numbers beyond (unless they saturate).
double powerOfTwo(double value, bool saturate, llvm::StringRef roundMode) {
  constexpr int limit = 127;
  if (std::isnan(value) || value < 0 || (std::isinf(value) && !saturate))
    return std::numeric_limits<double>::quiet_NaN();
  if (value == 0)
    return std::ldexp(1.0, -limit);
  if (std::isinf(value))
    return std::ldexp(1.0, limit);
  int exponent = std::ilogb(value);
  double fraction = std::ldexp(value, -exponent); // in [1, 2)
  if ((roundMode == "up" && fraction > 1) || (roundMode == "nearest" && fraction >= 1.5))
    ++exponent;
  if (exponent > limit && !saturate)
    return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, std::clamp(exponent, -limit, limit));
}

} // namespace

double fitToElement(double value, mlir::FloatType type, bool saturate, llvm::StringRef roundMode) {
  if (llvm::isa<mlir::Float8E8M0FNUType>(type))
    return powerOfTwo(value, saturate, roundMode);
  if (type.getWidth() > 8)
    return value;
  double largest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  // Four bits have neither; NaN becomes minus zero.
  if (type.getWidth() < 8)
    return std::isnan(value) ? -0.0 : std::clamp(value, -largest, largest);
  if (saturate && !std::isnan(value))
    return std::clamp(value, -largest, largest);
  bool knowsInfinity = llvm::isa<mlir::Float8E5M2Type>(type);
  return std::isinf(value) && !knowsInfinity ? std::numeric_limits<double>::quiet_NaN() : value;
}

int64_t truncated(double value, bool isUnsigned) {
  constexpr double limit = 0x1p63;
  if (std::isnan(value))
    return 0;
  if (isUnsigned && value >= limit)
    return static_cast<int64_t>(value < 2 * limit ? static_cast<uint64_t>(value)
                                                  : std::numeric_limits<uint64_t>::max());
  if (value >= limit)
    return std::numeric_limits<int64_t>::max();
  return value < -limit ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(value);
}

int64_t saturated(double value, mlir::Type element) {
  unsigned width = std::min(element.getIntOrFloatBitWidth(), 32U);
  bool isUnsigned = element.isUnsignedInteger();
  double largest = std::ldexp(1.0, static_cast<int>(isUnsigned ? width : width - 1)) - 1;
  double least = isUnsigned ? 0 : -largest - 1;
  return std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(roundTiesToEven(value), least, largest));
}

} // namespace apc
