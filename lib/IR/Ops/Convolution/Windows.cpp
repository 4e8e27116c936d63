// Sliding windows: the arithmetic of kernel, stride, dilation and pads, and the factors that follow.
#include "Windows.h"

#include "../Attributes.h"

namespace apc {

namespace {

constexpr int64_t maxExtent = int64_t(1) << 31;

/// The ints of an attribute, one for each spatial dim (`perDim` of them), all in [least, 2^31); `otherwise` when
/// absent.
mlir::FailureOr<llvm::SmallVector<int64_t, 6>> readExtents(mlir::Operation *op, llvm::StringRef name, size_t count,
                                                           int64_t least, int64_t otherwise) {
  llvm::ArrayRef<int64_t> given = intsAttribute(op, name);
  if (given.empty())
    return llvm::SmallVector<int64_t, 6>(count, otherwise);
  if (given.size() != count)
    return op->emitOpError() << "'" << name << "' has " << given.size() << " values, but " << count
                             << " are needed for the spatial dims",
           mlir::failure();
  for (int64_t value : given)
    if (value < least || value >= maxExtent)
      return op->emitOpError() << "'" << name << "' has " << value << ", which is outside [" << least << ", "
                               << maxExtent << ")",
             mlir::failure();
  return llvm::SmallVector<int64_t, 6>(given.begin(), given.end());
}

mlir::FailureOr<llvm::SmallVector<int64_t, 6>> readKernel(mlir::Operation *op, llvm::ArrayRef<int64_t> weights,
                                                          size_t count) {
  auto kernel = readExtents(op, "kernel_shape", count, 1, 0);
  if (mlir::failed(kernel) || weights.empty())
    return kernel;
  bool given = !intsAttribute(op, "kernel_shape").empty();
  for (size_t i = 0; i < count; ++i) {
    if (given && (*kernel)[i] != weights[i])
      return op->emitOpError() << "'kernel_shape' has " << (*kernel)[i] << " where the weights have " << weights[i],
             mlir::failure();
    if (weights[i] < 1 || weights[i] >= maxExtent)
      return op->emitOpError() << "the weights have a window of " << weights[i] << ", which is outside [1, "
                               << maxExtent << ")",
             mlir::failure();
  }
  return llvm::SmallVector<int64_t, 6>(weights.begin(), weights.end());
}

/// Pads so that there are ceil(input / stride) windows; an odd pad goes to the end (SAME_UPPER) or the beginning.
void padToSame(WindowDim &window, bool upper) {
  window.output = (window.input + window.stride - 1) / window.stride;
  int64_t total = std::max<int64_t>(0, (window.output - 1) * window.stride + window.span() - window.input);
  window.padBegin = upper ? total / 2 : total - total / 2;
  window.padEnd = total - window.padBegin;
}

mlir::LogicalResult countWindows(mlir::Operation *op, WindowDim &window, bool ceil) {
  int64_t padded = window.input + window.padBegin + window.padEnd;
  int64_t free = padded - window.span();
  if (free < 0)
    return op->emitOpError() << "a window that spans " << window.span() << " does not fit into " << window.input
                             << " points padded to " << padded;
  window.output = (ceil ? (free + window.stride - 1) / window.stride : free / window.stride) + 1;
  // A window that begins behind the data holds only pads.
  if (ceil && (window.output - 1) * window.stride >= window.input + window.padBegin)
    --window.output;
  return mlir::success();
}

} // namespace

mlir::FailureOr<llvm::SmallVector<WindowDim, 3>>
readWindowAttributes(mlir::Operation *op, llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> weights) {
  size_t count = input.size();
  auto kernel = readKernel(op, weights, count);
  auto strides = readExtents(op, "strides", count, 1, 1);
  auto dilations = readExtents(op, "dilations", count, 1, 1);
  auto pads = readExtents(op, "pads", 2 * count, 0, 0);
  if (mlir::failed(kernel) || mlir::failed(strides) || mlir::failed(dilations) || mlir::failed(pads))
    return mlir::failure();
  llvm::SmallVector<WindowDim, 3> windows(count);
  for (size_t i = 0; i < count; ++i) {
    if (input[i] < 0 || input[i] >= maxExtent)
      return op->emitOpError() << "spatial dim " << i << " is " << input[i] << ", which is outside [0, " << maxExtent
                               << ")",
             mlir::failure();
    windows[i] = {input[i], (*kernel)[i], (*strides)[i], (*dilations)[i], (*pads)[i], (*pads)[i + count], 1};
  }
  return windows;
}

mlir::FailureOr<llvm::SmallVector<WindowDim, 3>> readWindows(mlir::Operation *op, llvm::ArrayRef<int64_t> input,
                                                             llvm::ArrayRef<int64_t> weights) {
  auto windows = readWindowAttributes(op, input, weights);
  if (mlir::failed(windows))
    return mlir::failure();
  llvm::StringRef autoPad = stringAttribute(op, "auto_pad", "NOTSET");
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!same && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    return op->emitOpError() << "'auto_pad' is '" << autoPad << "'; NOTSET, VALID, SAME_UPPER or SAME_LOWER is needed",
           mlir::failure();
  for (WindowDim &window : *windows) {
    if (autoPad == "VALID")
      window.padBegin = window.padEnd = 0;
    if (same)
      padToSame(window, autoPad == "SAME_UPPER");
    else if (mlir::failed(countWindows(op, window, intAttribute(op, "ceil_mode", 0) != 0)))
      return mlir::failure();
  }
  return windows;
}

WindowFactors addWindowFactors(FactorRuleBuilder &builder, const WindowDim &window, size_t index, bool mayCutWindow,
                               Combiner combiner, bool hasWeights) {
  if (!window.isBlocked()) {
    WindowFactors whole;
    whole.input = {builder.addWhole(numbered("h", index), window.input)};
    if (hasWeights)
      whole.kernel = {builder.addWhole(numbered("r", index), window.kernel)};
    whole.output = {builder.addWhole(numbered("y", index), window.output)};
    return whole;
  }
  FactorId output = builder.addFactor(numbered("y", index), window.output);
  if (window.kernel == 1 && window.stride == 1)
    return {{output}, {}, {output}};
  if (window.isTiled()) {
    FactorId kernel = mayCutWindow ? builder.addReduction(numbered("r", index), window.kernel, combiner)
                                   : builder.addWhole(numbered("r", index), window.kernel);
    return {{output, kernel}, {kernel}, {output}};
  }
  FactorId block = builder.addWhole(numbered("s", index), window.stride);
  DimFactors kernel;
  if (hasWeights)
    kernel = {builder.addWhole(numbered("r", index), window.kernel)};
  return {{output, block}, kernel, {output}};
}

} // namespace apc
