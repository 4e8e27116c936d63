// The walk over the points of sliding windows on the data, shared by convolutions and pools.
#pragma once

#include "Windows.h"
#include "apc/IR/Kernels/Evaluate.h"

namespace apc {

/// Windows `first`, `first` + 1, ... (`count` of them, row-major over the outputs) whose kernel point `kernel` stands
/// on the data at `data`, `data` + `step`, ...; windows where it stands on a pad are left out.
struct WindowRun {
  int64_t kernel = 0, first = 0, count = 0, data = 0, step = 1;
};

/// All runs, as long as they can be, kernel points in row-major order: data 4, kernel 3, stride 1, pads 1, 1 (4
/// windows) gives {kernel 0, first 1, count 3, data 0}, {1, 0, 4, 0}, {2, 0, 3, 1}.
std::vector<WindowRun> windowRuns(llvm::ArrayRef<WindowDim> windows);

/// The numbers of windows, of points of a window, and of points of the data.
int64_t countOutputs(llvm::ArrayRef<WindowDim> windows);
int64_t countKernel(llvm::ArrayRef<WindowDim> windows);
int64_t countInputs(llvm::ArrayRef<WindowDim> windows);

/// The elements of a tensor, integers too, as reals.
std::vector<double> realsOf(const Tensor &tensor);
/// Result 0 of `op` with `values` as its elements, integers truncated; empty when integers cannot hold a value.
Evaluated evaluatedAsReals(mlir::Operation *op, std::vector<double> values);

} // namespace apc
