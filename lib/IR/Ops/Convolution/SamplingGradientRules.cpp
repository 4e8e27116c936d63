// Gradients of operators that pick points of a feature map as ops: shapes and rules.
#include "../Attributes.h"
#include "Convolution.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

using Dims = llvm::SmallVector<int64_t, 8>;

FactorRule withFlops(RuleBuilder &layout, double flops) {
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, flops);
  return rule;
}

double numElements(mlir::Value value) { return double(shapeOf(value)->numElements()); }

/// dY [n, c, points...] and grid [n, points..., dims of space] of a gradient of GridSample.
mlir::LogicalResult checkGrid(mlir::Operation *op, unsigned grid) {
  llvm::ArrayRef<int64_t> arriving = dimsOf(op->getOperand(0));
  if (arriving.size() < 3)
    return op->emitOpError() << "operand '" << operandName(op, 0) << "' has " << arriving.size()
                             << " dims; batch, channels and at least one dim of points are needed";
  Dims expected = {arriving[0]};
  llvm::append_range(expected, arriving.drop_front(2));
  expected.push_back(static_cast<int64_t>(arriving.size() - 2));
  return checkDims(op, grid, expected);
}

/// The factors of a gradient of GridSample: `points` are those of the grid but for its last dim.
struct GridFactors {
  llvm::SmallVector<DimFactors, 4> arriving, data, grid;
};

GridFactors addGridFactors(RuleBuilder &layout, llvm::ArrayRef<int64_t> arriving, llvm::ArrayRef<int64_t> data,
                           bool isOfGrid) {
  GridFactors factors;
  DimFactors batch = layout.parallel(arriving[0]);
  DimFactors channels = isOfGrid ? layout.sum("c", arriving[1]) : layout.parallel(arriving[1]);
  factors.arriving = factors.data = {batch, channels};
  factors.grid = {batch};
  for (int64_t size : data.drop_front(2))
    factors.data.push_back(layout.whole(size));
  for (auto [dim, size] : llvm::enumerate(arriving.drop_front(2))) {
    factors.grid.push_back(isOfGrid ? layout.parallel(size) : layout.sum(numbered("y", dim), size));
    factors.arriving.push_back(factors.grid.back());
  }
  factors.grid.push_back(layout.whole(static_cast<int64_t>(arriving.size() - 2)));
  return factors;
}

} // namespace

mlir::LogicalResult GridSampleInputGradOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> arriving = dimsOf(getDY());
  if (mlir::failed(checkGrid(*this, 1)))
    return mlir::failure();
  if (getDataShape().size() + 2 != arriving.size())
    return emitOpError() << "'data_shape' has " << getDataShape().size() << " values where " << arriving.size() - 2
                         << " dims of space are";
  Dims dims(arriving.take_front(2));
  llvm::append_range(dims, getDataShape());
  return addType(*this, dims, operandElement(*this, 0), types);
}

// `n c y x, n y x !k -> n c !h !w`, summed over y and x.
mlir::FailureOr<FactorRule> GridSampleInputGradOp::getRule() {
  RuleBuilder layout(*this);
  GridFactors factors = addGridFactors(layout, dimsOf(getDY()), dimsOf(getResult()), /*isOfGrid=*/false);
  layout.setOperand(0, factors.arriving);
  layout.setOperand(1, factors.grid);
  layout.setResult(0, factors.data);
  layout.setLinear({0});
  constexpr double perPoint = 8;
  return withFlops(layout, perPoint * numElements(getDY()));
}

mlir::LogicalResult GridSampleGridGradOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> arriving = dimsOf(getDY());
  Dims data(arriving.size(), -1);
  if (mlir::failed(checkGrid(*this, 2)))
    return mlir::failure();
  data[0] = arriving[0];
  data[1] = arriving[1];
  if (mlir::failed(checkDims(*this, 1, data)))
    return mlir::failure();
  return addType(*this, dimsOf(getGrid()), operandElement(*this, 2), types);
}

// `n c y x, n c !h !w, n y x !k -> n y x !k`, summed over c.
mlir::FailureOr<FactorRule> GridSampleGridGradOp::getRule() {
  RuleBuilder layout(*this);
  GridFactors factors = addGridFactors(layout, dimsOf(getDY()), dimsOf(getX()), /*isOfGrid=*/true);
  layout.setOperand(0, factors.arriving);
  layout.setOperand(1, factors.data);
  layout.setOperand(2, factors.grid);
  layout.setResult(0, factors.grid);
  layout.setLinear({0});
  constexpr double perSlope = 8;
  return withFlops(layout, perSlope * double(dimsOf(getGrid()).back()) * numElements(getDY()));
}

