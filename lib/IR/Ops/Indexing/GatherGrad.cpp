// Sums of slices at the places that indices name: shapes, rules, pieces and kernels.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "../HeldSpan.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

using Index = llvm::ArrayRef<int64_t>;

/// `dY` has the dims that gathering from `shape` gives.
mlir::LogicalResult checkGathered(mlir::Operation *op, llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int64_t> gathered) {
  llvm::ArrayRef<int64_t> given = dimsOf(op->getOperand(0));
  if (given == gathered)
    return mlir::success();
  return op->emitOpError() << "dY is " << printDims(given) << ", but indices " << printDims(dimsOf(op->getOperand(1)))
                           << " into shape " << printDims(shape) << " give " << printDims(gathered);
}

/// One addition for each element of dY: the loop nest also counts the `places` that it may be added to.
FactorRule sparseSum(RuleBuilder &layout, int64_t places) {
  layout.setLinear({0});
  FactorRule rule = layout.take(Work::Stream);
  rule.flopsPerPoint = 1 / static_cast<double>(std::max<int64_t>(places, 1));
  return rule;
}

} // namespace

void setLocalShape(LocalOp &local) {
  local.attributes.set("shape", local.builder.getDenseI64ArrayAttr(local.resultDims(0)));
}

mlir::LogicalResult GatherGradOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> shape = getShape(), indices = dimsOf(getIndices());
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), shape.size());
  if (mlir::failed(axis))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> gathered(shape.take_front(*axis));
  gathered.append(indices.begin(), indices.end());
  gathered.append(shape.begin() + *axis + 1, shape.end());
  if (mlir::failed(checkGathered(*this, shape, gathered)))
    return mlir::failure();
  return addType(*this, shape, operandElement(*this, 0), types);
}

// `d1 d2 d0, d1 d2 -> v d0` sums over the dims of indices. Rows of a table may be cut, as in GatherOp; other tensors
// are whole along the axis.
mlir::FailureOr<FactorRule> GatherGradOp::getRule() {
  if (!getOffsets().empty())
    return RuleBuilder(*this).take(Work::Stream);
  llvm::ArrayRef<int64_t> shape = getShape();
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), shape.size());
  if (mlir::failed(axis))
    return mlir::failure();
  bool isTable = *axis == 0 && shape.size() <= 2;
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> indexDims, givenDims, resultDims;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getIndices())))
    indexDims.push_back(rule.sum(("i" + llvm::Twine(dim)).str(), size));
  for (auto [dim, size] : llvm::enumerate(shape)) {
    resultDims.push_back(dim == *axis && !isTable ? rule.whole(size) : rule.parallel(size));
    if (dim == *axis)
      givenDims.append(indexDims);
    else
      givenDims.push_back(resultDims.back());
  }
  rule.setOperand(0, givenDims);
  rule.setOperand(1, indexDims);
  rule.setResult(0, resultDims);
  return sparseSum(rule, shape[*axis]);
}

void GatherGradOp::localize(LocalOp &local) {
  setLocalShape(local);
  int64_t axis = getAxis();
  if (axis < 0)
    axis += static_cast<int64_t>(getShape().size());
  auto dim = static_cast<unsigned>(axis);
  if (local.resultAxes(0, dim).empty())
    return;
  local.setInt("axis", axis);
  local.setInt("size", getShape()[dim]);
  local.operands.push_back(local.resultOffsetOf(0, dim));
}

