// Strategies that no better answer takes are left out, by what bounds say about each.
#pragma once

#include "ReducedProblem.h"

namespace apc {

/// For each node of a reduced problem and each of its strategies: no answer within the memory limit that takes the
/// strategy has fewer seconds. A NaN where the strategy is impossible.
using LeastWith = std::vector<std::vector<double>>;

/// The part of \p reduced that may hold an answer of fewer than \p seconds, without what is dominated in it. Identical
/// nodes keep the same strategies, so that repeated layers look the same. Impossible: no answer has fewer seconds.
/// Source: reduced-cost fixing of integer programs (Dantzig, Fulkerson, Johnson 1954); for message passing:
/// Shekhovtsov, "Maximum persistency in energy minimization" (2014).
std::variant<ReducedProblem, Impossible> narrow(const Problem &problem, const ReducedProblem &reduced,
                                                const LeastWith &leastWith, double seconds, unsigned numThreads = 1);

/// The number of pairs of strategies in all tables of edges.
double numPairs(const ReducedProblem &reduced);

} // namespace apc
