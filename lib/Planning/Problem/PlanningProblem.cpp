// Rows of a problem's tables as strategies and hubs, and back.
#include "apc/Planning/BuildProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

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

static double weightOf(Exposure exposure, const TimeWeights &weights) {
  switch (exposure) {
  case Exposure::Exposed:
    return weights.exposed;
  case Exposure::Near:
    return weights.near;
  case Exposure::Far:
    return weights.hideable;
  }
  llvm_unreachable("exposures are listed above");
}

/// They weigh what the exposed way does beyond that by the hub.
void PlanningProblem::addExposedWays(Problem &own, const TimeWeights &weights) const {
  std::vector<std::optional<PairTableId>> tables;
  for (const DirectTable &direct : directTables) {
    double weight = weights.exposed - weightOf(direct.ofHub, weights);
    if (weight <= 0) {
      tables.emplace_back();
      continue;
    }
    PairTable table = direct.seconds;
    for (size_t row = 0; row < table.rows(); ++row)
      for (size_t column = 0; column < table.columns(); ++column)
        table.set(row, column, *table.at(row, column) * weight);
    tables.push_back(own.addPairTable(std::move(table)));
  }
  for (const ExposedWay &way : exposedWays)
    if (tables[way.table])
      own.addEdge(way.from, way.to, *tables[way.table]);
}

Problem PlanningProblem::weighed(const TimeWeights &weights) const {
  Problem own = problem;
  for (auto [table, seconds] : llvm::zip_equal(own.nodeTables, rows))
    for (auto [cost, row] : llvm::zip(table.costs, seconds))
      cost.seconds = row.weighed(weights);
  for (auto [table, exposure] : llvm::zip_equal(own.pairTables, exposures))
    for (size_t row = 0; row < table.rows(); ++row)
      for (size_t column = 0; column < table.columns(); ++column)
        if (std::optional<double> seconds = table.at(row, column))
          table.set(row, column, *seconds * weightOf(exposure, weights));
  addExposedWays(own, weights);
  return own;
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
