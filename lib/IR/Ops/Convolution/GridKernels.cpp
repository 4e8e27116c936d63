// Kernels of operators that sample along a grid: AffineGrid, convolutions with offsets, Col2Im and the way back.
#include "Convolution.h"
#include "Taps.h"
#include "WindowWalk.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/IndexLoops.h"

namespace apc {

Evaluated AffineGridOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  Tensor result = zeros(getGrid().getType());
  llvm::ArrayRef<int64_t> spatial = llvm::ArrayRef(result.dims).drop_front().drop_back();
  size_t count = spatial.size(), row = 0;
  std::vector<double> theta = realsOf(*operands[0]);
  forEachIndex(llvm::ArrayRef(result.dims).drop_back(), [&](llvm::ArrayRef<int64_t> index) {
    llvm::SmallVector<double, 4> point;
    for (size_t dim = count; dim-- > 0;) {
      auto at = static_cast<double>(index[dim + 1]), size = static_cast<double>(spatial[dim]);
      bool alignCorners = getAlignCorners() != 0;
      point.push_back(alignCorners ? (size > 1 ? 2 * at / (size - 1) - 1 : 0) : (2 * at + 1) / size - 1);
    }
    point.push_back(1);
    for (size_t coordinate = 0; coordinate < count; ++coordinate) {
      const double *matrix = theta.data() + (index[0] * count + coordinate) * (count + 1);
      for (size_t k = 0; k <= count; ++k)
        result.floats[row * count + coordinate] += matrix[k] * point[k];
    }
    ++row;
  });
  return evaluatedAs(std::move(result));
}

namespace {

/// The operands of a deformable convolution as reals, with the sizes of their parts.
struct Deformed {
  const ConvolutionSizes &sizes;
  std::vector<double> data, offsets, mask;
  llvm::SmallVector<int64_t, 3> input;
  int64_t kernel, plane, outputs;

  /// The taps for one output and kernel point; `group` counts samples' offset groups.
  llvm::SmallVector<Taps, 3> tapsAt(int64_t group, int64_t point, int64_t output) const {
    llvm::SmallVector<Taps, 3> taps(input.size());
    int64_t restOfKernel = point, restOfOutput = output;
    for (size_t dim = input.size(); dim-- > 0;) {
      const WindowDim &window = sizes.windows[dim];
      int64_t at = restOfOutput % window.output * window.stride + restOfKernel % window.kernel * window.dilation -
                   window.padBegin;
      int64_t row = (group * kernel + point) * static_cast<int64_t>(input.size()) + static_cast<int64_t>(dim);
      taps[dim] = linearTaps(static_cast<double>(at) + offsets[row * outputs + output], input[dim]);
      restOfKernel /= window.kernel;
      restOfOutput /= window.output;
    }
    return taps;
  }
};

/// The elements of each channel of a sample under each point of the kernel: [channels, kernel, outputs].
std::vector<double> columnsOf(const Deformed &deformed, int64_t sample) {
  const ConvolutionSizes &sizes = deformed.sizes;
  int64_t channels = sizes.groups * sizes.inputs, perGroup = channels / sizes.offsetGroups;
  std::vector<double> columns(channels * deformed.kernel * deformed.outputs);
  for (int64_t run = 0; run < sizes.offsetGroups * deformed.kernel * deformed.outputs; ++run) {
    int64_t output = run % deformed.outputs, point = run / deformed.outputs % deformed.kernel;
    int64_t offsetGroup = run / deformed.outputs / deformed.kernel, group = sample * sizes.offsetGroups + offsetGroup;
    llvm::SmallVector<Taps, 3> taps = deformed.tapsAt(group, point, output);
    double factor =
        deformed.mask.empty() ? 1 : deformed.mask[(group * deformed.kernel + point) * deformed.outputs + output];
    for (int64_t channel = offsetGroup * perGroup; channel < (offsetGroup + 1) * perGroup; ++channel)
      columns[(channel * deformed.kernel + point) * deformed.outputs + output] =
          factor * mix(deformed.data.data() + (sample * channels + channel) * deformed.plane, deformed.input, taps);
  }
  return columns;
}

} // namespace

Evaluated DeformConvOp::evaluate(Operands operands) {
  auto sizes = readConvolution(*this, {.bias = 3, .deformable = true});
  for (unsigned i = 0; i < operands.size(); ++i)
    if (!operands[i] && !isAbsent(getOperand(i)))
      return std::nullopt;
  if (mlir::failed(sizes))
    return std::nullopt;
  const Tensor *mask = operands.size() > 4 ? operands[4] : nullptr, *bias = operands.size() > 3 ? operands[3] : nullptr;
  Deformed deformed{
      *sizes, realsOf(*operands[0]),       realsOf(*operands[2]),       mask ? realsOf(*mask) : std::vector<double>(),
      {},     countKernel(sizes->windows), countInputs(sizes->windows), countOutputs(sizes->windows)};
  for (const WindowDim &window : sizes->windows)
    deformed.input.push_back(window.input);
  std::vector<double> weights = realsOf(*operands[1]), values;
  int64_t channels = sizes->groups * sizes->outputs, terms = sizes->inputs * deformed.kernel;
  for (int64_t sample = 0; sample < sizes->batch; ++sample) {
    std::vector<double> columns = columnsOf(deformed, sample);
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t output = 0; output < deformed.outputs; ++output) {
        double sum = bias ? getElement(*bias, channel).asReal() : 0;
        for (int64_t term = 0; term < terms; ++term)
          sum += weights[channel * terms + term] *
                 columns[(channel / sizes->outputs * terms + term) * deformed.outputs + output];
        values.push_back(sum);
      }
  }
  return evaluatedAsReals(*this, std::move(values));
}

namespace {

/// Calls `visit(position in the images, position in the columns)` for each point of each window that is no pad.
template <typename Visit>
void forEachColumn(llvm::ArrayRef<WindowDim> windows, int64_t planes, Visit visit) {
  int64_t image = countInputs(windows), block = countKernel(windows), outputs = countOutputs(windows);
  std::vector<WindowRun> runs = windowRuns(windows);
  for (int64_t plane = 0; plane < planes; ++plane)
    for (const WindowRun &run : runs)
      for (int64_t i = 0; i < run.count; ++i)
        visit(plane * image + run.data + i * run.step, (plane * block + run.kernel) * outputs + run.first + i);
}

} // namespace

Evaluated Col2ImOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1] || !operands[2])
    return std::nullopt;
  auto windows = readWindows(*this, operands[1]->ints, operands[2]->ints);
  if (mlir::failed(windows))
    return std::nullopt;
  std::vector<double> columns = realsOf(*operands[0]), values(zeros(getOutput().getType()).numElements(), 0);
  llvm::ArrayRef<int64_t> dims = dimsOf(getOutput());
  forEachColumn(*windows, dims[0] * dims[1], [&](int64_t to, int64_t from) { values[to] += columns[from]; });
  return evaluatedAsReals(*this, std::move(values));
}

Evaluated Im2ColOp::evaluate(Operands operands) {
  auto windows = readWindows(*this, dimsOf(getImage()).drop_front(2), {});
  if (mlir::failed(windows) || !operands[0])
    return std::nullopt;
  Tensor result = zeros(getColumns().getType());
  forEachColumn(*windows, operands[0]->dims[0] * operands[0]->dims[1],
                [&](int64_t from, int64_t to) { result.floats[to] = operands[0]->floats[from]; });
  return evaluatedAs(std::move(result));
}

} // namespace apc
