// Computing with small constants, elementwise with broadcasting.
#include "apc/IR/Kernels/Evaluate.h"

#include <algorithm>
#include <cmath>

namespace apc {

Number getElement(const Tensor &tensor, int64_t index) {
  return tensor.isFloat() ? Number::of(tensor.floats[index]) : Number::of(tensor.ints[index]);
}

bool setElement(Tensor &tensor, int64_t index, Number value) {
  if (tensor.isFloat()) {
    tensor.floats[index] = value.asReal();
    return true;
  }
  if (tensor.element.isInteger(1)) {
    tensor.ints[index] = value.isFloat ? value.real != 0 : value.integer != 0;
    return true;
  }
  constexpr double limit = 9223372036854775808.0; // 2^63
  if (value.isFloat && !(value.real >= -limit && value.real < limit))
    return false;
  int64_t integer = value.isFloat ? static_cast<int64_t>(value.real) : value.integer;
  unsigned width = tensor.element.getIntOrFloatBitWidth();
  if (width < 64) {
    auto bits = static_cast<uint64_t>(integer) << (64 - width);
    integer = tensor.element.isUnsignedInteger() ? static_cast<int64_t>(bits >> (64 - width))
                                                 : static_cast<int64_t>(bits) >> (64 - width);
  }
  tensor.ints[index] = integer;
  return true;
}

int64_t broadcastIndex(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> result, int64_t index) {
  int64_t flat = 0, stride = 1;
  for (size_t i = 1; i <= dims.size(); ++i) {
    int64_t extent = i <= result.size() ? result[result.size() - i] : 1;
    int64_t coordinate = index % extent;
    index /= extent;
    if (dims[dims.size() - i] != 1)
      flat += coordinate * stride;
    stride *= dims[dims.size() - i];
  }
  return flat;
}

/// How far the flat index of an operand moves along each dim of the result: dims [3, 1] in [2, 3, 4] give 0, 1, 0.
static llvm::SmallVector<int64_t, 4> broadcastStrides(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> result) {
  llvm::SmallVector<int64_t, 4> strides(result.size(), 0);
  int64_t stride = 1;
  for (size_t i = 1; i <= std::min(dims.size(), result.size()); ++i) {
    int64_t size = dims[dims.size() - i];
    strides[result.size() - i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

BroadcastWalk::BroadcastWalk(llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands, llvm::ArrayRef<int64_t> result)
    : result(result), index(result.size(), 0), at(operands.size(), 0) {
  for (llvm::ArrayRef<int64_t> dims : operands)
    strides.push_back(broadcastStrides(dims, result));
}

void BroadcastWalk::next() {
  for (size_t dim = result.size(); dim-- > 0;) {
    bool wraps = ++index[dim] == result[dim];
    for (size_t i = 0; i < at.size(); ++i)
      at[i] += wraps ? -strides[i][dim] * (result[dim] - 1) : strides[i][dim];
    if (!wraps)
      return;
    index[dim] = 0;
  }
}

Evaluated evaluatePoints(mlir::Operation *op, Operands operands, PointFunction point) {
  if (llvm::is_contained(operands, nullptr) || !llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  Tensor result = zeros(op->getResult(0).getType());
  llvm::SmallVector<Number, 3> numbers(operands.size());
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 3> shapes;
  for (const Tensor *operand : operands)
    shapes.push_back(operand->dims);
  BroadcastWalk walk(shapes, result.dims);
  for (int64_t i = 0, count = result.numElements(); i < count; ++i, walk.next()) {
    for (auto [operand, tensor] : llvm::enumerate(operands))
      numbers[operand] = getElement(*tensor, walk[operand]);
    std::optional<Number> value = point(numbers);
    if (!value || !setElement(result, i, *value))
      return std::nullopt;
  }
  return evaluatedAs(std::move(result));
}

Evaluated evaluateReal(mlir::Operation *op, Operands operands, double (*function)(double)) {
  if (!operands[0] || !operands[0]->isFloat())
    return std::nullopt;
  return evaluateFormula(op, operands, function);
}

Evaluated evaluateFormula(mlir::Operation *op, Operands operands, llvm::function_ref<double(double)> function) {
  return evaluatePoints(op, operands,
                        [&](llvm::ArrayRef<Number> n) { return std::optional(Number::of(function(n[0].asReal()))); });
}

Evaluated evaluateUnary(mlir::Operation *op, Operands operands, int64_t (*onIntegers)(int64_t),
                        double (*onReals)(double)) {
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> numbers) -> std::optional<Number> {
    Number x = numbers[0];
    return x.isFloat ? Number::of(onReals(x.real)) : Number::of(onIntegers(x.integer));
  });
}

Evaluated evaluateFold(mlir::Operation *op, Operands operands, std::optional<int64_t> (*onIntegers)(int64_t, int64_t),
                       double (*onReals)(double, double)) {
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> numbers) -> std::optional<Number> {
    Number left = numbers[0];
    for (Number right : numbers.drop_front()) {
      if (left.isFloat || right.isFloat) {
        left = Number::of(onReals(left.asReal(), right.asReal()));
        continue;
      }
      std::optional<int64_t> value = onIntegers(left.integer, right.integer);
      if (!value)
        return std::nullopt;
      left = Number::of(*value);
    }
    return left;
  });
}

Evaluated evaluateComparison(mlir::Operation *op, Operands operands, bool (*onIntegers)(int64_t, int64_t),
                             bool (*onReals)(double, double)) {
  return evaluatePoints(op, operands, [&](llvm::ArrayRef<Number> numbers) -> std::optional<Number> {
    Number a = numbers[0], b = numbers[1];
    bool holds = a.isFloat || b.isFloat ? onReals(a.asReal(), b.asReal()) : onIntegers(a.integer, b.integer);
    return Number::of(static_cast<int64_t>(holds));
  });
}

std::optional<int64_t> wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

std::optional<int64_t> wrappingSubtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

std::optional<int64_t> wrappingMultiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

std::optional<int64_t> truncatingDivide(int64_t a, int64_t b) {
  if (b == 0)
    return std::nullopt;
  return b == -1 ? wrappingSubtract(0, a) : a / b;
}

std::optional<int64_t> truncatedModulo(int64_t a, int64_t b) {
  if (b == 0)
    return std::nullopt;
  return b == -1 ? 0 : a % b;
}

std::optional<int64_t> flooredModulo(int64_t a, int64_t b) {
  std::optional<int64_t> remainder = truncatedModulo(a, b);
  if (remainder && *remainder != 0 && (*remainder < 0) != (b < 0))
    *remainder += b;
  return remainder;
}

std::optional<int64_t> integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return std::nullopt;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return static_cast<int64_t>(result);
}

double roundTiesToEven(double value) { return std::nearbyint(value); }

double sigmoid(double value) { return 1 / (1 + std::exp(-value)); }

bool areAllKnown(mlir::Operation *op, Operands operands) {
  for (auto [index, operand] : llvm::enumerate(operands))
    if (!operand && !isAbsent(op->getOperand(static_cast<unsigned>(index))))
      return false;
  return true;
}

} // namespace apc
