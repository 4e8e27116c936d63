// Kernels of convolutions, channel by channel along the runs of their windows.
#include "../Elementwise/Activation.h"
#include "Convolution.h"
#include "WindowWalk.h"

#include <cmath>

namespace apc {

namespace {

using Reals = std::vector<double>;

/// Finds one operand (null when absent); false when it is there but not known.
bool findOperand(mlir::Operation *op, Operands operands, unsigned index, const Tensor *&tensor) {
  tensor = nullptr;
  if (index >= operands.size() || isAbsent(op->getOperand(index)))
    return true;
  tensor = operands[index];
  return tensor != nullptr;
}

/// One input channel through one kernel into one output channel.
void addPlane(llvm::ArrayRef<WindowRun> runs, const double *kernel, const double *input, double *output) {
  for (const WindowRun &run : runs) {
    double weight = kernel[run.kernel];
    const double *from = input + run.data;
    double *to = output + run.first;
    for (int64_t i = 0; i < run.count; ++i)
      to[i] += weight * from[i * run.step];
  }
}

/// The same where each input point writes a window of the output.
void addPlaneTransposed(llvm::ArrayRef<WindowRun> runs, const double *kernel, const double *input, double *output) {
  for (const WindowRun &run : runs) {
    double weight = kernel[run.kernel];
    const double *from = input + run.first;
    double *to = output + run.data;
    for (int64_t i = 0; i < run.count; ++i)
      to[i * run.step] += weight * from[i];
  }
}

/// The windows with data and outputs exchanged: a transposed convolution's windows stand on its result.
llvm::SmallVector<WindowDim, 3> exchanged(llvm::ArrayRef<WindowDim> windows) {
  llvm::SmallVector<WindowDim, 3> result(windows);
  for (WindowDim &window : result)
    std::swap(window.input, window.output);
  return result;
}

} // namespace

Reals convolve(const ConvolutionSizes &sizes, const Reals &data, const Reals &weights, bool transposed) {
  int64_t inputPlane = countInputs(sizes.windows), outputPlane = countOutputs(sizes.windows);
  int64_t kernel = countKernel(sizes.windows);
  std::vector<WindowRun> runs = transposed ? windowRuns(exchanged(sizes.windows)) : windowRuns(sizes.windows);
  Reals result(sizes.batch * sizes.groups * sizes.outputs * outputPlane, 0);
  for (int64_t sample = 0; sample < sizes.batch * sizes.groups; ++sample) {
    int64_t group = sample % sizes.groups;
    for (int64_t output = 0; output < sizes.outputs; ++output)
      for (int64_t input = 0; input < sizes.inputs; ++input) {
        int64_t filter = transposed ? (group * sizes.inputs + input) * sizes.outputs + output
                                    : (group * sizes.outputs + output) * sizes.inputs + input;
        (transposed ? addPlaneTransposed : addPlane)(runs, weights.data() + filter * kernel,
                                                     data.data() + (sample * sizes.inputs + input) * inputPlane,
                                                     result.data() + (sample * sizes.outputs + output) * outputPlane);
      }
  }
  return result;
}

namespace {

/// `function` of each element of a tensor [..., channels, plane] and its channel's number, or one number for all.
void forEachChannel(Reals &values, int64_t channels, int64_t plane, const Tensor &numbers,
                    llvm::function_ref<double(double, double)> function) {
  for (int64_t i = 0, count = static_cast<int64_t>(values.size()); i < count; ++i) {
    int64_t channel = numbers.numElements() == 1 ? 0 : i / plane % channels;
    values[i] = function(values[i], getElement(numbers, channel).asReal());
  }
}

/// The same for a result, [n, output channels, ...].
void forEachOutput(Reals &values, const ConvolutionSizes &sizes, const Tensor &numbers,
                   llvm::function_ref<double(double, double)> function) {
  forEachChannel(values, sizes.groups * sizes.outputs, countOutputs(sizes.windows), numbers, function);
}

double sumOf(double x, double y) { return x + y; }
double differenceOf(double x, double y) { return x - y; }

/// Operands `data` and `weights` less their zero points, convolved; empty when an operand is not known.
std::optional<Reals> centredConvolution(mlir::Operation *op, Operands operands, const ConvolutionSizes &sizes,
                                        ConvolutionForm form, unsigned dataZero, unsigned weightsZero) {
  const Tensor *zeroOfData = nullptr, *zeroOfWeights = nullptr;
  if (!operands[form.data] || !operands[form.weights] || !findOperand(op, operands, dataZero, zeroOfData) ||
      !findOperand(op, operands, weightsZero, zeroOfWeights))
    return std::nullopt;
  Reals data = realsOf(*operands[form.data]), weights = realsOf(*operands[form.weights]);
  if (zeroOfData)
    forEachChannel(data, 1, 1, *zeroOfData, differenceOf);
  if (zeroOfWeights)
    forEachChannel(weights, sizes.groups * sizes.outputs, sizes.inputs * countKernel(sizes.windows), *zeroOfWeights,
                   differenceOf);
  return convolve(sizes, data, weights, form.transposed);
}

} // namespace

Evaluated evaluateConvolution(mlir::Operation *op, Operands operands, ConvolutionForm form) {
  const Tensor *bias = nullptr;
  auto sizes = readConvolution(op, form);
  if (mlir::failed(sizes) || !operands[form.data] || !operands[form.weights] ||
      !findOperand(op, operands, form.bias, bias))
    return std::nullopt;
  Reals values = convolve(*sizes, realsOf(*operands[form.data]), realsOf(*operands[form.weights]), form.transposed);
  if (bias)
    forEachOutput(values, *sizes, *bias, sumOf);
  return evaluatedAsReals(op, std::move(values));
}

Evaluated FusedConvOp::evaluate(Operands operands) {
  const Tensor *summand = nullptr;
  Evaluated results = evaluateConvolution(*this, operands, {.summand = 3});
  if (!results || !findOperand(*this, operands, 3, summand))
    return std::nullopt;
  llvm::ArrayRef<float> parameters = getActivationParams().value_or(llvm::ArrayRef<float>());
  auto parameter = [&](size_t index) {
    return index < parameters.size() ? std::optional<double>(parameters[index]) : std::nullopt;
  };
  Activation activation{getActivation().value_or(""), parameter(0), parameter(1), parameter(2)};
  for (auto [i, value] : llvm::enumerate(results->front().floats)) {
    auto activated = activation.at(summand ? value + summand->floats[i] : value);
    if (!activated)
      return std::nullopt;
    value = *activated;
  }
  return results;
}

Evaluated ConvIntegerOp::evaluate(Operands operands) {
  ConvolutionForm form{.bias = ~0U, .numbers = {2}, .perOutput = {3}};
  auto sizes = readConvolution(*this, form);
  if (mlir::failed(sizes))
    return std::nullopt;
  std::optional<Reals> values = centredConvolution(*this, operands, *sizes, form, 2, 3);
  return values ? evaluatedAsReals(*this, std::move(*values)) : std::nullopt;
}

// round((sum + bias) * x_scale * w_scale / y_scale) + y_zero_point, within the bounds of the result's type.
Evaluated QLinearConvOp::evaluate(Operands operands) {
  ConvolutionForm form{.weights = 3, .bias = 8, .numbers = {1, 2, 6, 7}, .perOutput = {4, 5}};
  const Tensor *bias = nullptr;
  auto sizes = readConvolution(*this, form);
  if (mlir::failed(sizes) || llvm::is_contained(operands.take_front(8), nullptr) ||
      !findOperand(*this, operands, form.bias, bias))
    return std::nullopt;
  std::optional<Reals> values = centredConvolution(*this, operands, *sizes, form, 2, 5);
  if (!values)
    return std::nullopt;
  if (bias)
    forEachOutput(*values, *sizes, *bias, sumOf);
  double ratio = getElement(*operands[1], 0).asReal() / getElement(*operands[6], 0).asReal();
  double zero = getElement(*operands[7], 0).asReal();
  mlir::Type element = operands[7]->element;
  auto toFloat = llvm::dyn_cast<mlir::FloatType>(element);
  forEachOutput(*values, *sizes, *operands[4], [&](double sum, double scale) {
    double value = roundTiesToEven(sum * scale * ratio) + zero;
    return toFloat ? fitToElement(value, toFloat, true, "nearest") : static_cast<double>(saturated(value, element));
  });
  return evaluatedAsReals(*this, std::move(*values));
}

void localizeConvolution(LocalOp &local, ConvolutionForm form) {
  local.scaleInt("group", "g");
  bool isCut = false;
  for (unsigned dim = 2; dim < local.operandDims(form.weights).size(); ++dim)
    isCut |= local.isOperandCut(form.data, dim) || local.isOperandCut(form.weights, dim);
  if (!isCut)
    return;
  llvm::ArrayRef<int64_t> kernel = local.operandDims(form.weights).drop_front(2);
  auto setInts = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    local.attributes.set(name, local.builder.getDenseI64ArrayAttr(values));
  };
  setInts("kernel_shape", kernel);
  auto sizes = readConvolution(local.original, form);
  if (!form.transposed || mlir::failed(sizes))
    return;
  llvm::SmallVector<int64_t, 6> begins, ends, extra;
  for (auto [index, window] : llvm::enumerate(sizes->windows)) {
    int64_t input = local.operandDims(form.data)[index + 2], span = (kernel[index] - 1) * window.dilation + 1;
    begins.push_back(window.padBegin);
    ends.push_back(window.padEnd);
    extra.push_back(local.resultDims(0)[index + 2] + window.padBegin + window.padEnd - span -
                    (input - 1) * window.stride);
  }
  begins.append(ends);
  setInts("pads", begins);
  setInts("output_padding", extra);
  local.attributes.erase("output_shape");
  local.attributes.set("auto_pad", local.builder.getStringAttr("NOTSET"));
}

} // namespace apc
