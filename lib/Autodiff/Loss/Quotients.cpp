// Denominators by the ops that make them.
#include "Quotients.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

unsigned labelsIndex(mlir::Operation *op) { return llvm::isa<CrossEntropyOp>(op) ? 2 : 1; }

/// The value before casts.
mlir::Value beforeCasts(mlir::Value value) {
  while (llvm::isa_and_nonnull<CastOp, CastLikeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// A constant of one element.
std::optional<double> numberOf(mlir::Value value) {
  mlir::DenseElementsAttr data = constantOf(beforeCasts(value));
  if (!data || data.getNumElements() != 1)
    return std::nullopt;
  Tensor tensor = Tensor::read(data);
  return tensor.isFloat() ? tensor.floats[0] : static_cast<double>(tensor.ints[0]);
}

/// Is `second` the same value, or made from the same by the same views and casts?
bool isSame(mlir::Value first, mlir::Value second) {
  mlir::Operation *op = first.getDefiningOp(), *other = second.getDefiningOp();
  if (first == second || (isAbsent(first) && isAbsent(second)))
    return true;
  if (!op || !other || op->getName() != other->getName() || first.getType() != second.getType() ||
      !op->getName().compareOpProperties(op->getPropertiesStorage(), other->getPropertiesStorage()))
    return false;
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  mlir::FailureOr<FactorRule> rule = interface ? interface.getRule() : mlir::FailureOr<FactorRule>();
  bool isView = mlir::succeeded(rule) && rule->work == Work::View;
  return (isView || llvm::isa<CastOp, ConstantOp>(op)) &&
         llvm::all_of(llvm::zip_equal(op->getOperands(), other->getOperands()),
                      [](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
}

} // namespace

bool isLossOfLabels(mlir::Operation *op) {
  return llvm::isa<CrossEntropyOp, SoftmaxCrossEntropyLossOp, NegativeLogLikelihoodLossOp>(op);
}

mlir::Value labelsOf(mlir::Operation *op) { return op->getOperand(labelsIndex(op)); }

mlir::Value classWeightsOf(mlir::Operation *op) { return op->getOperand(labelsIndex(op) + 1); }

bool hasReduction(mlir::Operation *op, llvm::StringRef wanted) {
  auto given = op->getAttrOfType<mlir::StringAttr>("reduction");
  return (given ? given.getValue() : "mean") == wanted;
}

bool countsLabels(mlir::Operation *op) {
  return op && isLossOfLabels(op) && hasReduction(op, "mean") &&
         (op->hasAttr("ignore_index") || !isAbsent(classWeightsOf(op)));
}

std::optional<Clamped> clampOf(mlir::Value below) {
  mlir::Operation *op = beforeCasts(below).getDefiningOp();
  if (llvm::isa_and_nonnull<ClipOp>(op) && isAbsent(op->getOperand(2))) {
    std::optional<double> least = numberOf(op->getOperand(1));
    return least ? std::optional(Clamped{op->getOperand(0), *least}) : std::nullopt;
  }
  if (!llvm::isa_and_nonnull<MaxOp>(op) || op->getNumOperands() != 2)
    return std::nullopt;
  for (unsigned index : {0, 1})
    if (std::optional<double> least = numberOf(op->getOperand(index)))
      return Clamped{op->getOperand(1 - index), *least};
  return std::nullopt;
}

bool divideAlike(mlir::Operation *first, mlir::Operation *second) {
  if (countsLabels(first) != countsLabels(second))
    return false;
  if (!countsLabels(first))
    return isSame(first->getOperand(1), second->getOperand(1));
  return first->getAttr("ignore_index") == second->getAttr("ignore_index") &&
         isSame(labelsOf(first), labelsOf(second)) && isSame(classWeightsOf(first), classWeightsOf(second));
}

} // namespace apc
