// Ops are found by the patterns of their names and their place among those of one pattern.
#include "SameStrategies.h"

#include "apc/Plan/LayerNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// By op of `graph`, the one of `other` at its place.
std::vector<std::optional<OpId>> sameOps(const OpGraph &other, const OpGraph &graph) {
  llvm::StringMap<std::vector<OpId>> places;
  for (size_t op = 0; op < other.ops.size(); ++op)
    places[layerPattern(other.ops[op].name)].push_back(OpId(op));
  llvm::StringMap<size_t> numMet;
  std::vector<std::optional<OpId>> same;
  for (const GraphOp &op : graph.ops) {
    std::string pattern = layerPattern(op.name);
    llvm::ArrayRef<OpId> found = places[pattern];
    size_t place = numMet[pattern]++;
    bool isSame = place < found.size() && other.op(found[place]).operatorName == op.operatorName &&
                  other.ruleOf(found[place]) == graph.rules[op.rule.index()];
    same.push_back(isSame ? std::optional(found[place]) : std::nullopt);
  }
  return same;
}

/// By op, the ops that it is tied to and itself; empty where it is decided alone.
std::vector<TiedOps> tiesByOp(const OpGraph &graph) {
  std::vector<TiedOps> ties(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      ties[op.index()] = tie;
  return ties;
}

} // namespace

std::vector<std::optional<Strategy>> strategiesAsIn(const StageAnswer &other, const OpGraph &graph) {
  std::vector<std::optional<OpId>> same = sameOps(other.graph, graph);
  std::vector<TiedOps> ties = tiesByOp(graph), otherTies = tiesByOp(other.graph);
  std::vector<std::optional<Strategy>> strategies(graph.ops.size());
  for (auto [op, strategy] : llvm::enumerate(strategies)) {
    TiedOps wanted;
    for (OpId tied : ties[op])
      if (same[tied.index()])
        wanted.push_back(*same[tied.index()]);
    bool isSameTie = same[op] && wanted.size() == ties[op].size() && wanted == otherTies[same[op]->index()];
    if (isSameTie)
      strategy = other.candidate->strategies[same[op]->index()];
  }
  return strategies;
}

} // namespace apc
