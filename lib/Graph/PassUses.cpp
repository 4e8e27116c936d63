// Uses by pass, told by ties and by repeats.
#include "apc/Graph/PassUses.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

int64_t mostRepeats(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users) {
  int64_t most = 1;
  for (OpGraph::Use use : users)
    most = std::max(most, graph.op(use.op).repeats);
  return most;
}

PassUses::PassUses(const OpGraph &graph, bool weightsAlone)
    : graph(graph), follows(graph.followers()), isFixed(graph.values.size(), false), tieOf(graph.ops.size()) {
  for (auto [tie, ops] : llvm::enumerate(graph.ties))
    for (OpId op : ops)
      tieOf[op.index()] = tie;
  if (weightsAlone) {
    isFixed = graph.weights();
    isFixed.flip();
  }
}

PassUses::Split PassUses::split(llvm::ArrayRef<OpGraph::Use> users) const {
  Split split;
  int64_t most = mostRepeats(graph, users);
  for (OpGraph::Use use : users)
    (follows[use.op.index()] && graph.op(use.op).repeats == most ? split.backward : split.forward).push_back(use);
  return split;
}

bool PassUses::mayComeAgain(ValueId value, llvm::ArrayRef<OpGraph::Use> users) const {
  if (isFixed[value.index()])
    return false;
  Split passes = split(users);
  int64_t most = mostRepeats(graph, users);
  return !passes.backward.empty() &&
         llvm::any_of(passes.forward, [&](OpGraph::Use use) { return graph.op(use.op).repeats == most; });
}

std::vector<OpId> PassUses::productsBeside(llvm::ArrayRef<OpGraph::Use> backward) const {
  auto isProduct = [&](OpId op) {
    const FactorRule &rule = graph.ruleOf(op);
    return follows[op.index()] && rule.work == Work::Contraction && !rule.attention;
  };
  std::vector<OpId> products;
  for (OpGraph::Use use : backward) {
    const std::optional<ValueId> value = graph.op(use.op).operands[use.operand];
    const size_t before = products.size();
    if (isProduct(use.op))
      llvm::copy_if(graph.ties[*tieOf[use.op.index()]], std::back_inserter(products),
                    [&](OpId op) { return isProduct(op) && !llvm::is_contained(graph.op(op).operands, value); });
    if (products.size() == before)
      return {};
  }
  llvm::sort(products);
  products.erase(std::unique(products.begin(), products.end()), products.end());
  return products;
}

} // namespace apc
