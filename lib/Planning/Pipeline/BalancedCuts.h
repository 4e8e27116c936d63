// Cuts of a step into stages of about equal work.
#pragma once

#include "Workers/WorkerPools.h"

#include "apc/Cost/CostModel.h"
#include "apc/Graph/OpGraph.h"

#include <vector>

namespace apc {

/// The parts between neighbouring places of a list, grouped into as many consecutive groups as there are \p strengths,
/// each of whose weight is that of its parts by its strength, so that the heaviest group is as light as possible, and
/// among those so that the sum of squares is least: the first part of each group but the first. {3, 1, 1, 3} in groups
/// of strengths {1, 1}: {2}; of {1, 0.5}: {3}. There must be as many parts as groups.
std::vector<size_t> balancedGroups(llvm::ArrayRef<double> parts, llvm::ArrayRef<double> strengths);

/// By stage (`WorkerPools::strengthOf`).
std::vector<double> strengthsOf(const WorkerPools &workers, size_t numStages);

/// The seconds of the parts between all `layerCuts` with every micro-batch, as one device would take them.
std::vector<double> secondsByLayer(const OpGraph &graph, const Pool &pool);

/// Errors (input): the model has too few `layerCuts` for so many stages. They begin with \p source, which asks for the
/// stages: "--pipeline 8".
llvm::Error checkStages(const OpGraph &graph, size_t numStages, llvm::StringRef source);

/// Places in `forwardOps(graph)` that cut the step into `numStages` stages of about equal seconds with every
/// micro-batch, those that one device would take shared by the devices of their workers; some of `layerCuts`. Errors
/// (input): the model has fewer such places; they begin with \p source, where there is one.
llvm::Expected<std::vector<size_t>> balancedCuts(const OpGraph &graph, const WorkerPools &workers, size_t numStages,
                                                 llvm::StringRef source = "");

} // namespace apc
