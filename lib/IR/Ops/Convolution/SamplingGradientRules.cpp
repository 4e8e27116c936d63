// Gradients of operators that pick points of a feature map as ops: shapes and rules.
#include "../Attributes.h"
#include "Convolution.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

using Dims = llvm::SmallVector<int64_t, 5>;

FactorRule withFlops(RuleBuilder &layout, double flops) {
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, flops);
  return rule;
}

} // namespace

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

} // namespace apc
