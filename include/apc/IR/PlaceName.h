// How messages name an op.
#pragma once

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace apc {

/// The name of an op in its model; its kind where it has none.
inline llvm::StringRef placeName(mlir::Operation *op) {
  auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  return location ? location.getName().getValue() : op->getName().stripDialect();
}

} // namespace apc