// Of a table of 10 rows, rows 4 to 6 are here (offset 4): a slice at index -5 is added to the second, one at 8 nowhere.
Evaluated GatherGradOp::evaluate(Operands operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), getShape().size());
  bool isPiece = !getOffsets().empty();
  auto held = isPiece ? HeldSpan::read(operands[2]) : std::optional(HeldSpan());
  if (mlir::failed(axis) || !held || !operands[0] || !operands[1] || (isPiece && !getSize()))
    return std::nullopt;
  const Tensor &given = *operands[0], &indices = *operands[1];
  size_t first = *axis, numIndices = indices.dims.size();
  int64_t size = isPiece ? static_cast<int64_t>(*getSize()) : getShape()[first], from = 0;
  Tensor result = zeros(getDX().getType());
  bool inside = true;
  llvm::SmallVector<int64_t, 4> at;
  forEachIndex(given.dims, [&](Index index) {
    int64_t row = wrapIndex(indices.ints[positionOf(index.slice(first, numIndices), indices.dims)], size);
    inside &= row >= 0;
    at.assign(index.begin(), index.begin() + static_cast<int64_t>(first));
    at.push_back(row - held->begin);
    at.append(index.begin() + static_cast<int64_t>(first + numIndices), index.end());
    if (row >= 0 && held->contains(row) && at[first] < result.dims[first])
      result.floats[positionOf(at, result.dims)] += given.floats[from];
    ++from;
  });
  return inside ? evaluatedAs(std::move(result)) : std::nullopt;
}

mlir::LogicalResult GatherNDGradOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> shape = getShape(), indices = dimsOf(getIndices());
  auto batch = static_cast<int64_t>(getBatchDims());
  if (indices.empty() || indices.back() < 1 || batch < 0 || batch >= static_cast<int64_t>(indices.size()) ||
      batch + indices.back() > static_cast<int64_t>(shape.size()))
    return emitOpError() << "indices " << printDims(indices) << " with batch_dims " << batch
                         << " are no tuples for shape " << printDims(shape);
  llvm::SmallVector<int64_t, 4> gathered(indices.drop_back());
  gathered.append(shape.begin() + batch + indices.back(), shape.end());
  if (mlir::failed(checkGathered(*this, shape, gathered)))
    return mlir::failure();
  return addType(*this, shape, operandElement(*this, 0), types);
}

// The dims that tuples index are whole; batch dims are shared, the other dims of indices are summed over.
mlir::FailureOr<FactorRule> GatherNDGradOp::getRule() {
  llvm::ArrayRef<int64_t> shape = getShape(), indices = dimsOf(getIndices());
  size_t batch = getBatchDims(), tuple = indices.back();
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> indexDims, givenDims, resultDims;
  for (auto [dim, size] : llvm::enumerate(indices.drop_back()))
    indexDims.push_back(dim < batch ? rule.parallel(size) : rule.sum(("i" + llvm::Twine(dim)).str(), size));
  givenDims = indexDims;
  indexDims.push_back(rule.whole(indices.back()));
  int64_t places = indices.back();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isIndexed = dim >= batch && dim < batch + tuple;
    resultDims.push_back(dim < batch ? indexDims[dim] : isIndexed ? rule.whole(size) : rule.parallel(size));
    if (isIndexed)
      places = mergedSize({places, size});
    else if (dim >= batch)
      givenDims.push_back(resultDims.back());
  }
  rule.setOperand(0, givenDims);
  rule.setOperand(1, indexDims);
  rule.setResult(0, resultDims);
  return sparseSum(rule, places);
}

Evaluated GatherNDGradOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  const Tensor &given = *operands[0], &indices = *operands[1];
  Index rows = Index(indices.dims).drop_back();
  int64_t tuple = indices.dims.back(), from = 0;
  Tensor result = zeros(getDX().getType());
  bool inside = true;
  llvm::SmallVector<int64_t, 4> at;
  forEachIndex(given.dims, [&](Index index) {
    int64_t first = positionOf(index.take_front(rows.size()), rows) * tuple;
    at.assign(index.begin(), index.begin() + static_cast<int64_t>(getBatchDims()));
    for (int64_t i = 0; i < tuple; ++i)
      at.push_back(wrapIndex(indices.ints[first + i], result.dims[at.size()]));
    at.append(index.begin() + static_cast<int64_t>(rows.size()), index.end());
    bool isKnown = !llvm::is_contained(at, -1);
    inside &= isKnown;
    if (isKnown)
      result.floats[positionOf(at, result.dims)] += given.floats[from];
    ++from;
  });
  return inside ? evaluatedAs(std::move(result)) : std::nullopt;
}

} // namespace apc
