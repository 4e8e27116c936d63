// Assignments of the original problem: a greedy start, walks between two assignments.
#pragma once

#include "apc/Search/Problem.h"

namespace apc {

/// Visits each node once, in ascending order: the strategy with the fewest own seconds plus seconds of its pairs with
/// the nodes before it.
Assignment greedyAssignment(const Problem &problem);

/// The fastest assignment that passes `verify` among those that follow `a` up to some node and `b` from there on, or
/// the other way round; empty when none passes. A source stands right before its first user there, so that a layer
/// changes together with its parameters. Example: `a` is the fastest assignment above a memory limit, `b` the
/// fastest below it; the result is close below the limit.
std::optional<Assignment> bestSplice(const Problem &problem, const Assignment &a, const Assignment &b);

} // namespace apc
