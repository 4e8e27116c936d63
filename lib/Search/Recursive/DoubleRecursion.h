// The recursion of the search `recursive`: axis by axis of the mesh, and on each axis node by node.
#pragma once

#include "../Reduce/WeightedProblem.h"

namespace apc {

/// How a use of one axis is costed while later axes are open.
enum class Outlook {
  Best, ///< by the cheapest strategy that the later axes still allow
  Idle, ///< by the strategies that leave the later axes idle, where there are any
};

/// Surviving strategies by double recursion: over the axes, outermost first, and on each axis over the nodes, those
/// with the slowest strategy first (ties: the lower index). Each node gives the axis to its cheapest option under the
/// weights of the problem. A decided neighbour contributes the minimum over its remaining strategies, an undecided
/// neighbour the minimum over the strategies that it had before this axis. A last round chooses among strategies that
/// use every axis alike; it is the only round where `NodeTable::axes` is empty. Work: for each axis the sum of the
/// sides of all tables, plus each table once for each distinct set of remaining strategies. Source: Wang, Tang, et al.,
/// "Efficient and Systematic Partitioning of Large and Deep Neural Networks for Parallelization" (Euro-Par 2021), the
/// double recursive algorithm; here with axes of any size and the costs of the problem in place of its formulas.
std::vector<uint32_t> bisectAxes(const Problem &problem, const WeightedProblem &weighted, Outlook outlook);

} // namespace apc