mlir::LogicalResult Im2ColOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> image = dimsOf(getImage());
  if (image.size() < 3)
    return emitOpError() << "operand 'image' has " << image.size()
                         << " dims; batch, channels and at least one dim of space are needed";
  auto windows = readWindows(*this, image.drop_front(2), {});
  if (mlir::failed(windows))
    return mlir::failure();
  Dims columns = {image[1]}, positions;
  for (const WindowDim &window : *windows) {
    columns.push_back(window.kernel);
    positions.push_back(window.output);
  }
  return addType(*this, {image[0], mergedSize(columns), mergedSize(positions)}, operandElement(*this, 0), types);
}

// `n c !y !x -> n (c !k) !l`.
mlir::FailureOr<FactorRule> Im2ColOp::getRule() {
  RuleBuilder layout(*this);
  llvm::ArrayRef<int64_t> image = dimsOf(getImage()), columns = dimsOf(getColumns());
  DimFactors batch = layout.parallel(image[0]), channels = layout.parallel(image[1]), merged = channels;
  merged.append(layout.whole(image[1] > 0 ? columns[1] / image[1] : 1));
  llvm::SmallVector<DimFactors, 4> data = {batch, channels};
  for (int64_t size : image.drop_front(2))
    data.push_back(layout.whole(size));
  layout.setOperand(0, data);
  layout.setResult(0, {batch, merged, layout.whole(columns[2])});
  layout.setLinear({0});
  return withFlops(layout, 0);
}

namespace {

/// The dims of the map of a gradient of MaxRoiPool or RoiAlign.
mlir::FailureOr<Dims> mapOf(mlir::Operation *op) {
  llvm::ArrayRef<int64_t> arriving = dimsOf(op->getOperand(0)), space = intsAttribute(op, "data_shape");
  bool saysMap = llvm::isa<RoiAlignGradOp>(op);
  if (arriving.size() != 4 || (saysMap && space.size() != 3))
    return op->emitOpError() << "needs 'dY' of 4 dims and a map of 4 dims", mlir::failure();
  Dims expected = {-1, arriving[1], -1, -1};
  if (saysMap)
    expected = {space[0], arriving[1], space[1], space[2]};
  if (mlir::failed(checkDims(op, 1, expected)))
    return mlir::failure();
  return saysMap ? expected : Dims(dimsOf(op->getOperand(1)));
}

} // namespace

mlir::LogicalResult inferRegionGradient(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto map = mapOf(op);
  if (mlir::failed(map))
    return mlir::failure();
  int64_t regions = dimsOf(op->getOperand(0))[0];
  auto align = llvm::dyn_cast<RoiAlignGradOp>(op);
  if (mlir::failed(checkDims(op, 2, {regions, align ? 4 : 5})) || (align && mlir::failed(checkDims(op, 3, {regions}))))
    return mlir::failure();
  if (align && align.getMode() == "max" && isAbsent(align.getX()))
    return op->emitOpError() << "needs operand 'X' to find maxima";
  if (regions > 0 && checkedProduct(*map) == 0)
    return op->emitOpError() << "a map of shape " << printDims(*map) << " has no elements to pool";
  return addType(op, *map, operandElement(op, 0), types);
}

mlir::FailureOr<FactorRule> ruleRegionGradient(mlir::Operation *op) {
  RuleBuilder layout(op);
  llvm::ArrayRef<int64_t> arriving = dimsOf(op->getOperand(0)), map = dimsOf(op->getResult(0));
  DimFactors region = layout.sum("r", arriving[0]), channels = layout.parallel(arriving[1]);
  llvm::SmallVector<DimFactors, 4> data = {layout.whole(map[0]), channels, layout.whole(map[2]), layout.whole(map[3])};
  layout.setOperand(0, {region, channels, layout.whole(arriving[2]), layout.whole(arriving[3])});
  if (!isAbsent(op->getOperand(1)))
    layout.setOperand(1, data);
  layout.setOperand(2, {region, layout.whole(dimsOf(op->getOperand(2))[1])});
  if (op->getNumOperands() > 3)
    layout.setOperand(3, {region});
  layout.setResult(0, data);
  layout.setLinear({0});
  return withFlops(layout, numElements(op->getOperand(0)));
}

} // namespace apc
