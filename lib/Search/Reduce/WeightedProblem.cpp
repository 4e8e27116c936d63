// Neighbours and rows of a reduced problem.
#include "WeightedProblem.h"

#include "apc/Support/Interner.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

WeightedProblem::WeightedProblem(const ReducedProblem &reduced, unsigned numThreads) : reduced(&reduced) {
  std::vector<Kind> kinds;
  for (uint32_t unary : reduced.unaryOf)
    kinds.push_back({unary});
  for (const Potential &potential : reduced.potentials)
    if (potential.scope.size() == 1)
      kinds[potential.scope.front()].push_back(potential.table);
  Interner<Kind> ids;
  for (Kind &kind : kinds)
    kindOf.push_back(ids.idOf(std::move(kind)));
  distinctKinds = ids.take();
  addTables(numThreads);
  addEnds();
  weigh({});
}

void WeightedProblem::addTables(unsigned numThreads) {
  transposedLeaves.resize(reduced->leaves.size());
  byKind.resize(2 * reduced->leaves.size());
  tables.resize(2 * reduced->leaves.size());
  forEach(reduced->leaves.size(), numThreads, [&](size_t index) {
    const DenseTable &leaf = reduced->leaves[index];
    if (leaf.sizes.size() != 2)
      return;
    transposedLeaves[index] = transposed(leaf.cells, leaf.sizes[0], leaf.sizes[1]);
    byKind[2 * index] = groupKinds(leaf.cells, leaf.sizes[0], leaf.sizes[1]);
    byKind[2 * index + 1] = transposed(byKind[2 * index], transposedLeaves[index]);
    bool hasImpossible = llvm::any_of(leaf.cells, [](double cell) { return std::isnan(cell); });
    tables[2 * index] = {leaf.cells.data(), leaf.sizes[1], hasImpossible};
    tables[2 * index + 1] = {transposedLeaves[index].data(), leaf.sizes[0], hasImpossible};
  });
}

void WeightedProblem::addEnds() {
  std::vector<std::pair<uint32_t, WeightedEnd>> collected;
  for (const Potential &potential : reduced->potentials) {
    if (potential.scope.size() != 2)
      continue;
    uint32_t low = potential.scope[0], high = potential.scope[1], edge = edgeCount++;
    collected.push_back({low, {high, edge, 2 * potential.table + 1}});
    collected.push_back({high, {low, edge, 2 * potential.table}});
  }
  endsOf = {numNodes(), collected};
}

void WeightedProblem::weigh(const Weights &weights) {
  ownOf.resize(distinctKinds.size());
  for (auto [kind, own] : llvm::zip(distinctKinds, ownOf)) {
    const UnaryTable &unary = reduced->unaries[kind.front()];
    own.resize(unary.size());
    for (size_t strategy = 0; strategy < own.size(); ++strategy) {
      double seconds = unary.seconds[strategy];
      for (uint32_t leaf : llvm::drop_begin(kind))
        seconds += reduced->leaves[leaf].cells[strategy];
      bool allowed = unary.transientBytes[strategy] <= weights.maxTransientBytes;
      own[strategy] = allowed ? seconds + weights.secondsPerByte * static_cast<double>(unary.persistentBytes[strategy])
                              : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

} // namespace apc
