// Survivors of bounds, class by class.
#include "Narrowing.h"

#include "Folding.h"

#include "apc/Support/Interner.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// By class of identical nodes, the least of their seconds with each strategy.
std::vector<std::vector<double>> leastByClass(llvm::ArrayRef<uint32_t> classOf, const LeastWith &leastWith) {
  std::vector<std::vector<double>> least;
  for (auto [id, own] : llvm::zip_equal(classOf, leastWith)) {
    if (id >= least.size()) {
      least.resize(id + 1);
      least[id] = own;
      continue;
    }
    for (auto [known, seconds] : llvm::zip_equal(least[id], own))
      if (seconds == seconds && !(known <= seconds)) // a NaN gives way
        known = seconds;
  }
  return least;
}

} // namespace

std::variant<ReducedProblem, Impossible> narrow(const Problem &problem, const ReducedProblem &reduced,
                                                const LeastWith &leastWith, double seconds, unsigned numThreads) {
  constexpr double rounding = 1e-9; // sums of thousands of terms, in another order
  std::vector<uint32_t> classOf = identicalNodes(problem, reduced.survivors);
  std::vector<std::vector<double>> least = leastByClass(classOf, leastWith);
  Interner<std::vector<uint32_t>> sets;
  Survivors survivors;
  for (auto [node, id] : llvm::enumerate(classOf)) {
    std::vector<uint32_t> own;
    for (auto [strategy, bound] : llvm::zip_equal(reduced.survivors.of(node), least[id]))
      if (bound <= seconds * (1 + rounding))
        own.push_back(strategy);
    if (own.empty())
      return Impossible{"every strategy of node '" + problem.nodes[node].name + "' makes a step too slow"};
    survivors.setOf.push_back(sets.idOf(std::move(own)));
  }
  survivors.sets = sets.take();
  Dominance dominance = problem.memoryLimitBytes ? Dominance::SecondsAndBytes : Dominance::Seconds;
  std::variant<Survivors, Impossible> pruned = pruneDominated(problem, dominance, std::move(survivors), numThreads);
  if (const Impossible *impossible = std::get_if<Impossible>(&pruned))
    return *impossible;
  return tablesOf(problem, std::get<Survivors>(std::move(pruned)), numThreads);
}

double numPairs(const ReducedProblem &reduced) {
  double pairs = 0;
  for (const Potential &potential : reduced.potentials)
    pairs += static_cast<double>(reduced.leaves[potential.table].cells.size());
  return pairs;
}

} // namespace apc
