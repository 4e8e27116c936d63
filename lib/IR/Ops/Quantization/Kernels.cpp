// Kernels of quantisation: elements between reals and small types by scales and zero points.
#include "Quantization.h"

#include "../Attributes.h"
#include "apc/IR/Apc.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Kernels/IndexLoops.h"

#include <cmath>

namespace apc {

namespace {

/// For each element of the data in order, the position of its scale.
std::vector<int64_t> scalePositions(const Tensor &data, const Tensor &scale, const Scales &scales) {
  std::vector<int64_t> positions;
  llvm::SmallVector<int64_t, 4> at;
  forEachIndex(data.dims, [&](llvm::ArrayRef<int64_t> index) {
    if (scales.granularity == Granularity::Tensor) {
      positions.push_back(0);
    } else if (scales.granularity == Granularity::Dim) {
      positions.push_back(index[scales.dim]);
    } else {
      at.assign(index.begin(), index.end());
      at[scales.dim] /= scales.blockSize;
      positions.push_back(positionOf(at, scale.dims));
    }
  });
  return positions;
}

/// Result 0 from each element with its scale and zero point.
Evaluated evaluateScaled(mlir::Operation *op, Operands operands,
                         llvm::function_ref<Number(Number, double, double)> point) {
  bool hasZero = operands.size() > 2 && !isAbsent(op->getOperand(2));
  auto scales = readScales(op);
  if (mlir::failed(scales) || !operands[0] || !operands[1] || (hasZero && !operands[2]))
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  for (auto [i, at] : llvm::enumerate(scalePositions(*operands[0], *operands[1], *scales))) {
    double zero = hasZero ? getElement(*operands[2], at).asReal() : 0;
    auto index = static_cast<int64_t>(i);
    setElement(result, index, point(getElement(*operands[0], index), getElement(*operands[1], at).asReal(), zero));
  }
  return evaluatedAs(std::move(result));
}

mlir::Type resultElement(mlir::Operation *op) {
  return llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType();
}

} // namespace

Number Affine::quantized(double value, mlir::Type element) const {
  return Number::of(saturated(roundTiesToEven(value / scale) + zero, element));
}

std::optional<Affine> affineAt(mlir::Operation *op, Operands operands, unsigned index) {
  bool hasZero = index + 1 < operands.size() && !isAbsent(op->getOperand(index + 1));
  if (!operands[index] || operands[index]->numElements() != 1)
    return std::nullopt;
  Affine affine{getElement(*operands[index], 0).asReal(), 0};
  if (!hasZero)
    return affine;
  if (!operands[index + 1] || operands[index + 1]->numElements() != 1)
    return std::nullopt;
  affine.zero = getElement(*operands[index + 1], 0).asReal();
  return affine;
}

/// The type in which `op` divides: that of the scale, or the one that `precision` asks for; null for exact quotients.
static mlir::FloatType quotientType(mlir::Operation *op) {
  auto divided = llvm::dyn_cast<mlir::FloatType>(operandElement(op, 1));
  if (int64_t precision = intAttribute(op, "precision", 0))
    divided = llvm::dyn_cast_if_present<mlir::FloatType>(elementType(op->getContext(), precision));
  return divided && divided.getWidth() > 8 ? divided : mlir::FloatType();
}

Evaluated evaluateQuantizeLinear(mlir::Operation *op, Operands operands) {
  mlir::Type element = resultElement(op);
  auto toFloat = llvm::dyn_cast<mlir::FloatType>(element);
  mlir::FloatType divided = quotientType(op);
  bool saturate = intAttribute(op, "saturate", 1) != 0;
  return evaluateScaled(op, operands, [&](Number x, double scale, double zero) {
    double quotient = x.asReal() / scale;
    if (divided)
      quotient = roundToElement(quotient, divided);
    if (toFloat)
      return Number::of(fitToElement(quotient + zero, toFloat, saturate, "nearest"));
    return Number::of(saturated(roundTiesToEven(quotient) + zero, element));
  });
}

Evaluated evaluateDequantizeLinear(mlir::Operation *op, Operands operands) {
  return evaluateScaled(op, operands,
                        [](Number x, double scale, double zero) { return Number::of((x.asReal() - zero) * scale); });
}

Evaluated evaluateQuantizeLinearGrad(mlir::Operation *op, Operands operands) {
  if (!operands[3])
    return std::nullopt;
  auto grad = llvm::cast<QuantizeLinearGradOp>(op);
  const double least = grad.getLeast().convertToDouble(), most = grad.getMost().convertToDouble();
  mlir::FloatType divided = quotientType(op);
  int64_t next = 0;
  return evaluateScaled(op, operands, [&](Number x, double scale, double zero) {
    double quotient = x.asReal() / scale, incoming = getElement(*operands[3], next++).asReal();
    double code = roundTiesToEven(divided ? roundToElement(quotient, divided) : quotient) + zero;
    return Number::of(code >= least && code <= most ? incoming / scale : 0.0);
  });
}

Evaluated evaluateDequantizeLinearGrad(mlir::Operation *op, Operands operands) {
  return evaluateScaled(op, operands,
                        [](Number incoming, double scale, double) { return Number::of(incoming.asReal() * scale); });
}

// The range includes 0, which is exact: zero point round(-least / scale). Each step is made in f32.
Evaluated DynamicQuantizeLinearOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  auto type = llvm::cast<mlir::FloatType>(operandElement(*this, 0));
  double least = 0, greatest = 0;
  for (double x : operands[0]->floats) {
    least = std::fmin(least, x);
    greatest = std::fmax(greatest, x);
  }
  Tensor y = zeros(getY().getType()), scale = zeros(getYScale().getType()), zero = zeros(getYZeroPoint().getType());
  double range = roundToElement(greatest - least, type), step = roundToElement(range / 255, type);
  scale.floats[0] = step == 0 ? 1 : step;
  zero.ints[0] = saturated(roundToElement(-least / scale.floats[0], type), zero.element);
  for (auto [x, quantized] : llvm::zip_equal(operands[0]->floats, y.ints)) {
    double quotient = roundTiesToEven(roundToElement(x / scale.floats[0], type));
    quantized = saturated(quotient + static_cast<double>(zero.ints[0]), y.element);
  }
  return llvm::SmallVector<Tensor, 1>{std::move(y), std::move(scale), std::move(zero)};
}

