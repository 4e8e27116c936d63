// Tensors on the host: what operators are evaluated with, for small constants at import and for whole programs.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace apc {

/// Integers and bools are in `ints`, floats in `floats`; row-major. Values are those of the element type: an f16 tensor
/// holds doubles that f16 can represent, an i8 tensor -128 to 127, an i1 tensor 0 and 1 (`rounded` makes it so).
///
///   f32 [2, 3]: dims {2, 3}, element f32, floats of 6 elements, no ints
struct Tensor {
  llvm::SmallVector<int64_t, 4> dims;
  mlir::Type element; ///< null for an absent optional result
  std::vector<int64_t> ints;
  std::vector<double> floats;

  bool isFloat() const { return llvm::isa<mlir::FloatType>(element); }
  int64_t numElements() const;
  static Tensor read(mlir::DenseElementsAttr attribute);
  mlir::DenseElementsAttr toAttribute() const;
};

/// Operands (null: not known, or absent) and results (empty: cannot be computed) of `OperatorInterface::evaluate`.
using Operands = llvm::ArrayRef<const Tensor *>;
using Evaluated = std::optional<llvm::SmallVector<Tensor, 1>>;

/// A list of one result; empty for none.
Evaluated evaluatedAs(std::optional<Tensor> result);
/// A tensor of zeros; `type` must be a tensor of static shape.
Tensor zeros(mlir::Type type);
/// The same elements, rounded to nearest even (floats) or wrapped around (integers) to what the element type holds.
void roundToElement(Tensor &tensor);
/// One float rounded to nearest even; NaN and infinities as the type has them.
double roundToElement(double value, mlir::FloatType type);
/// The results of an op for constants (null: not constant, or absent), of its results' element types; empty
/// when it cannot be computed, and for unsigned values beyond int64 or results of more than 2^20 elements.
std::optional<llvm::SmallVector<mlir::DenseElementsAttr, 1>>
foldConstants(mlir::Operation *op, llvm::ArrayRef<mlir::DenseElementsAttr> operands);

} // namespace apc
