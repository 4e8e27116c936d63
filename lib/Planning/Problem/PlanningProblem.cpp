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
    if (value) {
      const Choice &choice = choicesOf(NodeId(node))[assignment.strategies[node]];
      decoded.push_back({*value, choice.hub, choice.again});
    }
  return decoded;
}

} // namespace apc
