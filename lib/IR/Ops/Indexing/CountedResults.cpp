// Operators whose number of results depends on values: the dim that it is, the most that there can be, and the choice.
#include "apc/IR/CountedResults.h"

#include "../Creation/Creation.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

namespace apc {

namespace {

/// `max_output_boxes_per_class` for each batch and class, where it is a constant; else all boxes.
int64_t mostBoxes(NonMaxSuppressionOp op) {
  llvm::ArrayRef<int64_t> scores = dimsOf(op.getScores());
  if (scores.size() != 3)
    return 0;
  int64_t each = scores[2];
  mlir::Value limit = op.getMaxOutputBoxesPerClass();
  if (auto given = constantInts(limit); given && given->size() == 1)
    each = std::clamp<int64_t>(given->front(), 0, each);
  return mergedSize({scores[0], scores[1], isAbsent(limit) ? 0 : each});
}

/// The dim of result 0 whose size depends on values, for an op that counts along `axis` of operand 0.
std::optional<CountedResults> countedAlong(mlir::Operation *op, std::optional<uint64_t> axis) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op->getOperand(0));
  if (!axis)
    return CountedResults{0, mergedSize(dims)};
  auto dim = static_cast<int64_t>(*axis), numDims = static_cast<int64_t>(dims.size());
  if (dim < -numDims || dim >= numDims)
    return std::nullopt;
  dim += dim < 0 ? numDims : 0;
  return CountedResults{static_cast<unsigned>(dim), dims[dim]};
}

std::optional<CountedResults> countedOf(CompressOp op) {
  auto counted = countedAlong(op, op.getAxis());
  if (auto condition = shapeOf(op.getCondition()); counted && condition)
    counted->most = std::min(*counted->most, condition->numElements());
  return counted;
}

} // namespace

std::optional<CountedResults> countedResults(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, std::optional<CountedResults>>(op)
      .Case([](CompressOp op) { return countedOf(op); })
      .Case([](NonZeroOp op) { return CountedResults{1, mergedSize(dimsOf(op.getX()))}; })
      .Case([](UniqueOp op) { return countedAlong(op, op.getAxis()); })
      .Case([](NonMaxSuppressionOp op) { return CountedResults{0, mostBoxes(op)}; })
      .Case([](TopKOp op) { return countedAlong(op, static_cast<uint64_t>(op.getAxis())); })
      .Case([](RangeOp) { return CountedResults{0, std::nullopt}; })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

void setResultCount(mlir::Operation *op, int64_t count, mlir::OpBuilder &builder) {
  auto top = llvm::dyn_cast<TopKOp>(op);
  if (!top) {
    op->setAttr("bound", builder.getI64IntegerAttr(count));
    return;
  }
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Tensor kept{{1}, builder.getI64Type(), {count}, {}};
  top.getKMutable().set(ConstantOp::create(builder, op->getLoc(), kept.toAttribute()));
}

void clearResultCount(mlir::Operation *op) { op->removeAttr("bound"); }

} // namespace apc
