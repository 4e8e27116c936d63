// Gradients of convolutions and pools.
#include "../Attributes.h"
#include "../ForwardAttributes.h"
#include "Convolution.h"
#include "WindowWalk.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

using Attributes = llvm::SmallVector<mlir::NamedAttribute, 8>;
using Ints = llvm::SmallVector<int64_t, 8>;

/// The windows of a convolution with their pads written out.
Attributes windowAttributes(GradientBuilder &g, const ConvolutionSizes &sizes) {
  Ints dilations, strides, pads, ends;
  for (const WindowDim &window : sizes.windows) {
    dilations.push_back(window.dilation);
    strides.push_back(window.stride);
    pads.push_back(window.padBegin);
    ends.push_back(window.padEnd);
  }
  pads.append(ends);
  return {g.attribute("dilations", llvm::ArrayRef<int64_t>(dilations)), g.attribute("group", sizes.groups),
          g.attribute("pads", llvm::ArrayRef<int64_t>(pads)), g.attribute("strides", llvm::ArrayRef<int64_t>(strides))};
}

Attributes with(Attributes attributes, mlir::NamedAttribute more) {
  attributes.push_back(more);
  return attributes;
}

llvm::ArrayRef<int64_t> spaceOf(mlir::Value value) { return dimsOf(value).drop_front(2); }

} // namespace

void giveBias(GradientBuilder &g, unsigned bias, mlir::Value arriving) {
  if (bias >= g.getForward()->getNumOperands() || !g.wants(bias))
    return;
  Ints axes = {0};
  for (size_t dim = 2; dim < dimsOf(arriving).size(); ++dim)
    axes.push_back(static_cast<int64_t>(dim));
  g.give(bias, g.make<ReduceSumOp>({arriving, g.integers(axes)}, g.attribute("keepdims", int64_t(0))));
}

void giveConvolution(GradientBuilder &g, const ConvolutionSizes &sizes, mlir::Value arriving) {
  Attributes attributes = windowAttributes(g, sizes);
  mlir::Value x = g.operand(0), w = g.operand(1);
  if (g.wants(0))
    g.give(0, g.make<ConvInputGradOp>({arriving, w}, with(attributes, g.attribute("data_shape", spaceOf(x)))));
  if (g.wants(1))
    g.give(1, g.make<ConvWeightGradOp>({x, arriving}, with(attributes, g.attribute("kernel_shape", spaceOf(w)))));
  giveBias(g, 2, arriving);
}

bool differentiateConvolution(GradientBuilder &g) {
  auto sizes = readConvolution(g.getForward(), {});
  if (mlir::failed(sizes))
    return false;
  giveConvolution(g, *sizes, g.incoming());
  return true;
}

// Data and result change roles: the gradient of the data is a plain convolution.
bool differentiateTransposedConvolution(GradientBuilder &g) {
  auto sizes = readConvolution(g.getForward(), {.transposed = true});
  if (mlir::failed(sizes))
    return false;
  for (const WindowDim &window : sizes->windows) {
    int64_t free = window.output + window.padBegin + window.padEnd - window.span();
    if (free < 0 || free / window.stride + 1 != window.input)
      return g.refuse("a dim of its result has " + llvm::Twine(window.output) +
                      " elements, which strides, pads and kernel do not make, and shapes that they make are accepted");
  }
  Attributes attributes = windowAttributes(g, *sizes);
  mlir::Value x = g.operand(0), w = g.operand(1);
  if (g.wants(0))
    g.give(0, g.make<ConvOp>({g.incoming(), w, g.absent()}, attributes));
  if (g.wants(1))
    g.give(1, g.make<ConvWeightGradOp>({g.incoming(), x}, with(attributes, g.attribute("kernel_shape", spaceOf(w)))));
  giveBias(g, 2, g.incoming());
  return true;
}

