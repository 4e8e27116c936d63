// Operators that pick elements by index: shapes and rules.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "apc/IR/RuleBuilder.h"
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

/// Points of data, of which only those are read that indices name; linear in data.
static FactorRule gatherRule(RuleBuilder &rule, llvm::SmallVector<DimFactors, 4> data,
                             llvm::SmallVector<DimFactors, 4> indices, llvm::SmallVector<DimFactors, 4> result) {
  rule.setOperand(0, std::move(data));
  rule.setOperand(1, std::move(indices));
  rule.setResult(0, std::move(result));
  rule.setSparse(0);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

// `v d0, d1 d2 -> d1 d2 d0`: a table cut by rows gives sums of masked rows. Other tables are whole along the axis.
mlir::FailureOr<FactorRule> GatherOp::getRule() {
  if (!getOffsets().empty())
    return RuleBuilder(*this).take(Work::Stream);
  llvm::ArrayRef<int64_t> data = dimsOf(getData());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis))
    return mlir::failure();
  bool isTable = *axis == 0 && data.size() <= 2 && llvm::isa<mlir::FloatType>(operandElement(*this, 0));
  RuleBuilder rule(*this);
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
  return gatherRule(rule, dataDims, indexDims, resultDims);
}

void GatherOp::localize(LocalOp &local) {
  int64_t axis = getAxis();
  if (axis < 0)
    axis += static_cast<int64_t>(local.operandDims(0).size());
  if (!local.isOperandCut(0, static_cast<unsigned>(axis)))
    return;
  local.setInt("axis", axis);
  local.setInt("size", local.rule.operandShape(0).dims[axis]);
  local.operands.push_back(local.offsetOf(0, static_cast<unsigned>(axis)));
}

bool liesWithinBeside(unsigned axis, llvm::ArrayRef<int64_t> indices, llvm::ArrayRef<int64_t> data) {
  if (data.size() != indices.size())
    return false;
  for (size_t dim = 0; dim < data.size(); ++dim)
    if (dim != axis && indices[dim] > data[dim])
      return false;
  return true;
}

mlir::LogicalResult GatherElementsOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis))
    return mlir::failure();
  if (!liesWithinBeside(*axis, indices, data))
    return emitOpError() << "indices " << printDims(indices) << " do not lie within data " << printDims(data)
                         << " beside axis " << *axis;
  return addType(*this, indices, operandElement(*this, 0), types);
}

// Data is whole along the axis, and where indices reach only part of a dim.
mlir::FailureOr<FactorRule> GatherElementsOp::getRule() {
  llvm::ArrayRef<int64_t> data = dimsOf(getData());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis))
    return mlir::failure();
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> dataDims, indexDims;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getIndices()))) {
    bool isAxis = dim == *axis, shared = !isAxis && size == data[dim];
    indexDims.push_back(isAxis || shared ? rule.parallel(size) : rule.whole(size));
    dataDims.push_back(shared ? indexDims.back() : rule.whole(data[dim]));
  }
  return gatherRule(rule, dataDims, indexDims, indexDims);
}

mlir::LogicalResult GatherNDOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  auto batch = static_cast<int64_t>(getBatchDims());
  int64_t numData = static_cast<int64_t>(data.size()), numIndices = static_cast<int64_t>(indices.size());
  if (batch < 0 || batch >= std::min(numData, numIndices) || data.take_front(batch) != indices.take_front(batch))
    return emitOpError() << "batch_dims " << batch << " leading dims of data " << printDims(data) << " and indices "
                         << printDims(indices) << " must be equal, with dims behind them";
  int64_t tuple = indices.back();
  if (tuple < 1 || tuple > numData - batch)
    return emitOpError() << "indices are tuples of " << tuple << " for " << numData - batch << " dims of data";
  llvm::SmallVector<int64_t, 4> dims(indices.drop_back());
  dims.append(data.begin() + batch + tuple, data.end());
  return addType(*this, dims, operandElement(*this, 0), types);
}

// Dims of data that tuples index are whole; batch dims are shared, the rest of each tensor is parallel.
mlir::FailureOr<FactorRule> GatherNDOp::getRule() {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  size_t batch = getBatchDims(), tuple = indices.back();
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> dataDims, indexDims, resultDims;
  for (int64_t size : indices.drop_back())
    indexDims.push_back(rule.parallel(size));
  resultDims = indexDims;
  indexDims.push_back(rule.whole(indices.back()));
  for (auto [dim, size] : llvm::enumerate(data)) {
    bool indexed = dim >= batch && dim < batch + tuple;
    dataDims.push_back(dim < batch ? indexDims[dim] : indexed ? rule.whole(size) : rule.parallel(size));
    if (dim >= batch + tuple)
      resultDims.push_back(dataDims.back());
  }
  return gatherRule(rule, dataDims, indexDims, resultDims);
}

mlir::FailureOr<unsigned> oneHotDim(OneHotOp op) {
  return normalizeAxis(op, static_cast<int64_t>(op.getAxis()), dimsOf(op.getIndices()).size() + 1);
}

mlir::LogicalResult OneHotOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto axis = oneHotDim(*this);
  auto depth = requireConstant(*this, 1);
  if (mlir::failed(axis) || mlir::failed(depth))
    return mlir::failure();
  if (dimsOf(getValues()) != llvm::ArrayRef<int64_t>{2})
    return emitOpError() << "values is " << printDims(dimsOf(getValues())) << "; [2] is needed: off and on";
  double size = depth->numElements() != 1 ? -1
                : depth->isFloat()        ? depth->floats.front()
                                          : static_cast<double>(depth->ints.front());
  if (!(size >= 0 && size < 0x1p53))
    return emitOpError("depth must be one number, 0 or more");
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getIndices()));
  dims.insert(dims.begin() + *axis, static_cast<int64_t>(size));
  return addType(*this, dims, operandElement(*this, 2), types);
}

mlir::FailureOr<FactorRule> OneHotOp::getRule() {
  auto axis = oneHotDim(*this);
  if (mlir::failed(axis))
    return mlir::failure();
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> indexDims, resultDims;
  for (int64_t size : dimsOf(getIndices()))
    indexDims.push_back(rule.parallel(size));
  resultDims = indexDims;
  resultDims.insert(resultDims.begin() + *axis, rule.whole(dimsOf(getOutput())[*axis]));
  rule.setOperand(0, indexDims);
  rule.setResult(0, resultDims);
  return rule.take(Work::Stream);
}

mlir::LogicalResult TriluOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  if (dims.size() < 2)
    return emitOpError() << "takes matrices, but its input is " << printDims(dims);
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> TriluOp::getRule() {
  auto numDims = static_cast<unsigned>(dimsOf(getInput()).size());
  llvm::SmallBitVector touched(numDims);
  touched.set(numDims - 2, numDims);
  return alignedRule(*this, 1, touched, /*linear=*/true);
}

} // namespace apc
