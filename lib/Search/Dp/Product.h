// `dp`: computing the table of one product.
#pragma once

#include "EliminationOrder.h"

namespace apc::dp {

/// A table as a product sees it: cell (s0, s1, ...) of the local variables is cells[s0 * strides[0] + ...]; a variable
/// that the table does not have has stride 0.
struct OperandView {
  const double *cells;
  llvm::SmallVector<size_t, 6> strides;

  size_t offset(llvm::ArrayRef<uint32_t> states) const {
    size_t result = 0;
    for (size_t variable = 0; variable < strides.size(); ++variable)
      result += states[variable] * strides[variable];
    return result;
  }
};

/// The view of `operand` within a product over local variables of `sizes`.
OperandView viewOf(const TableOperand &operand, llvm::ArrayRef<uint32_t> sizes, const double *cells);

/// The inputs of a product.
struct ProductInput {
  llvm::ArrayRef<double> unary; ///< empty when the product has none
  llvm::ArrayRef<OperandView> operands;
  llvm::ArrayRef<uint32_t> sizes;
  /// The start of the running minimum: above every possible sum.
  double ceiling;
};

/// Fills `out` (row-major over the local variables 1, 2, ...) with the minimal sums over variable 0, NaN where every
/// sum is impossible. Returns the largest possible sum. `numThreads` changes only the time.
double computeProduct(const ProductInput &input, llvm::MutableArrayRef<double> out, unsigned numThreads);

} // namespace apc::dp
