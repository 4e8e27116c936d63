// Ops that parts of a training step are built from.
#pragma once

#include "mlir/IR/Builders.h"

namespace apc {

/// The result of an op called `name` that is made at the insertion point.
template <typename Op>
mlir::Value makeNamed(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::Type type, mlir::ValueRange operands,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), Op::getOperationName());
  state.addOperands(operands);
  state.addAttributes(attributes);
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

} // namespace apc
