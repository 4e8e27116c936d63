// Contractions whose rule depends on attributes or on the number of dims.
#include "apc/IR/Ops/Contraction.h"

namespace apc {

std::string matMulRule(mlir::Operation *op) {
  bool vectorA = dimsOf(op->getOperand(0)).size() == 1;
  bool vectorB = dimsOf(op->getOperand(1)).size() == 1;
  if (vectorA && vectorB)
    return "k, k -> ";
  if (vectorA)
    return "k, ... k n -> ... n";
  return vectorB ? "... m k, k -> ... m" : "... m k, ... k n -> ... m n";
}

} // namespace apc
