// Resize and Upsample: sizes from sizes or scales, and the dims that stay parallel.
#include "Convolution.h"
#include "Resize.h"
#include "apc/IR/RuleBuilder.h"

#include <cmath>

namespace apc {

namespace {

/// The operand; null when it is absent or an empty tensor (the older way to leave it out).
mlir::Value presentOperand(mlir::Operation *op, unsigned index) {
  if (index >= op->getNumOperands() || isAbsent(op->getOperand(index)))
    return {};
  return llvm::is_contained(dimsOf(op->getOperand(index)), 0) ? mlir::Value() : op->getOperand(index);
}

} // namespace

ResizeOperands resizeOperands(mlir::Operation *op) {
  if (llvm::isa<UpsampleOp>(op) || intAttribute(op, "opset_version", 23) < 11)
    return {1, ~0U, ~0U};
  return {};
}

mlir::FailureOr<llvm::SmallVector<unsigned, 6>> resizedAxes(mlir::Operation *op, size_t numDims) {
  llvm::ArrayRef<int64_t> axes = intsAttribute(op, "axes");
  if (!axes.empty())
    return normalizeAxes(op, axes, numDims);
  llvm::SmallVector<unsigned, 6> all;
  for (unsigned dim = 0; dim < numDims; ++dim)
    all.push_back(dim);
  return all;
}

namespace {

mlir::FailureOr<std::vector<double>> readNumbers(mlir::Operation *op, unsigned operand, size_t count) {
  auto constant = requireConstant(op, operand);
  if (mlir::failed(constant))
    return mlir::failure();
  std::vector<double> numbers = constant->floats;
  if (!constant->isFloat())
    numbers.assign(constant->ints.begin(), constant->ints.end());
  if (numbers.size() != count)
    return op->emitOpError() << "operand '" << operandName(op, operand) << "' has " << numbers.size() << " values, but "
                             << count << " are needed",
           mlir::failure();
  return numbers;
}

/// Scales of Upsample before opset 7: of the last two dims.
mlir::FailureOr<std::vector<double>> attributeScales(mlir::Operation *op, size_t numDims) {
  auto height = op->getAttrOfType<mlir::FloatAttr>("height_scale"),
       width = op->getAttrOfType<mlir::FloatAttr>("width_scale");
  if (!height || !width || numDims < 2)
    return op->emitOpError() << "needs scales: an operand, or 'height_scale' and 'width_scale' for the last two dims",
           mlir::failure();
  std::vector<double> scales(numDims, 1.0);
  scales[numDims - 2] = height.getValueAsDouble();
  scales[numDims - 1] = width.getValueAsDouble();
  return scales;
}

/// Sizes by scales: floor(size * scale), with the part of the dim that the region has.
mlir::FailureOr<ResizedDims> scaleDims(mlir::Operation *op, llvm::ArrayRef<int64_t> input,
                                       llvm::ArrayRef<unsigned> axes, llvm::ArrayRef<double> scales,
                                       llvm::ArrayRef<double> region) {
  ResizedDims dims;
  for (int64_t size : input)
    dims.push_back({size, 1, false});
  for (auto [position, dim] : llvm::enumerate(axes)) {
    // The arithmetic is in 32-bit floats like the scales: 10 * 0.7f is 7.
    auto extent = static_cast<float>(input[dim]);
    if (!region.empty())
      extent *= static_cast<float>(region[position + axes.size()] - region[position]);
    float size = std::floor(extent * static_cast<float>(scales[position]));
    if (!(scales[position] > 0) || !(size >= 0) || size > 1e15f)
      return op->emitOpError() << "scale " << scales[position] << " of dim " << dim << " (size " << input[dim]
                               << ") gives no size",
             mlir::failure();
    bool keeps = scales[position] == 1.0 && region.empty();
    dims[dim] = {keeps ? input[dim] : static_cast<int64_t>(size), scales[position], !keeps};
  }
  return dims;
}

/// Sizes as given, or shrunk or grown to one common scale (`keep_aspect_ratio_policy`).
mlir::FailureOr<ResizedDims> fitDims(mlir::Operation *op, llvm::ArrayRef<int64_t> input, llvm::ArrayRef<unsigned> axes,
                                     llvm::ArrayRef<double> sizes, bool hasRegion) {
  llvm::StringRef policy = stringAttribute(op, "keep_aspect_ratio_policy", "stretch");
  bool common = policy == "not_larger" || policy == "not_smaller";
  if (!common && policy != "stretch")
    return op->emitOpError() << "'keep_aspect_ratio_policy' is '" << policy
                             << "'; stretch, not_larger or not_smaller is needed",
           mlir::failure();
  ResizedDims dims;
  for (int64_t size : input)
    dims.push_back({size, 1, false});
  std::optional<double> scale;
  for (auto [position, dim] : llvm::enumerate(axes)) {
    if (!(sizes[position] >= 0) || sizes[position] > 1e15 || (common && input[dim] == 0))
      return op->emitOpError() << "size " << sizes[position] << " of dim " << dim << " (size " << input[dim]
                               << ") is not possible",
             mlir::failure();
    double own = common ? sizes[position] / double(input[dim]) : 1;
    scale = !scale ? own : policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (auto [position, dim] : llvm::enumerate(axes)) {
    double size = common ? std::floor(*scale * double(input[dim]) + 0.5) : sizes[position];
    if (size > 1e15)
      return op->emitOpError() << "dim " << dim << " would have " << size << " points", mlir::failure();
    // A piece would find another common scale.
    bool keeps = static_cast<int64_t>(size) == input[dim] && !hasRegion && !common;
    dims[dim] = {static_cast<int64_t>(size), common ? *scale : size / static_cast<double>(input[dim]), !keeps};
  }
  return dims;
}

} // namespace

mlir::FailureOr<ResizedDims> readResize(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> input = dimsOf(op->getOperand(0));
  ResizeOperands which = resizeOperands(op);
  auto axes = resizedAxes(op, input.size());
  if (mlir::failed(axes))
    return mlir::failure();
  std::vector<double> region;
  bool crops = stringAttribute(op, "coordinate_transformation_mode", "") == "tf_crop_and_resize";
  mlir::Value scales = presentOperand(op, which.scales), sizes = presentOperand(op, which.sizes);
  if (llvm::isa<UpsampleOp>(op) && !scales) {
    auto numbers = attributeScales(op, input.size());
    return mlir::failed(numbers) ? mlir::FailureOr<ResizedDims>() : scaleDims(op, input, *axes, *numbers, {});
  }
  if (!scales == !sizes)
    return op->emitOpError() << "needs either 'scales' or 'sizes'", mlir::failure();
  if (sizes) {
    auto numbers = readNumbers(op, which.sizes, axes->size());
    return mlir::failed(numbers) ? mlir::FailureOr<ResizedDims>() : fitDims(op, input, *axes, *numbers, crops);
  }
  auto numbers = readNumbers(op, which.scales, axes->size());
  if (mlir::failed(numbers))
    return mlir::failure();
  if (crops && presentOperand(op, which.region)) {
    auto given = readNumbers(op, which.region, 2 * axes->size());
    if (mlir::failed(given))
      return mlir::failure();
    region = std::move(*given);
  }
  return scaleDims(op, input, *axes, *numbers, region);
}

namespace {

/// For each point of the result: the points that it is mixed from, as for two spatial dims.
double flopsPerResult(mlir::Operation *op) {
  llvm::StringRef mode = stringAttribute(op, "mode", "nearest");
  return mode == "nearest" ? 1 : mode == "cubic" ? 32 : 8;
}

} // namespace

mlir::LogicalResult inferResize(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto dims = readResize(op);
  if (mlir::failed(dims))
    return mlir::failure();
  llvm::SmallVector<int64_t, 5> sizes;
  for (const Resized &dim : *dims)
    sizes.push_back(dim.size);
  return addType(op, sizes, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleResize(mlir::Operation *op) {
  auto dims = readResize(op);
  if (mlir::failed(dims))
    return mlir::failure();
  RuleBuilder layout(op);
  llvm::SmallVector<DimFactors, 4> data, result;
  for (auto [dim, size] : llvm::zip_equal(*dims, dimsOf(op->getOperand(0)))) {
    data.push_back(dim.moved ? layout.whole(size) : layout.parallel(size));
    result.push_back(dim.moved ? layout.whole(dim.size) : data.back());
  }
  layout.setOperand(0, data);
  layout.setResult(0, result);
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, flopsPerResult(op) * double(shapeOf(op->getResult(0))->numElements()));
  return rule;
}

// The `sizes` of dims that are cut become those of the piece.
void ResizeOp::localize(LocalOp &local) {
  unsigned operand = resizeOperands(*this).sizes;
  if (operand >= local.operands.size() || !presentOperand(*this, operand))
    return;
  auto axes = resizedAxes(*this, local.resultDims(0).size());
  if (mlir::failed(axes))
    return;
  llvm::SmallVector<int64_t, 5> sizes;
  for (unsigned dim : *axes)
    sizes.push_back(local.resultDims(0)[dim]);
  if (getKeepAspectRatioPolicy() == "stretch")
    local.setConstant(operand, sizes);
}

} // namespace apc
