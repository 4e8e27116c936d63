// Weights among operands.
#include "CutWeight.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::optional<unsigned> cutWeight(const OpGraph &graph, const std::vector<bool> &isWeight, OpId op) {
  const FactorRule &rule = graph.ruleOf(op);
  if (rule.attention)
    return std::nullopt;
  for (auto [index, value] : llvm::enumerate(graph.op(op).operands))
    if (value && isWeight[value->index()] && (rule.work == Work::Contraction || rule.operands[index].sparse))
      return static_cast<unsigned>(index);
  return std::nullopt;
}

} // namespace apc
