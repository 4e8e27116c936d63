// Convolutions: shapes and rules.
#include "Convolution.h"

#include "../Attributes.h"
#include "Windows.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

/// The outputs and pads of a transposed convolution: a plain convolution reads those outputs and writes its operand.
/// `output_shape` decides over the pads.
mlir::LogicalResult transposeWindows(mlir::Operation *op, llvm::MutableArrayRef<WindowDim> windows) {
  llvm::ArrayRef<int64_t> extra = intsAttribute(op, "output_padding");
  llvm::ArrayRef<int64_t> shape = intsAttribute(op, "output_shape");
  llvm::StringRef autoPad = stringAttribute(op, "auto_pad", "NOTSET");
  if (shape.size() > windows.size())
    shape = shape.take_back(windows.size());
  if ((!extra.empty() && extra.size() != windows.size()) || (!shape.empty() && shape.size() != windows.size()))
    return op->emitOpError() << "'output_padding' and 'output_shape' need one value for each of the " << windows.size()
                             << " spatial dims";
  for (auto [index, window] : llvm::enumerate(windows)) {
    int64_t added = extra.empty() ? 0 : extra[index];
    if (added < 0 || added >= int64_t(1) << 31)
      return op->emitOpError() << "'output_padding' has " << added << "; at least 0 and less than 2^31 is needed";
    int64_t full = (window.input - 1) * window.stride + added + window.span();
    bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
    if (autoPad == "VALID")
      window.padBegin = window.padEnd = 0;
    if (!shape.empty() || same) {
      window.output = shape.empty() ? window.input * window.stride : shape[index];
      int64_t total = std::max<int64_t>(0, full - window.output);
      window.padBegin = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.padEnd = total - window.padBegin;
    } else {
      window.output = full - window.padBegin - window.padEnd;
    }
    if (window.output < 1)
      return op->emitOpError() << "spatial dim " << index << " of the result would be " << window.output;
  }
  return mlir::success();
}

mlir::LogicalResult checkChannels(mlir::Operation *op, ConvolutionForm form, llvm::ArrayRef<int64_t> data,
                                  llvm::ArrayRef<int64_t> weights, int64_t groups) {
  if (data.size() < 3 || weights.size() != data.size())
    return op->emitOpError() << "operand '" << operandName(op, form.data) << "' has " << data.size() << " dims and '"
                             << operandName(op, form.weights) << "' " << weights.size()
                             << "; the same number and at least 3 is needed";
  if (groups < 1 || data[1] % groups != 0)
    return op->emitOpError() << "'group' is " << groups << ", which does not divide the " << data[1]
                             << " input channels";
  int64_t expected = form.transposed ? data[1] : data[1] / groups;
  int64_t found = weights[form.transposed ? 0 : 1];
  if (found != expected)
    return op->emitOpError() << "operand '" << operandName(op, form.weights) << "' has " << found
                             << " input channels where " << expected << " are needed (" << data[1] << " in " << groups
                             << " groups)";
  if (!form.transposed && weights[0] % groups != 0)
    return op->emitOpError() << "'group' is " << groups << ", which does not divide the " << weights[0]
                             << " output channels";
  return mlir::success();
}

/// Offsets [n, groups * window * spatial dims, ...] and mask [n, groups * window, ...] of a deformable convolution.
mlir::LogicalResult checkOffsets(mlir::Operation *op, ConvolutionSizes &sizes) {
  sizes.offsetGroups = intAttribute(op, "offset_group", 1);
  if (sizes.offsetGroups < 1 || sizes.groups * sizes.inputs % sizes.offsetGroups != 0)
    return op->emitOpError() << "'offset_group' is " << sizes.offsetGroups << ", which does not divide the "
                             << sizes.groups * sizes.inputs << " input channels";
  llvm::SmallVector<int64_t, 6> counts = {sizes.offsetGroups};
  for (const WindowDim &window : sizes.windows)
    counts.push_back(window.kernel);
  std::optional<int64_t> mask = checkedProduct(counts);
  counts.push_back(static_cast<int64_t>(sizes.windows.size()));
  std::optional<int64_t> offsets = checkedProduct(counts);
  if (!offsets)
    return op->emitOpError() << "the windows have more points than 64 bits count";
  llvm::SmallVector<int64_t, 5> dims = sizes.resultDims();
  dims[1] = *offsets;
  if (mlir::failed(checkDims(op, 2, dims)))
    return mlir::failure();
  dims[1] = *mask;
  return checkDims(op, 4, dims);
}

