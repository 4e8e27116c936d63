// Numbers of a rule with the sizes that its factors have on one device.
#pragma once

#include "apc/Sharding/FactorRule.h"

namespace apc {

/// Of an operand or result, 0 where it is absent: [m, k] with 4 and 8 has 32.
inline double localElements(const RuleTensor &tensor, llvm::ArrayRef<int64_t> localSizes) {
  double elements = tensor.absent ? 0 : 1;
  for (const DimFactors &dim : tensor.dims)
    for (FactorId factor : dim)
      elements *= static_cast<double>(localSizes[factor.index()]);
  return elements;
}

/// The product of 4 x 8 and 8 x 2 takes 128.
inline double localFlops(const FactorRule &rule, llvm::ArrayRef<int64_t> localSizes) {
  double flops = rule.flopsPerPoint;
  for (int64_t size : localSizes)
    flops *= static_cast<double>(size);
  return flops;
}

/// True when `others` have all factors of a tensor, as the result has those of a bias or of a sum that joins it.
inline bool isOfFactors(const RuleTensor &tensor, llvm::ArrayRef<RuleTensor> others) {
  return llvm::all_of(tensor.dims, [&](const DimFactors &dim) {
    return llvm::all_of(dim, [&](FactorId factor) {
      return llvm::any_of(others, [&](const RuleTensor &other) { return other.has(factor); });
    });
  });
}

} // namespace apc
