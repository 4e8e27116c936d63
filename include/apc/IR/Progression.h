// Numbers that grow evenly along one dim, found by the ops that make them, without making them.
#pragma once

#include "mlir/IR/Builders.h"

#include <optional>

namespace apc {

/// Whole numbers of a tensor that grow by `step` along one dim and are alike along all others. [[2], [5], [8]] has
/// first 2, step 3, count 3 and dim 1.
struct Progression {
  int64_t first = 0;
  int64_t step = 0;  ///< 0: all numbers are alike, and `count` is 1
  int64_t count = 1; ///< the size of the dim
  size_t dim = 0;    ///< counted from the last, which is 0

  int64_t last() const { return first + step * (count - 1); }
  /// The first number, by the order of the dim, that is not from `least` up to, but without, `end`.
  std::optional<int64_t> outside(int64_t least, int64_t end) const;
};

/// The numbers of `value`, integers or floats, where they are proven to be a progression: those of a constant, a
/// ConstantOfShape or a Range, looked through views, casts that keep every number, slices, and sums and products with
/// one constant. A Range of 1,000,000 numbers takes as long as one of 10. None otherwise, as for numbers beyond 2^53.
std::optional<Progression> progressionOf(mlir::Value value);

/// The numbers of dims `dims`, in row-major order, where they are a progression; `at(i)` gives one.
std::optional<Progression> progressionAmong(llvm::ArrayRef<int64_t> dims, llvm::function_ref<int64_t(int64_t)> at);

/// A Range, and a Reshape where it takes one, of those numbers; all dims of `type`, a tensor of integers of 64 bits,
/// are 1 but the one of the numbers. The value is called `name`, others on the way `name`.start and so on.
mlir::Value makeProgression(mlir::OpBuilder &builder, llvm::StringRef name, const Progression &numbers,
                            mlir::RankedTensorType type);

} // namespace apc
