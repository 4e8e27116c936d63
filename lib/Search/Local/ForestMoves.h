// Moves of many nodes at once: all nodes of a forest in the graph, the best for the others as they are.
#pragma once

#include "../Deadline.h"
#include "../Reduce/WeightedProblem.h"

namespace apc {

/// Chooses forests that no edge of the graph closes to a circle, each beginning with the nodes that the one before left
/// out, and gives the nodes of each the choices that are best together under the landscape's weights while all other
/// nodes stay, by elimination from the leaves. Strategies are counted within the reduction's kept ones. Takes what
/// gains, until two forests in a row do not; never worse than it began. Returns whether anything changed. Stops at the
/// deadline. Work: of a forest, the sum of its tables. Example: in a chain where node i also has an edge to i + 2 a
/// forest holds two of three nodes. Source: the block moves of Hamze and de Freitas, "From fields to trees" (2004),
/// with minima for sums.
bool moveForests(const Landscape &landscape, const Deadline &deadline, std::vector<uint32_t> &chosen);

} // namespace apc
