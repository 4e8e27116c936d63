// Moments of tensors over some of their dims, and elements centred and scaled by them.
#pragma once

#include "apc/IR/Kernels/Evaluate.h"

#include <vector>

namespace apc {

/// For each element of `dims`, which broadcast to the data's: moments of the data elements that broadcast from it.
///
///   data [2, 3], kept [2, 1]: two means, of 3 elements each
struct Moments {
  llvm::SmallVector<int64_t, 4> dims;
  std::vector<double> mean, variance, meanSquare; ///< the variance is that of the whole population: divided by 3
};
Moments momentsOf(const Tensor &data, llvm::ArrayRef<int64_t> kept);
/// 1 / sqrt(value + epsilon).
std::vector<double> inverseRoots(std::vector<double> values, double epsilon);

inline double minus(double a, double b) { return a - b; }
inline double times(double a, double b) { return a * b; }
/// Each element of `data` becomes `function` of it and the one of `values` (of shape `dims`) that broadcasts to it.
void combineRows(Tensor &data, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<double> values,
                 double (*function)(double, double));
/// (x - mean) * inverse.
void standardise(Tensor &data, const Moments &moments, llvm::ArrayRef<double> inverse);
/// Adds, or multiplies by, a tensor that broadcasts to `data`; null changes nothing.
void addTensor(Tensor &data, const Tensor *addend);
void scaleTensor(Tensor &data, const Tensor *scale);

/// How an op normalises the dims from `axis` on, by index of operand and result.
struct LayerNormalization {
  int64_t axis = -1;
  double epsilon = 0;
  bool isCentred = true; ///< false: divided by the root of the mean square
  unsigned scale = 1;
  std::optional<unsigned> bias = {};
  llvm::SmallVector<unsigned, 2> addends = {}; ///< added to operand 0 before
  unsigned meanResult = 1;                     ///< the other results are 1 / deviation,
  unsigned sumResult = 0;                      ///< or the sum of operand 0 and addends (0: none)
};
Evaluated evaluateLayerNormalization(mlir::Operation *op, Operands operands, LayerNormalization layer);

} // namespace apc
