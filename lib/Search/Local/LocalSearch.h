// Improving an assignment one node at a time, on the problem as it is: what `dp` falls back to when a budget is hit.
#pragma once

#include "../Deadline.h"

#include "apc/Search/Problem.h"

namespace apc {

/// Changes one node's strategy after the other, in ascending order, again and again, as long as that gives fewer
/// impossible pairs, or else fewer bytes above the limit, or else fewer seconds. Returns what it ends with, which may
/// still not pass `verify`; never worse than it began. Stops at the deadline.
Assignment improveByOneNode(const Problem &problem, Assignment assignment, const Deadline &deadline);

/// The fastest assignment that passes `verify` among those that follow `a` up to some node and `b` from there on, or
/// the other way round; empty when none does. Between the two best assignments on either side of a memory limit this
/// finds one close below it.
std::optional<Assignment> bestSplice(const Problem &problem, const Assignment &a, const Assignment &b);

/// An assignment as fast as `start` that needs no more bytes: each node in ascending order takes, of the strategies
/// that cost it and its pairs exactly as many seconds, the one with the fewest persistent, then transient bytes; again
/// until nothing changes. To keep the whole of a parameter and cut it at use takes no longer than to keep the piece
/// that is used; a search that looks at seconds alone may return either.
Assignment withLeastBytes(const Problem &problem, Assignment start);

/// A start that looks at each node once: the strategy with the least own seconds plus the least of its pairs with the
/// nodes decided before.
Assignment greedyAssignment(const Problem &problem);

} // namespace apc
