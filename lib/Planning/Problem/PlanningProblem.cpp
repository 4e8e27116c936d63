// Rows of a problem's tables as strategies and hubs, and back.
#include "apc/Planning/BuildProblem.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

const Strategy &PlanningProblem::strategyOf(OpId op, size_t choice) const {
  NodeId node = nodeOf(op);
  size_t position = llvm::find(opsOf(node), op) - opsOf(node).begin();
  return choicesOf(node)[choice].strategies[position];
}

std::optional<size_t> PlanningProblem::findChoice(NodeId node, llvm::ArrayRef<Strategy> strategies) const {
  auto isTaken = [&](const Choice &choice) {
    return llvm::all_of(llvm::zip_equal(opsOf(node), choice.strategies), [&](const auto &entry) {
      return strategies[std::get<0>(entry).index()] == std::get<1>(entry);
    });
  };
  if (hubs[node.index()])
    return std::nullopt;
  llvm::ArrayRef<Choice> offered = choicesOf(node);
  const Choice *found = llvm::find_if(offered, isTaken);
  return found == offered.end() ? std::nullopt : std::optional<size_t>(found - offered.begin());
}

std::vector<Strategy> PlanningProblem::decode(const Assignment &assignment) const {
  std::vector<Strategy> chosen(nodes.size());
  for (size_t node = 0; node < ops.size(); ++node)
    for (auto [op, strategy] :
         llvm::zip_equal(ops[node], choicesOf(NodeId(node))[assignment.strategies[node]].strategies))
      chosen[op.index()] = strategy;
  return chosen;
}

std::vector<ValueHub> PlanningProblem::decodeHubs(const Assignment &assignment) const {
  std::vector<ValueHub> decoded;
  for (auto [node, value] : llvm::enumerate(hubs))
    if (value)
      decoded.push_back({*value, *choicesOf(NodeId(node))[assignment.strategies[node]].hub});
  return decoded;
}

Assignment translated(const OpGraph &graph, const PlanningProblem &from, const PlanningProblem &to,
                      const Assignment &assignment) {
  Assignment result = assignment;
  for (auto [index, value] : llvm::enumerate(from.hubs)) {
    if (!value)
      continue;
    NodeId node(index);
    OpId producer = graph.value(*value).producer;
    Sharding hub = *from.choicesOf(node)[assignment[node]].hub;
    Sharding made = resultSharding(graph.ruleOf(producer), from.strategyOf(producer, assignment[from.nodeOf(producer)]),
                                   graph.value(*value).resultIndex);
    llvm::ArrayRef<Choice> offered = to.choicesOf(node);
    const Choice *found = llvm::find_if(offered, [&](const Choice &choice) {
      return *choice.hub == hub && choice.isCopy.value_or(!(made == hub)) == !(made == hub);
    });
    result.strategies[index] = static_cast<uint32_t>(found - offered.begin());
  }
  return result;
}

} // namespace apc
