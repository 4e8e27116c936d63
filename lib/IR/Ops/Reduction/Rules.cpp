// Reductions: rules along axes that attributes and constants name; TopK.
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

mlir::FailureOr<llvm::SmallBitVector> reducedDims(mlir::Operation *op, bool noopWithEmptyAxes) {
  auto numDims = static_cast<unsigned>(dimsOf(op->getOperand(0)).size());
  llvm::SmallVector<int64_t, 6> axes;
  if (!isAbsent(op->getOperand(1))) {
    auto ints = requireInts(op, 1);
    if (mlir::failed(ints))
      return mlir::failure();
    axes = *ints;
  }
  if (axes.empty())
    return llvm::SmallBitVector(numDims, !noopWithEmptyAxes);
  auto dims = normalizeAxes(op, axes, numDims);
  if (mlir::failed(dims))
    return mlir::failure();
  llvm::SmallBitVector reduced(numDims);
  for (unsigned dim : *dims)
    reduced.set(dim);
  return reduced;
}

namespace {

std::string factorName(size_t dim) { return " d" + std::to_string(dim); }

/// `d0 max:d1 -> d0 1`; `operands` is the text of further operands.
std::string reducedText(const llvm::SmallBitVector &reduced, llvm::StringRef mark, bool keepdims,
                        llvm::StringRef operands) {
  std::string from, to;
  for (unsigned dim = 0; dim < reduced.size(); ++dim) {
    std::string name = "d" + std::to_string(dim);
    from += " " + (reduced.test(dim) ? mark.str() : std::string()) + name;
    if (!reduced.test(dim))
      to += " " + name;
    else if (keepdims)
      to += " 1";
  }
  return from + operands.str() + " ->" + to;
}

} // namespace

mlir::FailureOr<std::string> reductionRule(mlir::Operation *op, llvm::StringRef mark, bool keepdims,
                                           bool noopWithEmptyAxes) {
  auto reduced = reducedDims(op, noopWithEmptyAxes);
  if (mlir::failed(reduced))
    return mlir::failure();
  return reducedText(*reduced, mark, keepdims, ", _");
}

llvm::StringRef meanMark(mlir::Operation *op) { return llvm::isa<mlir::FloatType>(operandElement(op, 0)) ? "" : "!"; }

llvm::StringRef logSumExpMark(mlir::Operation *op) {
  return llvm::isa<mlir::FloatType>(operandElement(op, 0)) ? "log_sum_exp:" : "!";
}

llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linearMean(mlir::Operation *op) {
  if (llvm::isa<mlir::FloatType>(operandElement(op, 0)))
    return {{0}};
  return {};
}

void localizeMean(LocalOp &local) {
  int64_t count = 1;
  for (auto [index, factor] : llvm::enumerate(local.rule.factors))
    if (llvm::is_contained(local.rule.operands[0].dims, DimFactors{FactorId(index)}) &&
        local.rule.isReduction(FactorId(index)))
      count *= factor.size;
  local.setInt("count", count);
}

mlir::FailureOr<std::string> argReductionRule(mlir::Operation *op, int64_t axis, bool keepdims) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto dim = normalizeAxis(op, axis, numDims);
  if (mlir::failed(dim))
    return mlir::failure();
  llvm::SmallBitVector reduced(static_cast<unsigned>(numDims));
  reduced.set(*dim);
  return reducedText(reduced, "!", keepdims, "");
}

mlir::FailureOr<std::string> runningRule(mlir::Operation *op) {
  size_t numDims = dimsOf(op->getOperand(0)).size();
  auto axis = constantInts(op->getOperand(1));
  std::optional<unsigned> along;
  if (axis) {
    if (axis->size() != 1)
      return op->emitOpError() << "operand 'axis' has " << axis->size() << " elements; one is accepted",
             mlir::failure();
    auto dim = normalizeAxis(op, axis->front(), numDims);
    if (mlir::failed(dim))
      return mlir::failure();
    along = *dim;
  }
  std::string from, to;
  for (size_t dim = 0; dim < numDims; ++dim) {
    from += (!along || *along == dim ? " !d" : " d") + std::to_string(dim);
    to += factorName(dim);
  }
  return from + ", _ ->" + to;
}

namespace {

/// Where TopK works: the dim and how many elements are kept.
struct TopKShape {
  unsigned dim;
  int64_t kept;
};

mlir::FailureOr<TopKShape> topKShape(TopKOp op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getX());
  auto dim = normalizeAxis(op, op.getAxis(), dims.size());
  auto kept = requireInts(op, 1);
  if (mlir::failed(dim) || mlir::failed(kept))
    return mlir::failure();
  if (kept->size() != 1 || kept->front() < 0 || kept->front() > dims[*dim])
    return op.emitOpError() << "K is " << printDims(*kept) << "; one number from 0 to " << dims[*dim] << " is accepted",
           mlir::failure();
  return TopKShape{*dim, kept->front()};
}

} // namespace

mlir::LogicalResult TopKOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto shape = topKShape(*this);
  if (mlir::failed(shape))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getX()));
  dims[shape->dim] = shape->kept;
  if (mlir::failed(addType(*this, dims, operandElement(*this, 0), types)))
    return mlir::failure();
  return addType(*this, dims, indexElement(*this), types);
}

mlir::FailureOr<FactorRule> TopKOp::getRule() {
  auto shape = topKShape(*this);
  if (mlir::failed(shape))
    return mlir::failure();
  RuleBuilder layout(*this);
  llvm::SmallVector<DimFactors, 4> from, to;
  for (auto [dim, extent] : llvm::enumerate(dimsOf(getX()))) {
    bool along = dim == shape->dim;
    from.push_back(along ? layout.whole(extent) : layout.parallel(extent));
    to.push_back(along ? layout.whole(shape->kept) : from.back());
  }
  layout.setOperand(0, from);
  layout.setResult(0, to);
  layout.setResult(1, to);
  FactorRule rule = layout.take(Work::Stream);
  // One comparison for each element: the loop nest also counts the elements kept.
  rule.flopsPerPoint = 1 / static_cast<double>(std::max<int64_t>(shape->kept, 1));
  return rule;
}

} // namespace apc
