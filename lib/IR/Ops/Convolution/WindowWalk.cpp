// The walk over the points of sliding windows.
#include "WindowWalk.h"

#include <algorithm>

namespace apc {

namespace {

/// The outputs [first, last) of one dim for which kernel point `point` stands on data, not on a pad.
std::pair<int64_t, int64_t> outputsOnData(const WindowDim &window, int64_t point) {
  int64_t start = point * window.dilation - window.padBegin; // in the data, for output 0
  int64_t first = start >= 0 ? 0 : (-start + window.stride - 1) / window.stride;
  int64_t last = start >= window.input ? 0 : (window.input - 1 - start) / window.stride + 1;
  return {std::min(first, window.output), std::min(last, window.output)};
}

/// Appends a run, or extends the last run where the new run continues it.
void appendRun(std::vector<WindowRun> &runs, const WindowRun &run) {
  if (!runs.empty()) {
    WindowRun &last = runs.back();
    if (last.kernel == run.kernel && last.first + last.count == run.first &&
        last.data + last.count * last.step == run.data) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

/// The runs of one kernel point, dim after dim; `run` holds flat positions over the dims before.
void addRuns(llvm::ArrayRef<WindowDim> windows, llvm::ArrayRef<int64_t> kernel, WindowRun run,
             std::vector<WindowRun> &runs) {
  const WindowDim &window = windows.front();
  auto [first, last] = outputsOnData(window, kernel.front());
  if (first >= last)
    return;
  run.first *= window.output;
  run.data = run.data * window.input + kernel.front() * window.dilation - window.padBegin;
  if (windows.size() == 1) {
    run.first += first;
    run.data += first * window.stride;
    run.count = last - first;
    run.step = window.stride;
    return appendRun(runs, run);
  }
  for (int64_t output = first; output < last; ++output) {
    WindowRun inner = run;
    inner.first += output;
    inner.data += output * window.stride;
    addRuns(windows.drop_front(), kernel.drop_front(), inner, runs);
  }
}

int64_t productOver(llvm::ArrayRef<WindowDim> windows, int64_t WindowDim::*size) {
  int64_t product = 1;
  for (const WindowDim &window : windows)
    product *= window.*size;
  return product;
}

} // namespace

std::vector<WindowRun> windowRuns(llvm::ArrayRef<WindowDim> windows) {
  std::vector<WindowRun> runs;
  llvm::SmallVector<int64_t, 4> kernel(windows.size(), 0);
  for (int64_t point = 0, count = countKernel(windows); point < count; ++point) {
    int64_t rest = point;
    for (size_t dim = windows.size(); dim-- > 0; rest /= windows[dim].kernel)
      kernel[dim] = rest % windows[dim].kernel;
    WindowRun run;
    run.kernel = point;
    addRuns(windows, kernel, run, runs);
  }
  return runs;
}

int64_t countOutputs(llvm::ArrayRef<WindowDim> windows) { return productOver(windows, &WindowDim::output); }
int64_t countKernel(llvm::ArrayRef<WindowDim> windows) { return productOver(windows, &WindowDim::kernel); }
int64_t countInputs(llvm::ArrayRef<WindowDim> windows) { return productOver(windows, &WindowDim::input); }

std::vector<double> realsOf(const Tensor &tensor) {
  return tensor.isFloat() ? tensor.floats : std::vector<double>(tensor.ints.begin(), tensor.ints.end());
}

Evaluated evaluatedAsReals(mlir::Operation *op, std::vector<double> values) {
  Tensor result = zeros(op->getResult(0).getType());
  if (result.isFloat()) {
    result.floats = std::move(values);
    return evaluatedAs(std::move(result));
  }
  for (auto [i, value] : llvm::enumerate(values))
    if (!setElement(result, static_cast<int64_t>(i), Number::of(value)))
      return std::nullopt;
  return evaluatedAs(std::move(result));
}

} // namespace apc
