// A strategy: the shardings and local sizes that follow from it.
#include "apc/Sharding/Strategy.h"

#include "apc/Sharding/NamedStrategy.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

Sharding layoutOf(const RuleTensor &tensor, const Strategy &strategy) {
  Sharding sharding = Sharding::replicated(tensor.dims.size());
  for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
    for (FactorId id : tensor.dims[dim])
      llvm::append_range(sharding.dims[dim], strategy.axes[id.index()]);
  for (const PartedDim &entry : tensor.parted)
    if (!sharding.dims[entry.dim].empty())
      sharding.parted.push_back(entry);
  return sharding;
}

} // namespace

std::string Strategy::str(const FactorRule &rule, const Mesh &mesh) const {
  return NamedStrategy::of(*this, rule, mesh).str();
}

llvm::Expected<Strategy> Strategy::parse(llvm::StringRef text, const FactorRule &rule, const Mesh &mesh) {
  llvm::Expected<NamedStrategy> named = NamedStrategy::parse(text);
  if (!named)
    return named.takeError();
  return named->bind(rule, mesh);
}

Sharding operandSharding(const FactorRule &rule, const Strategy &strategy, unsigned index) {
  Sharding sharding = layoutOf(rule.operands[index], strategy);
  if (rule.operands[index].absent)
    return sharding;
  for (size_t group = 0; group < rule.linear.size(); ++group)
    if (llvm::is_contained(rule.linear[group], index))
      llvm::append_range(sharding.partial, strategy.partialInputs[group]);
  llvm::sort(sharding.partial);
  return sharding;
}

Sharding resultSharding(const FactorRule &rule, const Strategy &strategy, unsigned index) {
  Sharding sharding = layoutOf(rule.results[index], strategy);
  if (rule.results[index].absent)
    return sharding;
  for (unsigned i = 0; i < rule.numFactors(); ++i)
    if (!strategy.axes[i].empty() && rule.isReduction(FactorId(i))) {
      llvm::append_range(sharding.partial, strategy.axes[i]);
      sharding.combiner = rule.factors[i].combiner;
    }
  for (const AxisList &axes : strategy.partialInputs)
    llvm::append_range(sharding.partial, axes);
  llvm::sort(sharding.partial);
  return sharding;
}

llvm::SmallVector<int64_t, 6> localFactorSizes(const FactorRule &rule, const Strategy &strategy, const Mesh &mesh) {
  llvm::SmallVector<int64_t, 6> sizes;
  for (unsigned i = 0; i < rule.numFactors(); ++i)
    sizes.push_back(localSize(rule.factors[i].size, strategy.axes[i], mesh));
  return sizes;
}

bool isPadded(const FactorRule &rule, const RuleTensor &tensor, unsigned dim, FactorId factor, const Strategy &strategy,
              const Mesh &mesh) {
  int64_t ways = mesh.size(strategy.axes[factor.index()]);
  llvm::ArrayRef<int64_t> parts = partsOf(tensor.parted, dim);
  if (parts.empty() || tensor.dims[dim].size() > 1)
    return rule.factor(factor).size % ways != 0;
  return llvm::any_of(parts, [&](int64_t size) { return size % ways != 0; });
}

} // namespace apc
