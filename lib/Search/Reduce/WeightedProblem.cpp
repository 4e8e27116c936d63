// Neighbours and rows of a reduced problem.
#include "WeightedProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

namespace apc {

using dp::LeafFactor;

Landscape::Landscape(const dp::Reduction &reduction) : reduction(&reduction) {
  std::vector<Kind> kinds;
  for (uint32_t unary : reduction.unaryOf)
    kinds.push_back({unary});
  for (const LeafFactor &factor : reduction.factors)
    if (factor.scope.size() == 1)
      kinds[factor.scope.front()].push_back(factor.table);
  addKinds(kinds);
  addEnds();
  weigh({});
}

void Landscape::addKinds(const std::vector<Kind> &kinds) {
  std::map<Kind, uint32_t> ids;
  for (const Kind &kind : kinds) {
    auto [entry, isNew] = ids.try_emplace(kind, distinctKinds.size());
    if (isNew)
      distinctKinds.push_back(kind);
    kindOf.push_back(entry->second);
  }
}

void Landscape::addEnds() {
  turnedLeaves.resize(reduction->leaves.size());
  byKind.resize(2 * reduction->leaves.size());
  tables.resize(2 * reduction->leaves.size());
  for (auto [index, leaf] : llvm::enumerate(reduction->leaves)) {
    if (leaf.sizes.size() != 2)
      continue;
    turnedLeaves[index] = turned(leaf.cells, leaf.sizes[0], leaf.sizes[1]);
    byKind[2 * index] = groupKinds(leaf.cells, leaf.sizes[0], leaf.sizes[1]);
    byKind[2 * index + 1] = turned(byKind[2 * index]);
    bool hasImpossible = llvm::any_of(leaf.cells, [](double cell) { return std::isnan(cell); });
    tables[2 * index] = {leaf.cells.data(), leaf.sizes[1], hasImpossible};
    tables[2 * index + 1] = {turnedLeaves[index].data(), leaf.sizes[0], hasImpossible};
  }
  firstEnd.resize(numNodes() + 1, 0);
  for (const LeafFactor &factor : reduction->factors)
    if (factor.scope.size() == 2)
      for (uint32_t node : factor.scope)
        ++firstEnd[node + 1];
  for (size_t node = 0; node < numNodes(); ++node)
    firstEnd[node + 1] += firstEnd[node];
  ends.resize(firstEnd.back());
  std::vector<uint32_t> next(firstEnd.begin(), firstEnd.end() - 1);
  for (const LeafFactor &factor : reduction->factors) {
    if (factor.scope.size() != 2)
      continue;
    uint32_t low = factor.scope[0], high = factor.scope[1], edge = edgeCount++;
    ends[next[low]++] = {high, edge, 2 * factor.table + 1};
    ends[next[high]++] = {low, edge, 2 * factor.table};
  }
}

void Landscape::weigh(const OwnPrice &price) {
  ownOf.resize(distinctKinds.size());
  for (auto [kind, own] : llvm::zip(distinctKinds, ownOf)) {
    const dp::UnaryTable &unary = reduction->unaries[kind.front()];
    own.resize(unary.size());
    for (size_t strategy = 0; strategy < own.size(); ++strategy) {
      double seconds = unary.seconds[strategy];
      for (uint32_t leaf : llvm::drop_begin(kind))
        seconds += reduction->leaves[leaf].cells[strategy];
      bool allowed = unary.transientBytes[strategy] <= price.maxTransientBytes;
      own[strategy] = allowed ? seconds + price.bytesWeight * static_cast<double>(unary.persistentBytes[strategy])
                              : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

} // namespace apc
