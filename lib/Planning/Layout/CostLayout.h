// A layout on the devices that work on one graph, a model's or that of a stage.
#pragma once

#include "../Task.h"

#include "apc/Plan/ParallelDegrees.h"

namespace apc {

/// The cheapest way to carry out what dp, tp, cp, ep, sp and zero of a layout leave open, on all or some devices of the
/// task. Where that does not fit and \p keepsToLimit is set, the cheapest way within the limit, if there is one. Errors
/// (internal): the degrees do not fit the levels.
llvm::Expected<Candidate> carryOutLayout(const PlanningTask &task, const ParallelDegrees &layout, bool keepsToLimit);

/// Errors (input): a batch that dp cannot cut, sequences or experts that the model does not have.
llvm::Error checkLayoutOnModel(const PlanningTask &task, const ParallelDegrees &layout);

/// Devices that the layout leaves idle, stages of ZeRO that change nothing, a pipeline of one micro-batch; empty for
/// none.
std::string remarkOnLayout(const PlanningTask &task, const ParallelDegrees &layout);

} // namespace apc
