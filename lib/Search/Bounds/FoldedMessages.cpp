// Messages of one edge, shared by the edges that it stands for.
#include "FoldedMessages.h"

#include "apc/Support/Interner.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace apc {

/// Calls \p take with each potential over two nodes, and the number of its edge in the weighted problem.
static void forEachEdge(const ReducedProblem &reduced,
                        llvm::function_ref<void(const Potential &potential, uint32_t edge)> take) {
  uint32_t edge = 0;
  for (const Potential &potential : reduced.potentials)
    if (potential.scope.size() == 2)
      take(potential, edge++);
}

/// By edge of the folded problem: how many edges of the whole it stands for.
static std::vector<double> numEdges(const Folding &folding) {
  std::vector<double> num(folding.problem.edges.size(), 0);
  for (std::optional<EdgeId> edge : folding.edgeOf)
    if (edge)
      ++num[edge->index()];
  return num;
}

std::vector<double> copiesOfEdges(const Folding &folding, const ReducedProblem &folded) {
  std::vector<double> num = numEdges(folding), copies;
  forEachEdge(folded, [&](const Potential &potential, uint32_t) { copies.push_back(num[potential.edge]); });
  return copies;
}

static size_t endOf(const WeightedProblem &weighted, size_t node, uint32_t edge) {
  llvm::ArrayRef<WeightedEnd> ends = weighted.ends(node);
  return llvm::find_if(ends, [&](const WeightedEnd &end) { return end.edge == edge; }) - ends.begin();
}

FoldedMessages::FoldedMessages(const Problem &problem, const Folding &folding, const WeightedProblem &folded,
                               const TrwsBound &trws, double secondsPerByte)
    : secondsPerByte(secondsPerByte), edgeOf(folding.edgeOf), numOf(numEdges(folding)) {
  std::vector<const NodeTable *> tableOf(folding.problem.nodes.size());
  for (auto [node, id] : llvm::enumerate(folding.classOf))
    tableOf[id] = &problem.tableOf(NodeId(node));
  for (const Edge &edge : folding.problem.edges)
    givenBy.push_back({std::vector<double>(tableOf[edge.from.index()]->costs.size(), 0.0),
                       std::vector<double>(tableOf[edge.to.index()]->costs.size(), 0.0)});
  forEachEdge(folded.getReduced(),
              [&](const Potential &potential, uint32_t edge) { read(folding, folded, trws, potential, edge); });
}

void FoldedMessages::read(const Folding &folding, const WeightedProblem &folded, const TrwsBound &trws,
                          const Potential &potential, uint32_t edge) {
  const Edge &own = folding.problem.edges[potential.edge];
  Given &given = givenBy[potential.edge];
  for (auto [node, seconds] : {std::pair(own.from, &given.from), std::pair(own.to, &given.to)})
    for (auto [strategy, message] :
         llvm::zip_equal(folding.strategies[node.index()], trws.given(node.index(), endOf(folded, node.index(), edge))))
      if (message == message) // an impossible strategy is so by its own cost or its pairs
        (*seconds)[strategy] = message / numOf[potential.edge];
}

std::optional<double> FoldedMessages::start(const Problem &problem, const WeightedProblem &whole,
                                            TrwsBound &trws) const {
  const ReducedProblem &reduced = whole.getReduced();
  Interner<std::array<uint32_t, 6>> kinds;
  std::vector<uint32_t> kindOf;
  std::vector<double> seconds;
  forEachEdge(reduced, [&](const Potential &potential, uint32_t edge) {
    std::optional<EdgeId> folded = edgeOf[potential.edge];
    uint32_t low = potential.scope[0], high = potential.scope[1];
    uint32_t standing = folded ? folded->value : static_cast<uint32_t>(givenBy.size());
    kindOf.push_back(kinds.idOf({standing, potential.table, reduced.survivors.setOf[low], reduced.survivors.setOf[high],
                                 whole.ownKind(low), whole.ownKind(high)}));
    if (!folded)
      return;
    const Edge &own = problem.edges[potential.edge];
    const Given &given = givenBy[folded->index()];
    for (auto [node, known] : {std::pair(own.from, &given.from), std::pair(own.to, &given.to)}) {
      seconds.clear();
      for (uint32_t strategy : reduced.survivors.of(node.index()))
        seconds.push_back((*known)[strategy]);
      trws.give(node.index(), endOf(whole, node.index(), edge), seconds);
    }
  });
  return trws.boundNow(kindOf);
}

} // namespace apc
