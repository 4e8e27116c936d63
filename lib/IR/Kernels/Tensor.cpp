// Tensors on the host: read from attributes, rounded to their element types, written back.
#include "apc/IR/Apc.h"
#include "apc/IR/Random.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <limits>

namespace apc {

int64_t Tensor::numElements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

Tensor Tensor::read(mlir::DenseElementsAttr attribute) {
  Tensor tensor;
  auto type = attribute.getType();
  tensor.dims.assign(type.getShape().begin(), type.getShape().end());
  tensor.element = type.getElementType();
  if (tensor.isFloat()) {
    for (llvm::APFloat value : attribute.getValues<llvm::APFloat>()) {
      bool losesInfo = false;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      tensor.floats.push_back(value.convertToDouble());
    }
    return tensor;
  }
  bool isSigned = !tensor.element.isUnsignedInteger() && !tensor.element.isInteger(1);
  for (const llvm::APInt &value : attribute.getValues<llvm::APInt>())
    tensor.ints.push_back(isSigned ? value.getSExtValue() : static_cast<int64_t>(value.getZExtValue()));
  return tensor;
}

mlir::DenseElementsAttr Tensor::toAttribute() const {
  auto type = mlir::RankedTensorType::get(dims, element);
  if (isFloat()) {
    const llvm::fltSemantics &semantics = llvm::cast<mlir::FloatType>(element).getFloatSemantics();
    std::vector<llvm::APFloat> values;
    values.reserve(floats.size());
    for (double number : floats) {
      llvm::APFloat value(number);
      bool losesInfo = false;
      value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(value);
    }
    return mlir::DenseElementsAttr::get(type, values);
  }
  std::vector<llvm::APInt> values;
  values.reserve(ints.size());
  for (int64_t number : ints)
    values.emplace_back(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(number), /*isSigned=*/true,
                        /*implicitTrunc=*/true);
  return mlir::DenseElementsAttr::get(type, values);
}

Tensor zeros(mlir::Type type) {
  auto shaped = llvm::cast<mlir::RankedTensorType>(type);
  Tensor tensor;
  tensor.dims.assign(shaped.getShape().begin(), shaped.getShape().end());
  tensor.element = shaped.getElementType();
  if (tensor.isFloat())
    tensor.floats.resize(tensor.numElements());
  else
    tensor.ints.resize(tensor.numElements());
  return tensor;
}

Evaluated evaluatedAs(std::optional<Tensor> result) {
  if (!result)
    return std::nullopt;
  return llvm::SmallVector<Tensor, 1>{std::move(*result)};
}

/// A float of so many significant bits with exponents from `least` on, infinite from `end` on. The sum with 1.5 x 2^52
/// units in the last place has no room for less than a unit: the sum itself rounds to nearest even.
static double roundToBits(double value, int bits, int least, double end) {
  constexpr int fraction = 52, bias = 1023;
  constexpr uint64_t exponents = 0x7ff;
  int exponent = static_cast<int>(llvm::bit_cast<uint64_t>(value) >> fraction & exponents) - bias;
  if (exponent > bias) // infinities and NaN
    return value;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::abs(value) >= end)
    return std::copysign(infinity, value);
  int unit = std::max(exponent, least) - bits + 1;
  auto shift =
      llvm::bit_cast<double>(static_cast<uint64_t>(unit + fraction + bias) << fraction | uint64_t(1) << (fraction - 1));
  double magnitude = std::abs(value) + shift - shift;
  return std::copysign(magnitude >= end ? infinity : magnitude, value);
}

static double roundToHalf(double value) { return roundToBits(value, 11, -14, 0x1p16); }
static double roundToBFloat(double value) { return roundToBits(value, 8, -126, 0x1p128); }

double roundToElement(double value, mlir::FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<double>(static_cast<float>(value));
  if (type.isF16())
    return roundToHalf(value);
  if (type.isBF16())
    return roundToBFloat(value);
  llvm::APFloat rounded(value);
  bool losesInfo = false;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

static int64_t wrapToElement(int64_t value, mlir::Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return value != 0;
  if (width >= 64)
    return value;
  uint64_t bits = static_cast<uint64_t>(value) << (64 - width);
  return type.isUnsignedInteger() ? static_cast<int64_t>(bits >> (64 - width))
                                  : static_cast<int64_t>(bits) >> (64 - width);
}

void roundToElement(Tensor &tensor) {
  if (!tensor.element)
    return;
  if (auto type = llvm::dyn_cast<mlir::FloatType>(tensor.element)) {
    if (type.isF16())
      llvm::transform(tensor.floats, tensor.floats.begin(), roundToHalf);
    else if (type.isBF16())
      llvm::transform(tensor.floats, tensor.floats.begin(), roundToBFloat);
    else if (!type.isF64())
      for (double &value : tensor.floats)
        value = roundToElement(value, type);
    return;
  }
  for (int64_t &value : tensor.ints)
    value = wrapToElement(value, tensor.element);
}

/// True for a tensor without elements, one of whose dims is so large that a walk along it would take long.
static bool isEmptyAndLong(mlir::Type type) {
  constexpr int64_t maxWalked = 1 << 12;
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.getNumElements() == 0 &&
         llvm::any_of(tensor.getShape(), [](int64_t dim) { return dim > maxWalked; });
}

std::optional<llvm::SmallVector<mlir::DenseElementsAttr, 1>>
foldConstants(mlir::Operation *op, llvm::ArrayRef<mlir::DenseElementsAttr> operands) {
  constexpr int64_t maxElements = 1 << 20;
  if (isRandom(op)) // each step draws anew
    return std::nullopt;
  if (llvm::any_of(op->getOperandTypes(), isEmptyAndLong) || llvm::any_of(op->getResultTypes(), isEmptyAndLong))
    return std::nullopt;
  for (mlir::Value result : op->getResults())
    if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType()))
      if (type.getNumElements() > maxElements)
        return std::nullopt;
  std::vector<Tensor> storage;
  storage.reserve(operands.size());
  llvm::SmallVector<const Tensor *, 4> tensors;
  for (mlir::DenseElementsAttr operand : operands) {
    tensors.push_back(nullptr);
    if (!operand || !operand.getElementType().isIntOrFloat())
      continue;
    Tensor tensor = Tensor::read(operand);
    if (tensor.element.isUnsignedInteger(64) && llvm::any_of(tensor.ints, [](int64_t i) { return i < 0; }))
      continue;
    tensors.back() = &storage.emplace_back(std::move(tensor));
  }
  Evaluated results = llvm::cast<OperatorInterface>(op).evaluate(tensors);
  if (!results)
    return std::nullopt;
  llvm::SmallVector<mlir::DenseElementsAttr, 1> constants;
  for (const Tensor &result : *results)
    constants.push_back(result.element ? result.toAttribute() : mlir::DenseElementsAttr());
  return constants;
}

} // namespace apc
