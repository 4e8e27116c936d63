// Operators that pick points of a feature map, region by region or along a grid: shapes and rules.
#include "Convolution.h"
#include "Windows.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

mlir::LogicalResult requireDims(mlir::Operation *op, unsigned operand, size_t least) {
  size_t found = dimsOf(op->getOperand(operand)).size();
  if (found >= least)
    return mlir::success();
  return op->emitOpError() << "operand '" << operandName(op, operand) << "' has " << found << " dims; at least "
                           << least << " are needed";
}

/// The rule of RuleBuilder with its FLOPs: `perPoint` for each element of the result.
FactorRule withFlops(mlir::Operation *op, RuleBuilder &layout, double perPoint) {
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, perPoint * double(shapeOf(op->getResult(0))->numElements()));
  return rule;
}

} // namespace

mlir::LogicalResult MaxUnpoolOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Operation *op = getOperation();
  llvm::ArrayRef<int64_t> input = dimsOf(getX());
  if (mlir::failed(requireDims(op, 0, 3)) || mlir::failed(checkDims(op, 1, input)))
    return mlir::failure();
  if (!isAbsent(getOutputShape())) {
    auto shape = requireInts(op, 2);
    if (mlir::failed(shape))
      return mlir::failure();
    if (shape->size() != input.size())
      return op->emitOpError() << "operand 'output_shape' has " << shape->size() << " values, but " << input.size()
                               << " are needed";
    return addType(op, *shape, operandElement(op, 0), types);
  }
  auto windows = readWindowAttributes(op, input.drop_front(2), {});
  if (mlir::failed(windows))
    return mlir::failure();
  llvm::SmallVector<int64_t, 5> dims = {input[0], input[1]};
  for (const WindowDim &window : *windows)
    dims.push_back((window.input - 1) * window.stride + window.span() - window.padBegin - window.padEnd);
  return addType(op, dims, operandElement(op, 0), types);
}

// Everything is whole: indices count over the whole result.
mlir::FailureOr<FactorRule> MaxUnpoolOp::getRule() { return RuleBuilder(*this).take(Work::Stream); }

mlir::LogicalResult inferRegions(mlir::Operation *op, llvm::ArrayRef<int64_t> pooled,
                                 llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0)), regions = dimsOf(op->getOperand(1));
  if (data.size() != 4 || regions.size() != 2 || pooled.size() != 2)
    return op->emitOpError() << "needs '" << operandName(op, 0) << "' of 4 dims, '" << operandName(op, 1)
                             << "' of 2 and 2 pooled sizes";
  // Regions are their corners, behind the sample that they are in where no operand says it.
  bool saysSamples = op->getNumOperands() > 2;
  if (mlir::failed(checkDims(op, 1, {-1, saysSamples ? 4 : 5})))
    return mlir::failure();
  if (regions[0] > 0 && checkedProduct(data) == 0)
    return op->emitOpError() << "operand '" << operandName(op, 0) << "' of shape " << printDims(data)
                             << " has no elements to pool";
  if (saysSamples && mlir::failed(checkDims(op, 2, {regions[0]})))
    return mlir::failure();
  return addType(op, {regions[0], data[1], pooled[0], pooled[1]}, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleRegions(mlir::Operation *op) {
  RuleBuilder layout(op);
  llvm::ArrayRef<int64_t> data = dimsOf(op->getOperand(0)), regions = dimsOf(op->getOperand(1));
  DimFactors channels = layout.parallel(data[1]), region = layout.parallel(regions[0]);
  layout.setOperand(0, {layout.whole(data[0]), channels, layout.whole(data[2]), layout.whole(data[3])});
  layout.setOperand(1, {region, layout.whole(regions[1])});
  if (op->getNumOperands() > 2)
    layout.setOperand(2, {region});
  llvm::ArrayRef<int64_t> result = dimsOf(op->getResult(0));
  layout.setResult(0, {region, channels, layout.whole(result[2]), layout.whole(result[3])});
  return withFlops(op, layout, 1);
}

mlir::LogicalResult GridSampleOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Operation *op = getOperation();
  llvm::ArrayRef<int64_t> data = dimsOf(getX()), grid = dimsOf(getGrid());
  if (mlir::failed(requireDims(op, 0, 3)))
    return mlir::failure();
  if (grid.size() != data.size() || grid[0] != data[0] || grid.back() != static_cast<int64_t>(data.size() - 2))
    return op->emitOpError() << "operand 'grid' has shape " << printDims(grid) << " where [" << data[0] << ", ..., "
                             << data.size() - 2 << "] of " << data.size() << " dims is needed";
  llvm::SmallVector<int64_t, 5> dims = {data[0], data[1]};
  llvm::append_range(dims, grid.drop_front().drop_back());
  return addType(op, dims, operandElement(op, 0), types);
}

