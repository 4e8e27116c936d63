// Values taken apart along a dim and put together again: what an operator that runs a graph several times is made of
// beside the runs.
#pragma once

#include "mlir/IR/Builders.h"

namespace apc {

/// The elements along `axis`, which lies within the value's dims, without that dim: [5, 3] along 0 is five values [3].
/// All come from one op of equal parts each, so that graphs that read one element each are alike. Ops are called after
/// `name`.
llvm::SmallVector<mlir::Value> takeApart(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::Value value,
                                         int64_t axis);

/// The reverse: values of one type, at least one, side by side along a new dim `axis`, which lies within [0, dims].
mlir::Value putTogether(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::ValueRange values, int64_t axis);

/// 0, 1, ... `count` - 1 as values of no dims, i64, which count as not constant.
llvm::SmallVector<mlir::Value> countUp(mlir::OpBuilder &builder, const llvm::Twine &name, int64_t count);

} // namespace apc
