// Cuts of a step into stages of about equal work.
#pragma once

#include "apc/Cost/CostModel.h"
#include "apc/Graph/OpGraph.h"

#include <vector>

namespace apc {

/// The parts between neighbouring places of a list, grouped into `numGroups` consecutive groups so that the heaviest
/// group is as light as possible, and among those so that the sum of squares is least: the first part of each group but
/// the first. {3, 1, 1, 3} in two groups: {2}. There must be as many parts as groups.
std::vector<size_t> balancedGroups(llvm::ArrayRef<double> parts, size_t numGroups);

/// Places in `forwardOps(graph)` that cut the step into `numStages` stages of about equal seconds with every
/// micro-batch, as one device would take them; some of `layerCuts`. Errors (input): the model has fewer such places.
llvm::Expected<std::vector<size_t>> balancedCuts(const OpGraph &graph, const Pool &pool, size_t numStages);

} // namespace apc
