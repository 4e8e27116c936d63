// Uses of parameters.
#include "WeightUse.h"

#include "apc/IR/AttributeNames.h"

namespace apc {

bool holdsTable(ParameterOp parameter) {
  return !parameter.getOutput().use_empty() && llvm::all_of(parameter.getOutput().getUses(), [](mlir::OpOperand &use) {
    auto op = llvm::dyn_cast<OperatorInterface>(use.getOwner());
    return op && llvm::is_contained(op.getTables(), use.getOperandNumber());
  });
}

bool isWeight(mlir::Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  return parameter && llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value)) &&
         !parameter->hasAttr(roleAttribute) && !holdsTable(parameter);
}

} // namespace apc
