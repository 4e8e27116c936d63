// Kernels of elementwise operators whose definitions do not give them in one expression.
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include <numbers>

namespace apc {

double softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + (x > 0 ? x : std::isnan(x) ? x : 0); }

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

double geluByTanh(double x) {
  static const double scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}

// The inverse of erf by Newton's method, from the start of Winitzki 2008, good to 2e-3.
double probit(double probability) {
  double y = 2 * probability - 1;
  if (std::isnan(y) || std::abs(y) > 1)
    return std::numeric_limits<double>::quiet_NaN();
  if (std::abs(y) == 1)
    return y * std::numeric_limits<double>::infinity();
  double logarithm = std::log1p(-y * y), a = 0.147, t = 2 / (std::numbers::pi * a) + logarithm / 2;
  double x = std::copysign(std::sqrt(std::sqrt(t * t - logarithm / a) - t), y);
  for (int i = 0; i < 4; ++i)
    x -= (std::erf(x) - y) / erfSlope(x);
  return std::numbers::sqrt2 * x;
}

double greatest(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double least(double a, double b) { return std::isnan(a) || a < b ? a : b; }

AlignedOperands::AlignedOperands(mlir::Operation *op, Operands given) : list(given) {
  auto axis = op->getAttrOfType<mlir::IntegerAttr>("axis");
  if (!axis || !given[0] || !given[1])
    return;
  auto a = static_cast<int64_t>(given[0]->dims.size()), b = static_cast<int64_t>(given[1]->dims.size());
  if (b == 0 || axis.getInt() < 0 || axis.getInt() + b >= a)
    return;
  // B [3, 4] at axis 1 of A [2, 3, 4, 5] is [3, 4, 1].
  moved = *given[1];
  moved.dims.append(a - b - axis.getInt(), 1);
  list[1] = &moved;
}

Evaluated evaluateBiased(mlir::Operation *op, Operands operands, double (*function)(double)) {
  bool hasBias = operands.size() > 1 && !isAbsent(op->getOperand(1));
  return evaluatePoints(op, hasBias ? operands : operands.take_front(), [&](llvm::ArrayRef<Number> numbers) {
    double bias = hasBias ? numbers[1].asReal() : 0;
    return std::optional(Number::of(function(numbers[0].asReal() + bias)));
  });
}

Evaluated evaluateCast(mlir::Operation *op, Operands operands, bool saturate, llvm::StringRef roundMode) {
  mlir::Type from = operandElement(op, 0);
  mlir::Type to = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType();
  auto toFloat = llvm::dyn_cast<mlir::FloatType>(to);
  bool fromUnsigned = from.isUnsignedInteger(64), toUnsigned = to.isUnsignedInteger(64);
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> numbers) -> std::optional<Number> {
    Number x = numbers[0];
    if (toFloat) {
      double value = fromUnsigned ? static_cast<double>(static_cast<uint64_t>(x.integer)) : x.asReal();
      return Number::of(fitToElement(value, toFloat, saturate, roundMode));
    }
    return x.isFloat && !to.isInteger(1) ? Number::of(truncated(x.real, toUnsigned)) : x;
  });
}

Evaluated BitCastOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  mlir::DenseElementsAttr bits = operands[0]->toAttribute();
  mlir::Type to = llvm::cast<mlir::RankedTensorType>(getOutput().getType()).getElementType();
  if (to.isInteger(1) || bits.getElementType().isInteger(1)) {
    // Bools take a byte in memory, 0 or 1.
    Tensor result = *operands[0];
    result.element = to;
    for (int64_t &value : result.ints)
      value = to.isInteger(1) ? value != 0 : value;
    return evaluatedAs(std::move(result));
  }
  return evaluatedAs(Tensor::read(bits.bitcast(to)));
}

mlir::LogicalResult BitCastOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto to = requireElementType(*this, static_cast<int64_t>(getTo()), "to");
  if (mlir::failed(to))
    return mlir::failure();
  auto width = [](mlir::Type type) { return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth(); };
  mlir::Type from = operandElement(*this, 0);
  if (width(from) != width(*to))
    return emitOpError() << "reads " << from << " as " << *to << "; types of as many bits are accepted";
  return inferTypesFromRule(*this, "... -> ...", *to, types);
}

Evaluated PReluOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  Tensor slope = *operands[1];
  size_t numDims = operands[0]->dims.size();
  // As in preluRule: [C] stands at dim 1.
  if (getOpsetVersion() < 7 && slope.dims.size() == 1 && slope.dims[0] != 1 && numDims >= 2)
    slope.dims.append(numDims - 2, 1);
  return evaluateFold(
      *this, {operands[0], &slope},
      [](int64_t x, int64_t factor) -> std::optional<int64_t> { return x < 0 ? wrappingMultiply(x, factor) : x; },
      [](double x, double factor) { return x < 0 ? x * factor : x; });
}

Evaluated BitShiftOp::evaluate(Operands operands) {
  bool left = getDirection() == "LEFT";
  return evaluatePoints(*this, operands, [&](llvm::ArrayRef<Number> numbers) -> std::optional<Number> {
    auto bits = static_cast<uint64_t>(numbers[0].integer), by = static_cast<uint64_t>(numbers[1].integer);
    uint64_t shifted = by >= 64 ? 0 : left ? bits << by : bits >> by;
    return Number::of(static_cast<int64_t>(shifted));
  });
}

Evaluated MeanOp::evaluate(Operands operands) {
  return evaluatePoints(*this, operands, [](llvm::ArrayRef<Number> numbers) {
    double sum = 0;
    for (Number number : numbers)
      sum += number.asReal();
    return std::optional(Number::of(sum / static_cast<double>(numbers.size())));
  });
}

Evaluated InPlaceAccumulatorOp::evaluate(Operands operands) {
  bool mayOverwrite = !isAbsent(getOverwriteFlag());
  if (!operands[0] || !operands[1] || (mayOverwrite && (!operands[2] || operands[2]->ints.empty())))
    return std::nullopt;
  bool overwrites = mayOverwrite && operands[2]->ints.front() != 0;
  Tensor flag = zeros(getUpdatedFlag().getType()), sum = *operands[0];
  flag.ints.assign(flag.ints.size(), 1);
  for (int64_t i = 0, count = sum.numElements(); i < count; ++i) {
    double update = getElement(*operands[1], i).asReal();
    setElement(sum, i, Number::of(overwrites ? update : getElement(sum, i).asReal() + update));
  }
  llvm::SmallVector<Tensor, 1> results = {std::move(flag), isAbsent(getAccumulationBufferOut()) ? Tensor() : sum};
  return results;
}

} // namespace apc
