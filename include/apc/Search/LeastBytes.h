// Fewer bytes at equal seconds.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// An assignment as fast as `start` that needs no more bytes. Two kinds of moves, in ascending order of nodes, until
/// nothing changes: a node takes the strategy with the fewest persistent, then transient bytes among the strategies
/// that cost it and its pairs no more seconds; and a chain from a node that nothing leads to (a parameter, its
/// transpose, their hub) is decided together, by the same measure, while all other nodes stay. Searches that look at
/// seconds need this: keeping a whole parameter and cutting it at its use takes as long as keeping only the piece that
/// is used. Seconds are equal when they agree to 1e-13 of what the chain and its pairs cost.
Assignment withLeastBytes(const Problem &problem, Assignment start);

/// The same for the answer of a search; a result without an answer stays as it is.
SearchResult withLeastBytes(const Problem &problem, SearchResult result);

} // namespace apc
