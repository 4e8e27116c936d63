// Seconds below which no pipeline ends a step, whatever is left open.
#pragma once

#include "PointPlanner.h"

namespace apc {

/// A bound of all steps of \p request with a pipeline of any of these numbers of workers, any number of micro-batches
/// and any policy of recomputation that the request allows. Work is subadditive: an op or a collective on half the
/// samples takes at least half the time; and recomputation only adds to it. So the policy that keeps most bounds all,
/// the way of one micro-batch through all stages shows which few micro-batches take more than \p known, the seconds of
/// a plan, and the first number that may take less bounds the work of all further ones. Searches take \p seconds in
/// all; none where that is no time, or where the request leaves nothing open. Errors: those of bounding.
llvm::Expected<std::optional<double>> boundPipelines(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                                                     const PointPlanner &points, double known, double seconds);

/// `best`, which is bounded for its own numbers, with the bound of all that \p request allows; none is known where
/// there was no time for it, and a note says so. A plan keeps its own bound where the request leaves nothing open.
Plan withBoundOfAll(Plan best, const PlanRequest &request, const std::optional<double> &ofAll);

} // namespace apc
