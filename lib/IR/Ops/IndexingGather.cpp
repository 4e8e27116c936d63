// Operators that pick elements by index: shapes and rules.
#include "apc/IR/Ops/Indexing.h"

namespace apc {

mlir::LogicalResult GatherOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(data.take_front(*axis));
  dims.append(indices.begin(), indices.end());
  dims.append(data.begin() + *axis + 1, data.end());
  return addType(*this, dims, operandElement(*this, 0), types);
}

// `v d0, d1 d2 -> d1 d2 d0`: a table cut by rows gives sums of masked rows. Other tables are whole along the axis.
mlir::FailureOr<FactorRule> GatherOp::getRule() {
  llvm::ArrayRef<int64_t> data = dimsOf(getData());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis))
    return mlir::failure();
  bool isTable = *axis == 0 && data.size() <= 2 && llvm::isa<mlir::FloatType>(operandElement(*this, 0));
  LayoutRule rule(*this);
  llvm::SmallVector<DimFactors, 4> dataDims, indexDims, resultDims;
  for (int64_t size : dimsOf(getIndices()))
    indexDims.push_back(rule.parallel(size));
  for (auto [dim, size] : llvm::enumerate(data)) {
    dataDims.push_back(dim != *axis ? rule.parallel(size) : isTable ? rule.sum("v", size) : rule.whole(size));
    if (dim == *axis)
      resultDims.append(indexDims);
    else
      resultDims.push_back(dataDims.back());
  }
  rule.setOperand(0, dataDims);
  rule.setOperand(1, indexDims);
  rule.setResult(0, resultDims);
  rule.setSparse(0);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

} // namespace apc