/// Scales and zero points have one element, or one for each of `channels`.
mlir::LogicalResult checkScales(mlir::Operation *op, const ConvolutionForm &form, int64_t channels) {
  auto check = [&](unsigned operand, bool perOutput) -> mlir::LogicalResult {
    llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(operand));
    if (checkedProduct(dims) == 1 || (perOutput && dims == llvm::ArrayRef(channels)))
      return mlir::success();
    return op->emitOpError() << "operand '" << operandName(op, operand) << "' has shape " << printDims(dims)
                             << "; one element" << (perOutput ? " or one for each output channel" : "") << " is needed";
  };
  for (unsigned operand : form.numbers)
    if (mlir::failed(check(operand, false)))
      return mlir::failure();
  for (unsigned operand : form.perOutput)
    if (mlir::failed(check(operand, true)))
      return mlir::failure();
  return mlir::success();
}

} // namespace

mlir::FailureOr<ConvolutionSizes> readConvolution(mlir::Operation *op, ConvolutionForm form) {
  return readConvolution(op, form, dimsOf(op->getOperand(form.data)), dimsOf(op->getOperand(form.weights)));
}

mlir::FailureOr<ConvolutionSizes> readConvolution(mlir::Operation *op, const ConvolutionForm &form,
                                                  llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> weights) {
  int64_t groups = intAttribute(op, "group", 1);
  if (mlir::failed(checkChannels(op, form, data, weights, groups)))
    return mlir::failure();
  ConvolutionSizes sizes;
  sizes.batch = data[0];
  sizes.groups = groups;
  sizes.inputs = data[1] / groups;
  sizes.outputs = form.transposed ? weights[1] : weights[0] / groups;
  if (sizes.outputs >= int64_t(1) << 31 || groups >= int64_t(1) << 31)
    return op->emitOpError() << "more than 2^31 channels", mlir::failure();
  auto windows = form.transposed ? readWindowAttributes(op, data.drop_front(2), weights.drop_front(2))
                                 : readWindows(op, data.drop_front(2), weights.drop_front(2));
  if (mlir::failed(windows) || (form.transposed && mlir::failed(transposeWindows(op, *windows))))
    return mlir::failure();
  sizes.windows = std::move(*windows);
  if (mlir::failed(checkDims(op, form.bias, {groups * sizes.outputs})) ||
      mlir::failed(checkDims(op, form.summand, sizes.resultDims())) ||
      mlir::failed(checkScales(op, form, groups * sizes.outputs)) ||
      (form.deformable && mlir::failed(checkOffsets(op, sizes))))
    return mlir::failure();
  return sizes;
}

namespace {

WindowFactors addWholeWindow(FactorRuleBuilder &builder, const WindowDim &window, size_t index) {
  return {{builder.addWhole(numbered("h", index), window.input)},
          {builder.addWhole(numbered("r", index), window.kernel)},
          {builder.addWhole(numbered("y", index), window.output)}};
}

/// The window of a transposed convolution seen from the operand: where each point writes a block of its own.
WindowFactors addTransposedFactors(FactorRuleBuilder &builder, const WindowDim &window, size_t index) {
  bool tiled = window.kernel == window.stride && window.span() == window.kernel &&
               window.output == window.input * window.stride && !window.padBegin && !window.padEnd;
  if (!tiled)
    return addWholeWindow(builder, window, index);
  FactorId input = builder.addFactor(numbered("h", index), window.input);
  FactorId kernel = builder.addFactor(numbered("r", index), window.kernel);
  return {{input}, {kernel}, {input, kernel}};
}

} // namespace