void differentiateMaxPool(GradientBuilder &g) {
  Attributes attributes =
      forwardAttributes(g, {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
  g.give(0, g.make<MaxPoolGradOp>({g.incoming(), g.operand(0)}, attributes));
}

void differentiateAveragePool(GradientBuilder &g) {
  Attributes attributes = forwardAttributes(
      g, {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"});
  attributes.push_back(g.attribute("data_shape", spaceOf(g.operand(0))));
  g.give(0, g.make<AveragePoolGradOp>({g.incoming()}, attributes));
}

namespace {

/// |x| ^ (p - 1) with the sign of x: the derivative of |x| ^ p / p.
mlir::Value slopeOf(GradientBuilder &g, mlir::Value x, int64_t p) {
  mlir::Value sign = g.make<SignOp>({x});
  if (p == 1)
    return sign;
  mlir::Value size = g.make<AbsOp>({x});
  return g.mul(sign, g.make<PowOp>({size, g.scalar(static_cast<double>(p - 1), x)}));
}

/// The gradient of a norm y over y ^ (p - 1), and nothing where the norm is 0.
mlir::Value shareOf(GradientBuilder &g, int64_t p) {
  mlir::Value norm = g.result();
  mlir::Value power = g.make<PowOp>({norm, g.scalar(static_cast<double>(p - 1), norm)});
  return g.where(g.make<GreaterOp>({norm, g.scalar(0, norm)}), g.div(g.incoming(), power));
}

} // namespace

// Of y = (sum of |x| ^ p) ^ (1 / p) over a window: g y ^ (1 - p) sign(x) |x| ^ (p - 1), summed over the windows of x.
// The gradient of a mean is spread over a window; with the points of the window counted, it is that of a sum.
void differentiateLpPool(GradientBuilder &g) {
  Attributes windows = forwardAttributes(g, {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"});
  mlir::Value x = g.operand(0);
  int64_t p = intAttribute(g.getForward(), "p", 2);
  Ints plane(dimsOf(x));
  plane[0] = plane[1] = 1;
  mlir::Value ones = g.make<ExpandOp>({g.scalar(1, x), g.integers(plane)});
  mlir::Value counts = g.make<LpPoolOp>({ones}, with(windows, g.attribute("p", int64_t(1))));
  mlir::Value sums =
      g.make<AveragePoolGradOp>({g.mul(shareOf(g, p), counts)}, with(windows, g.attribute("data_shape", spaceOf(x))));
  g.give(0, g.mul(sums, slopeOf(g, x, p)));
}

void differentiateGlobalLp(GradientBuilder &g) {
  int64_t p = intAttribute(g.getForward(), "p", 2);
  g.give(0, g.mul(slopeOf(g, g.operand(0), p), shareOf(g, p)));
}

void differentiateGlobalMax(GradientBuilder &g) {
  llvm::ArrayRef<int64_t> space = spaceOf(g.operand(0));
  if (space.empty())
    return g.give(0, g.incoming());
  Attributes attributes = {g.attribute("kernel_shape", space), g.attribute("strides", space)};
  g.give(0, g.make<MaxPoolGradOp>({g.incoming(), g.operand(0)}, attributes));
}

void differentiateGlobalAverage(GradientBuilder &g) {
  double count = 1;
  for (int64_t size : spaceOf(g.operand(0)))
    count *= static_cast<double>(size);
  mlir::Value share = g.mul(g.incoming(), g.scalar(1 / count, g.incoming()));
  g.give(0, g.make<ExpandOp>({share, g.integers(dimsOf(g.operand(0)))}));
}

namespace {

using Reals = std::vector<double>;

/// dW of one input channel and one output channel: kernel points are sums over the windows.
void addKernel(llvm::ArrayRef<WindowRun> runs, const double *data, const double *gradient, double *kernel) {
  for (const WindowRun &run : runs)
    for (int64_t i = 0; i < run.count; ++i)
      kernel[run.kernel] += data[run.data + i * run.step] * gradient[run.first + i];
}

} // namespace

Evaluated ConvInputGradOp::evaluate(Operands operands) {
  auto sizes = readConvolutionGradient(*this);
  if (mlir::failed(sizes) || llvm::is_contained(operands, nullptr))
    return std::nullopt;
  std::swap(sizes->inputs, sizes->outputs);
  for (WindowDim &window : sizes->windows)
    std::swap(window.input, window.output);
  return evaluatedAsReals(*this, convolve(*sizes, operands[0]->floats, operands[1]->floats, /*transposed=*/true));
}

Evaluated ConvWeightGradOp::evaluate(Operands operands) {
  auto sizes = readConvolutionGradient(*this);
  if (mlir::failed(sizes) || llvm::is_contained(operands, nullptr))
    return std::nullopt;
  int64_t inputPlane = countInputs(sizes->windows), outputPlane = countOutputs(sizes->windows);
  int64_t kernel = countKernel(sizes->windows);
  std::vector<WindowRun> runs = windowRuns(sizes->windows);
  Reals result(sizes->groups * sizes->outputs * sizes->inputs * kernel, 0);
  for (int64_t sample = 0; sample < sizes->batch * sizes->groups; ++sample)
    for (int64_t output = 0; output < sizes->outputs; ++output)
      for (int64_t input = 0; input < sizes->inputs; ++input) {
        int64_t filter = (sample % sizes->groups * sizes->outputs + output) * sizes->inputs + input;
        addKernel(runs, operands[0]->floats.data() + (sample * sizes->inputs + input) * inputPlane,
                  operands[1]->floats.data() + (sample * sizes->outputs + output) * outputPlane,
                  result.data() + filter * kernel);
      }
  return evaluatedAsReals(*this, std::move(result));
}

} // namespace apc
