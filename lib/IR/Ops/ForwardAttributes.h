// Attributes that an op hands on to those that make its gradients.
#pragma once

#include "apc/IR/Gradient.h"

namespace apc {

/// Those of these names that the forward op has.
inline llvm::SmallVector<mlir::NamedAttribute, 8> forwardAttributes(GradientBuilder &g,
                                                                    llvm::ArrayRef<llvm::StringRef> names) {
  llvm::SmallVector<mlir::NamedAttribute, 8> attributes;
  for (llvm::StringRef name : names)
    if (mlir::Attribute value = g.getForward()->getAttr(name))
      attributes.push_back(g.attribute(name, value));
  return attributes;
}

} // namespace apc
