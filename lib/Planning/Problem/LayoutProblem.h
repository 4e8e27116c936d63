// Problems of layouts, which are built on one pool and mesh for many graphs.
#pragma once

#include "apc/Planning/BuildProblem.h"
#include "apc/Sharding/RedistributionSeconds.h"

namespace apc {

/// Does a layout leave a strategy to an op?
using LayoutChoice = llvm::function_ref<bool(OpId, const Strategy &)>;

/// The problem that `buildProblem` returns, with the choices that \p keep leaves. \p moves: the seconds of values that
/// move alone, at the costs of \p model; searches that it makes here serve the next problem.
PlanningProblem problemOfLayout(const OpGraph &graph, const CostModel &model, LayoutChoice keep, WeightCopies copies,
                                const Fusion &fusion, RedistributionSeconds &moves);

/// The same; none where two ops have no possible pair of choices, so that nothing could be found.
std::optional<PlanningProblem> possibleProblemOfLayout(const OpGraph &graph, const CostModel &model, LayoutChoice keep,
                                                       WeightCopies copies, const Fusion &fusion,
                                                       RedistributionSeconds &moves);

} // namespace apc