// `n c !h !w, n y x !k -> n c y x`.
mlir::FailureOr<FactorRule> GridSampleOp::getRule() {
  RuleBuilder layout(*this);
  llvm::ArrayRef<int64_t> input = dimsOf(getX()), points = dimsOf(getGrid());
  DimFactors batch = layout.parallel(input[0]), channels = layout.parallel(input[1]);
  llvm::SmallVector<DimFactors, 4> data = {batch, channels}, grid = {batch}, result = data;
  for (int64_t size : input.drop_front(2))
    data.push_back(layout.whole(size));
  for (int64_t size : points.drop_front().drop_back()) {
    grid.push_back(layout.parallel(size));
    result.push_back(grid.back());
  }
  grid.push_back(layout.whole(points.back()));
  layout.setOperand(0, data);
  layout.setOperand(1, grid);
  layout.setResult(0, result);
  return withFlops(*this, layout, 8);
}

mlir::LogicalResult AffineGridOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Operation *op = getOperation();
  llvm::ArrayRef<int64_t> theta = dimsOf(getTheta());
  auto size = requireInts(op, 1);
  if (mlir::failed(size))
    return mlir::failure();
  if (size->size() < 4 || size->size() > 5)
    return op->emitOpError() << "operand 'size' has " << size->size() << " values; 4 or 5 are needed";
  auto spatial = static_cast<int64_t>(size->size() - 2);
  if (mlir::failed(checkDims(op, 0, {size->front(), spatial, spatial + 1})))
    return mlir::failure();
  llvm::SmallVector<int64_t, 5> dims = {theta[0]};
  llvm::append_range(dims, llvm::ArrayRef(*size).drop_front(2));
  dims.push_back(spatial);
  return addType(op, dims, operandElement(op, 0), types);
}

// `n !i !j -> n !y !x !k`.
mlir::FailureOr<FactorRule> AffineGridOp::getRule() {
  RuleBuilder layout(*this);
  llvm::ArrayRef<int64_t> theta = dimsOf(getTheta());
  DimFactors batch = layout.parallel(theta[0]);
  layout.setOperand(0, {batch, layout.whole(theta[1]), layout.whole(theta[2])});
  llvm::SmallVector<DimFactors, 4> result = {batch};
  for (int64_t size : dimsOf(getResult()).drop_front())
    result.push_back(layout.whole(size));
  layout.setResult(0, result);
  return withFlops(*this, layout, 2.0 * double(theta[2]));
}

// The samples in `size` become those of the piece.
void AffineGridOp::localize(LocalOp &local) {
  auto size = constantInts(getSize());
  if (!size)
    return;
  size->front() = local.operandDims(0)[0];
  local.setConstant(1, *size);
}

mlir::LogicalResult Col2ImOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Operation *op = getOperation();
  llvm::ArrayRef<int64_t> input = dimsOf(getInput());
  auto image = requireInts(op, 1), block = requireInts(op, 2);
  if (mlir::failed(image) || mlir::failed(block))
    return mlir::failure();
  if (input.size() != 3 || image->empty() || image->size() != block->size())
    return op->emitOpError() << "needs 'input' of 3 dims and as many values in 'image_shape' as in 'block_shape'";
  auto windows = readWindows(op, *image, *block);
  if (mlir::failed(windows))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> positions;
  for (const WindowDim &window : *windows)
    positions.push_back(window.output);
  std::optional<int64_t> columns = checkedProduct(*block), count = checkedProduct(positions);
  if (!columns || *columns == 0 || !count || input[1] % *columns != 0 || input[2] != *count)
    return op->emitOpError() << "'input' of shape " << printDims(input) << " is not [n, channels * product of "
                             << printDims(*block) << ", product of " << printDims(positions) << "]";
  llvm::SmallVector<int64_t, 5> dims = {input[0], input[1] / *columns};
  llvm::append_range(dims, *image);
  return addType(op, dims, operandElement(op, 0), types);
}

// `n (c !k) !l -> n c !y !x`.
mlir::FailureOr<FactorRule> Col2ImOp::getRule() {
  RuleBuilder layout(*this);
  llvm::ArrayRef<int64_t> input = dimsOf(getInput()), image = dimsOf(getOutput());
  DimFactors batch = layout.parallel(input[0]), channels = layout.parallel(image[1]);
  DimFactors columns = channels;
  columns.append(layout.whole(image[1] > 0 ? input[1] / image[1] : 1));
  layout.setOperand(0, {batch, columns, layout.whole(input[2])});
  llvm::SmallVector<DimFactors, 4> result = {batch, channels};
  for (int64_t size : image.drop_front(2))
    result.push_back(layout.whole(size));
  layout.setResult(0, result);
  layout.setLinear({0});
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, double(shapeOf(getInput())->numElements()));
  return rule;
}

} // namespace apc
