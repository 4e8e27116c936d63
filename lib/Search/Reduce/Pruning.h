// The first step of most searches: strategies that no best answer needs are dropped.
#pragma once

#include "apc/Search/Problem.h"

#include <string>
#include <variant>
#include <vector>

namespace apc {

/// The costs that dominance compares. Bytes matter only where the problem has a memory limit.
enum class Dominance { Seconds, SecondsAndBytes };

/// Why a problem has no answer at all.
struct Impossible {
  std::string reason;
};

/// The strategies that each node still has, ascending. Nodes with the same strategies share a set.
/// Example: nodes a, b, c that keep {0, 2}, {1}, {0, 2} have sets {{0, 2}, {1}} and setOf {0, 1, 0}.
struct Survivors {
  std::vector<std::vector<uint32_t>> sets;
  std::vector<uint32_t> setOf; ///< for each node

  const std::vector<uint32_t> &of(size_t node) const { return sets[setOf[node]]; }
};

/// Every strategy of every node.
Survivors keepAll(const Problem &problem);

/// Drops strategies that have no possible pair with some neighbour, and dominated strategies. A strategy is dominated
/// when another one is nowhere worse: in its own costs and in every pair with a neighbour (ties: the lower index
/// stays). Both steps are exact, are done once for each class of identical nodes, and are repeated until nothing
/// changes. Source: the strategy shaving of XLA's auto_sharding.
/// \p start: strategies still in play; may be the result of pruning with a weaker dominance. \p numThreads never
/// changes the result.
std::variant<Survivors, Impossible> pruneDominated(const Problem &problem, Dominance dominance, Survivors start,
                                                   unsigned numThreads = 1);

} // namespace apc
