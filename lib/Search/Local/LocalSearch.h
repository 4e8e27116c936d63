// Assignments of the original problem: a greedy start, walks between two assignments, fewer bytes at equal seconds.
#pragma once

#include "apc/Search/Problem.h"

namespace apc {

/// Visits each node once, in ascending order: the strategy with the fewest own seconds plus seconds of its pairs with
/// the nodes before it.
Assignment greedyAssignment(const Problem &problem);

/// The fastest assignment that passes `verify` among those that follow `a` up to some node and `b` from there on, or
/// the other way round; empty when none passes. Example: `a` is the fastest assignment above a memory limit, `b` the
/// fastest below it; the result is close below the limit.
std::optional<Assignment> bestSplice(const Problem &problem, const Assignment &a, const Assignment &b);

/// An assignment as fast as `start` that needs no more bytes. Each node, in ascending order, takes the strategy with
/// the fewest persistent, then transient bytes among the strategies that cost it and its pairs no more seconds;
/// repeated until nothing changes. A search that looks at seconds alone needs this: keeping a whole parameter and
/// cutting it at use may take as long as keeping only the piece that is used.
Assignment withLeastBytes(const Problem &problem, Assignment start);

} // namespace apc
