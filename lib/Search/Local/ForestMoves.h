// Moves of many nodes at once: all nodes of a forest in the graph.
#pragma once

#include "../Deadline.h"
#include "../Reduce/WeightedProblem.h"

namespace apc {

/// Chooses forests: sets of nodes among which the edges form no circle. Each forest begins with the nodes that the one
/// before left out. All nodes of a forest are decided together, by elimination from the leaves to the roots, while all
/// other nodes keep their choices; the cost is that under the weights of the problem. Stops when two forests in a row
/// gain nothing, or at the deadline; never worse than the start. Returns whether anything changed. Strategies are
/// numbered within the surviving ones. Work per forest: the sum of its tables. Example: in a chain where node i also
/// has an edge to i + 2, a forest holds two of three nodes. Source: the block moves of Hamze and de Freitas, "From
/// fields to trees" (2004), with minima in place of sums.
bool moveForests(const WeightedProblem &weighted, const Deadline &deadline, std::vector<uint32_t> &chosen);

} // namespace apc
