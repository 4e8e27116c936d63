// Ops of one result that an operator is taken apart into.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/PlaceName.h"

#include "mlir/IR/Builders.h"

namespace apc {

/// The name of result `index` in the model.
inline mlir::Attribute valueName(mlir::Operation *op, unsigned index) {
  auto names = op->getAttrOfType<mlir::ArrayAttr>(valuesAttribute);
  return names && index < names.size() ? names[index] : mlir::StringAttr::get(op->getContext(), "");
}

/// An op called `name` at the insertion point; the type of its result is inferred. Operands and attributes are well
/// formed.
template <typename Op>
mlir::Value makeOp(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), Op::getOperationName());
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(builder.getNoneType());
  mlir::Operation *op = builder.create(state);
  llvm::SmallVector<mlir::Type, 1> types;
  bool inferred = mlir::succeeded(llvm::cast<OperatorInterface>(op).inferTypes(types));
  assert(inferred && "the parts of an operator are well formed");
  (void)inferred;
  op->getResult(0).setType(types.front());
  return op->getResult(0);
}

} // namespace apc