Evaluated evaluateQuantized(mlir::Operation *op, Operands operands, llvm::function_ref<double(double)> function) {
  auto x = affineAt(op, operands, 1), y = affineAt(op, operands, 3);
  if (!x || !y)
    return std::nullopt;
  return evaluatePoints(op, operands.take_front(), [&](llvm::ArrayRef<Number> numbers) {
    return std::optional(y->quantized(function(x->real(numbers[0])), resultElement(op)));
  });
}

Evaluated evaluateQuantized(mlir::Operation *op, Operands operands,
                            llvm::function_ref<double(double, double)> function) {
  auto a = affineAt(op, operands, 1), b = affineAt(op, operands, 4), c = affineAt(op, operands, 6);
  if (!a || !b || !c)
    return std::nullopt;
  return evaluatePoints(op, {operands[0], operands[3]}, [&](llvm::ArrayRef<Number> numbers) {
    double value = function(a->real(numbers[0]), b->real(numbers[1]));
    return std::optional(c->quantized(value, resultElement(op)));
  });
}

Evaluated QLinearWhereOp::evaluate(Operands operands) {
  auto x = affineAt(*this, operands, 2), y = affineAt(*this, operands, 5), z = affineAt(*this, operands, 7);
  if (!x || !y || !z)
    return std::nullopt;
  return evaluatePoints(*this, {operands[0], operands[1], operands[4]}, [&](llvm::ArrayRef<Number> numbers) {
    double value = numbers[0].integer != 0 ? x->real(numbers[1]) : y->real(numbers[2]);
    return std::optional(z->quantized(value, resultElement(*this)));
  });
}

Evaluated QLinearGlobalAveragePoolOp::evaluate(Operands operands) {
  auto x = affineAt(*this, operands, 1), y = affineAt(*this, operands, 3);
  if (!operands[0] || !x || !y)
    return std::nullopt;
  const Tensor &data = *operands[0];
  Tensor result = zeros(getY().getType());
  int64_t count = result.numElements();
  std::vector<double> sums(count, 0);
  BroadcastWalk walk({result.dims}, data.dims);
  for (int64_t i = 0, elements = data.numElements(); i < elements; ++i, walk.next())
    sums[walk[0]] += x->real(getElement(data, i));
  double pooled = count == 0 ? 1 : static_cast<double>(data.numElements() / count);
  for (int64_t i = 0; i < count; ++i)
    setElement(result, i, y->quantized(sums[i] / pooled, result.element));
  return evaluatedAs(std::move(result));
}

} // namespace apc
