// Operators that place elements by index: shapes and rules.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "apc/IR/RuleBuilder.h"
namespace apc {

namespace {

mlir::LogicalResult checkReduction(mlir::Operation *op, llvm::StringRef reduction) {
  if (llvm::is_contained({"none", "add", "mul", "max", "min"}, reduction))
    return mlir::success();
  return op->emitOpError() << "reduction '" << reduction << "' is none of none, add, mul, max, min";
}

/// Sums of data and of updates scatter to a sum, unless they are multiplied or compared.
bool isLinear(llvm::StringRef reduction) { return reduction == "none" || reduction == "add"; }

} // namespace

mlir::LogicalResult ScatterElementsOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis) || mlir::failed(checkReduction(*this, getReduction())))
    return mlir::failure();
  if (!liesWithinBeside(*axis, indices, data) || dimsOf(getUpdates()) != indices)
    return emitOpError() << "indices " << printDims(indices) << " and updates " << printDims(dimsOf(getUpdates()))
                         << " must be equal and lie within data " << printDims(data) << " beside axis " << *axis;
  return addType(*this, data, operandElement(*this, 0), types);
}

// The axis is whole in all tensors, and so are dims of which updates reach only part.
mlir::FailureOr<FactorRule> ScatterElementsOp::getRule() {
  llvm::ArrayRef<int64_t> data = dimsOf(getData());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), data.size());
  if (mlir::failed(axis))
    return mlir::failure();
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> dataDims, indexDims;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getIndices()))) {
    bool shared = dim != *axis && size == data[dim];
    dataDims.push_back(shared ? rule.parallel(size) : rule.whole(data[dim]));
    indexDims.push_back(shared ? dataDims.back() : rule.whole(size));
  }
  rule.setOperand(0, dataDims);
  rule.setOperand(1, indexDims);
  rule.setOperand(2, indexDims);
  rule.setResult(0, dataDims);
  if (isLinear(getReduction()))
    rule.setLinear({0, 2});
  return rule.take(Work::Stream);
}

mlir::LogicalResult ScatterNDOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  if (mlir::failed(checkReduction(*this, getReduction())))
    return mlir::failure();
  if (indices.empty() || indices.back() < 1 || indices.back() > static_cast<int64_t>(data.size()))
    return emitOpError() << "indices " << printDims(indices) << " are no tuples of 1 to " << data.size() << " entries";
  llvm::SmallVector<int64_t, 4> updates(indices.drop_back());
  updates.append(data.begin() + indices.back(), data.end());
  if (dimsOf(getUpdates()) != llvm::ArrayRef<int64_t>(updates))
    return emitOpError() << "updates is " << printDims(dimsOf(getUpdates())) << ", but indices " << printDims(indices)
                         << " into data " << printDims(data) << " need " << printDims(updates);
  return addType(*this, data, operandElement(*this, 0), types);
}

// `w d0, i w, i d0 -> w d0`: the dims that tuples index and all of the tuples are whole, the slices parallel.
mlir::FailureOr<FactorRule> ScatterNDOp::getRule() {
  llvm::ArrayRef<int64_t> data = dimsOf(getData()), indices = dimsOf(getIndices());
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> dataDims, indexDims, updateDims;
  for (int64_t size : indices)
    indexDims.push_back(rule.whole(size));
  updateDims.assign(indexDims.begin(), indexDims.end() - 1);
  for (auto [dim, size] : llvm::enumerate(data)) {
    bool indexed = static_cast<int64_t>(dim) < indices.back();
    dataDims.push_back(indexed ? rule.whole(size) : rule.parallel(size));
    if (!indexed)
      updateDims.push_back(dataDims.back());
  }
  rule.setOperand(0, dataDims);
  rule.setOperand(1, indexDims);
  rule.setOperand(2, updateDims);
  rule.setResult(0, dataDims);
  if (isLinear(getReduction()))
    rule.setLinear({0, 2});
  return rule.take(Work::Stream);
}

mlir::LogicalResult TensorScatterOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> cache = dimsOf(getPastCache()), update = dimsOf(getUpdate());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), cache.size());
  if (mlir::failed(axis))
    return mlir::failure();
  if (*axis == 0 || !llvm::is_contained({"linear", "circular"}, getMode()))
    return emitOpError() << "takes an axis behind the batch and mode linear or circular, not axis " << *axis
                         << " and mode '" << getMode() << "'";
  bool fits = cache.size() == update.size();
  for (size_t dim = 0; fits && dim < cache.size(); ++dim)
    fits = dim == *axis ? update[dim] <= cache[dim] : update[dim] == cache[dim];
  if (!fits)
    return emitOpError() << "update " << printDims(update) << " does not lie within past_cache " << printDims(cache)
                         << " along axis " << *axis;
  if (!isAbsent(getWriteIndices()) && dimsOf(getWriteIndices()) != cache.take_front(1))
    return emitOpError() << "write_indices is " << printDims(dimsOf(getWriteIndices())) << " for a batch of "
                         << cache.front();
  return addType(*this, cache, operandElement(*this, 0), types);
}

// `b h w d, b h w1 d, b -> b h w d`: only the axis is whole.
mlir::FailureOr<FactorRule> TensorScatterOp::getRule() {
  llvm::ArrayRef<int64_t> cache = dimsOf(getPastCache()), update = dimsOf(getUpdate());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), cache.size());
  if (mlir::failed(axis))
    return mlir::failure();
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> cacheDims, updateDims;
  for (auto [dim, size] : llvm::enumerate(cache)) {
    cacheDims.push_back(dim == *axis ? rule.whole(size) : rule.parallel(size));
    updateDims.push_back(dim == *axis ? rule.whole(update[dim]) : cacheDims.back());
  }
  rule.setOperand(0, cacheDims);
  rule.setOperand(1, updateDims);
  if (!isAbsent(getWriteIndices()))
    rule.setOperand(2, {cacheDims.front()});
  rule.setResult(0, cacheDims);
  rule.setLinear({0, 1});
  return rule.take(Work::Stream);
}

} // namespace apc
