// Problems of layouts, which are built on one pool and mesh for many graphs.
#pragma once

#include "apc/Planning/BuildProblem.h"
#include "apc/Sharding/RedistributionSeconds.h"

namespace apc {

/// The strategies that a layout leaves to ops.
struct LayoutChoice {
  llvm::function_ref<bool(OpId, const Strategy &)> keep; ///< does it leave a strategy to an op?
  llvm::function_ref<uint32_t(OpId)> kindOf;             ///< ops of one number have one rule and keep the same
  bool gathersAgain = false; ///< copies that products may be gathered beside (`PassUses::productsBeside`) are not kept
};

/// The problem that `buildProblem` returns, with the choices that \p choice leaves. \p moves: the seconds of values
/// that move alone, at the costs of \p model; searches that it makes here serve the next problem.
PlanningProblem problemOfLayout(const OpGraph &graph, const CostModel &model, LayoutChoice choice, WeightCopies copies,
                                const Fusion &fusion, RedistributionSeconds &moves);

/// The same; none where two ops have no possible pair of choices, so that nothing could be found.
std::optional<PlanningProblem> possibleProblemOfLayout(const OpGraph &graph, const CostModel &model,
                                                       LayoutChoice choice, WeightCopies copies, const Fusion &fusion,
                                                       RedistributionSeconds &moves);

/// \p base, the problem of a layout, with the bytes that \p graph asks for: its own graph, or that with another number
/// of micro-batches in flight. Takes little of the time of `problemOfLayout`.
PlanningProblem withBytesOf(const PlanningProblem &base, const OpGraph &graph, const CostModel &model,
                            WeightCopies copies, bool gathersAgain);

} // namespace apc
