// The recursion of `recursive`: the mesh is cut axis by axis, and on each axis node after node decides.
#pragma once

#include "../Reduce/WeightedProblem.h"

namespace apc {

/// How a choice for one axis is priced while later axes are open.
enum class Outlook {
  Best, ///< by the best that the later axes can still make of it
  Idle, ///< as if the later axes stayed idle, where there is such a strategy
};

/// Kept strategies by double recursion. Axes in order, outermost first; on each, nodes in the order of their importance
/// (the seconds of their slowest strategy; ties: the lower index); each gives the axis to what is cheapest by the
/// landscape's prices, where a neighbour that has decided counts with what it has left, and one that has not with the
/// least over all that it had before. A last level chooses among strategies that use every axis alike; it is the only
/// one where `NodeTable::axes` is empty. Work: levels x the sum of all tables' sides, plus each table once for each
/// distinct set of strategies that is left of a neighbour. Source: Wang, Tang, et al., "Efficient and Systematic
/// Partitioning of Large and Deep Neural Networks for Parallelization" (Euro-Par 2021), the double recursive algorithm;
/// here with any sizes of axes and the prices of the problem in place of its formulas.
std::vector<uint32_t> bisectAxes(const Problem &problem, const Landscape &landscape, Outlook outlook);

} // namespace apc
