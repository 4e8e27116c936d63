// A little machine for the programs of format `shard-mlir`: all processes of the grid run a function op by op, and each
// collective is carried out by its definition in upstream's documentation. Elements are int64.
#pragma once

#include "apc/Sharding/Mesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace apc::test {

/// Row-major; scalars and single indices have no dims.
struct IntTensor {
  llvm::SmallVector<int64_t, 4> dims;
  std::vector<int64_t> values;

  static IntTensor make(llvm::ArrayRef<int64_t> dims, int64_t fill = 0);
  int64_t &at(llvm::ArrayRef<int64_t> index);
  int64_t at(llvm::ArrayRef<int64_t> index) const { return const_cast<IntTensor &>(*this).at(index); }
};

/// Calls `visit` with each index below `dims`.
void forEachPlace(llvm::ArrayRef<int64_t> dims, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// The first result of `function` on each process, whose first argument is `inputs[rank]`. Fails the test at an op that
/// it does not know.
std::vector<IntTensor> runOnGrid(mlir::func::FuncOp function, const Mesh &mesh, const std::vector<IntTensor> &inputs);

} // namespace apc::test
