// Finds what is made again among the ops that are tied to others.
#include "apc/Graph/Originals.h"

namespace apc {

std::vector<std::optional<ValueId>> originalsOf(const OpGraph &graph) {
  std::vector<std::optional<ValueId>> originals(graph.values.size());
  std::vector<bool> follows = graph.followers();
  std::vector<const TiedOps *> ties(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      ties[op.index()] = &tie;
  // A gradient may be an op of the same kind (that of a negation is a negation), but it reads something else. Its
  // factors have other names than those of the op that leads it; so have those of statistics, copies or not.
  auto isCopy = [&](const GraphOp &copy, const GraphOp &op) {
    return copy.rule == op.rule && copy.operatorName == op.operatorName && (copy.leadingFactors.empty() || op.inPass) &&
           llvm::equal(copy.operands, op.operands, [&](std::optional<ValueId> again, std::optional<ValueId> operand) {
             return again == operand || (again && operand && originals[again->index()] == operand);
           });
  };
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    if (!follows[index] || graph.ops[index].operands.empty())
      continue;
    const GraphOp &copy = graph.ops[index];
    const TiedOps &tie = *ties[index];
    auto original = llvm::find_if(tie, [&](OpId op) { return !follows[op.index()] && isCopy(copy, graph.op(op)); });
    if (original == tie.end())
      continue;
    for (auto [again, result] : llvm::zip_equal(copy.results, graph.op(*original).results))
      if (again && result)
        originals[again->index()] = result;
  }
  return originals;
}

} // namespace apc
