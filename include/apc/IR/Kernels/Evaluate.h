// Computing with small constants: the arithmetic that exporters do on shapes, elementwise with broadcasting.
#pragma once

#include "apc/IR/Operator.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// One element: an integer (bools are 0 and 1) or a float.
struct Number {
  bool isFloat = false;
  int64_t integer = 0;
  double real = 0;

  static Number of(int64_t value) { return {false, value, 0}; }
  static Number of(double value) { return {true, 0, value}; }
  double asReal() const { return isFloat ? real : static_cast<double>(integer); }
};

Number getElement(const Tensor &tensor, int64_t index);
/// Stores a number, converted to the tensor's element type; false when a float is stored into integers that cannot
/// hold it (NaN, too large). Integers wrap around.
bool setElement(Tensor &tensor, int64_t index, Number value);

/// The flat index into a tensor of `dims` that broadcasts to the element `index` of a tensor of `result`:
/// dims [3, 1], result [2, 3, 4], index 5 (that is 0, 1, 1) -> 1.
int64_t broadcastIndex(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> result, int64_t index);

/// The flat indices into tensors that broadcast to `result` while that is walked through in order:
///   BroadcastWalk walk({{3, 1}}, {2, 3, 4});   walk[0] is 0 0 0 0 1 1 1 1 2 ... at each next()
class BroadcastWalk {
public:
  BroadcastWalk(llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands, llvm::ArrayRef<int64_t> result);
  int64_t operator[](size_t operand) const { return at[operand]; }
  void next();

private:
  llvm::ArrayRef<int64_t> result;
  llvm::SmallVector<int64_t, 4> index, at;
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 3> strides;
};

/// Each element of result 0 from the elements of all `operands`, which broadcast; empty when an operand is null or
/// `point` gives nothing (division by zero).
using PointFunction = llvm::function_ref<std::optional<Number>(llvm::ArrayRef<Number>)>;
Evaluated evaluatePoints(mlir::Operation *op, Operands operands, PointFunction point);

/// A real function of one operand; empty for integers.
Evaluated evaluateReal(mlir::Operation *op, Operands operands, double (*function)(double));
/// A real function of one operand, which may be made of integers; result 0 may be bools.
Evaluated evaluateFormula(mlir::Operation *op, Operands operands, llvm::function_ref<double(double)> function);
/// A function of one operand, integer or real.
Evaluated evaluateUnary(mlir::Operation *op, Operands operands, int64_t (*onIntegers)(int64_t),
                        double (*onReals)(double));
/// A function of two operands or more, from the left. `onIntegers` may give nothing.
Evaluated evaluateFold(mlir::Operation *op, Operands operands, std::optional<int64_t> (*onIntegers)(int64_t, int64_t),
                       double (*onReals)(double, double));
/// A predicate over two operands.
Evaluated evaluateComparison(mlir::Operation *op, Operands operands, bool (*onIntegers)(int64_t, int64_t),
                             bool (*onReals)(double, double));

// Integer arithmetic as ONNX has it: wraps around, divides towards zero. Nothing for division by zero and negative
// powers.
std::optional<int64_t> wrappingAdd(int64_t a, int64_t b);
std::optional<int64_t> wrappingSubtract(int64_t a, int64_t b);
std::optional<int64_t> wrappingMultiply(int64_t a, int64_t b);
std::optional<int64_t> truncatingDivide(int64_t a, int64_t b);
std::optional<int64_t> flooredModulo(int64_t a, int64_t b);   ///< sign of the divisor (Mod, fmod=0)
std::optional<int64_t> truncatedModulo(int64_t a, int64_t b); ///< sign of the dividend (Mod, fmod=1)
std::optional<int64_t> integerPower(int64_t base, int64_t exponent);

/// A real fitted to a float type of 8 bits or fewer, but for rounding: with `saturate` reals beyond its range
/// become its bounds, otherwise infinity or NaN, whichever the type has. `roundMode` ("up", "down", "nearest") is
/// how f8E8M0FNU finds powers of two. Wider types take the real as it is.
double fitToElement(double value, mlir::FloatType type, bool saturate, llvm::StringRef roundMode);
/// A real towards zero as 64 bits: those beyond int64 (uint64) become its bounds, NaN 0.
int64_t truncated(double value, bool isUnsigned);
/// A real rounded to nearest even, within the bounds of an integer type of at most 32 bits; NaN is 0.
int64_t saturated(double value, mlir::Type element);

/// Round to nearest, ties to even.
double roundTiesToEven(double value);
double sigmoid(double value);

/// False when an operand that is there is not known.
bool areAllKnown(mlir::Operation *op, Operands operands);

} // namespace apc