ConvolutionFactors addFactors(FactorRuleBuilder &builder, const ConvolutionSizes &sizes, const ConvolutionForm &form) {
  ConvolutionFactors factors;
  FactorId batch = builder.addFactor("n", sizes.batch);
  DimFactors group;
  // Offsets of a run of channels serve them all, so a cut through the channels would have to cut the offsets, too.
  bool wholeInputs = !form.mayCutSum || sizes.offsetGroups > 1;
  if (sizes.groups > 1)
    group = {sizes.offsetGroups > 1 ? builder.addWhole("g", sizes.groups) : builder.addFactor("g", sizes.groups)};
  FactorId inputs =
      wholeInputs ? builder.addWhole("c", sizes.inputs) : builder.addReduction("c", sizes.inputs, Combiner::Sum);
  FactorId outputs = builder.addFactor("o", sizes.outputs);
  DimFactors groupInputs = group;
  groupInputs.push_back(inputs);
  factors.outputs = group;
  factors.outputs.push_back(outputs);
  factors.data = {{batch}, groupInputs};
  factors.weights = {factors.outputs, {inputs}};
  if (form.transposed)
    factors.weights = {groupInputs, {outputs}};
  factors.result = {{batch}, factors.outputs};
  for (auto [index, window] : llvm::enumerate(sizes.windows)) {
    WindowFactors dim = form.transposed ? addTransposedFactors(builder, window, index)
                        : form.deformable
                            ? addWholeWindow(builder, window, index)
                            : addWindowFactors(builder, window, index, form.mayCutSum, Combiner::Sum, true);
    factors.data.push_back(dim.input);
    factors.weights.push_back(dim.kernel);
    factors.result.push_back(dim.output);
  }
  return factors;
}

double convolutionFlops(const ConvolutionSizes &sizes, bool transposed) {
  double flops = 2.0 * double(sizes.batch) * double(sizes.groups) * double(sizes.inputs) * double(sizes.outputs);
  for (const WindowDim &window : sizes.windows)
    flops *= double(transposed ? window.input : window.output) * double(window.kernel);
  return flops;
}

namespace {

/// Bias, scale or zero point: cut with the output channels; a summand: cut like the result; offsets: like the result
/// but for their channels; else whole.
void addSideOperand(FactorRuleBuilder &builder, mlir::Value value, const ConvolutionFactors &factors, int64_t channels,
                    bool deformable, llvm::StringRef name) {
  auto shape = shapeOf(value);
  if (shape && shape->numDims() == 1 && shape->dims[0] == channels && channels > 1)
    return builder.addOperand({factors.outputs}, shape->elementBits);
  if (!shape || shape->numDims() != factors.result.size())
    return addReplicated(builder, value);
  llvm::SmallVector<DimFactors, 4> dims = factors.result;
  if (deformable)
    dims[1] = {builder.addWhole(name, shape->dims[1])};
  builder.addOperand(std::move(dims), shape->elementBits);
}

} // namespace

mlir::LogicalResult inferConvolution(mlir::Operation *op, ConvolutionForm form, mlir::Type element,
                                     llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = readConvolution(op, form);
  if (mlir::failed(sizes))
    return mlir::failure();
  return addType(op, sizes->resultDims(), element, types);
}

mlir::FailureOr<FactorRule> convolutionRule(mlir::Operation *op, ConvolutionForm form) {
  auto sizes = readConvolution(op, form);
  if (mlir::failed(sizes))
    return mlir::failure();
  FactorRuleBuilder builder;
  ConvolutionFactors factors = addFactors(builder, *sizes, form);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    mlir::Value value = op->getOperand(i);
    if (i == form.data)
      addOperand(builder, value, factors.data);
    else if (i == form.weights)
      addOperand(builder, value, factors.weights);
    else
      addSideOperand(builder, value, factors, sizes->groups * sizes->outputs, form.deformable, numbered("k", i));
  }
  addResult(builder, op->getResult(0), factors.result);
  builder.setWork(Work::Contraction);
  FactorRule rule = builder.take();
  rule.isConvolution = true;
  setFlops(rule, convolutionFlops(*sizes, form.transposed));
  return rule;
}

} // namespace apc
