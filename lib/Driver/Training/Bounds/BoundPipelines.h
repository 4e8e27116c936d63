// Seconds below which no pipeline ends a step, whatever is left open.
#pragma once

#include "OuterBounds.h"

namespace apc {

/// The requests that bounds of \p request are taken for: each number of micro-batches that it allows, fewest first,
/// with the policy that keeps most. Errors: those of `exportedBatch`.
llvm::Expected<std::vector<PlanRequest>> boundedRequests(const PlanRequest &request);

/// A bound of all steps of \p request with a pipeline of any of these numbers of workers, any number of micro-batches
/// and any policy of recomputation that the request allows; no more than \p known, the seconds of a plan. Searches take
/// \p seconds in all; where that is no time, bounds that are known count. None where nothing is known and there is no
/// time, or where the request leaves nothing open. Errors: those of bounding.
llvm::Expected<std::optional<double>> boundPipelines(const PlanRequest &request, llvm::ArrayRef<int64_t> workers,
                                                     OuterBounds &bounds, double known, double seconds);

/// Takes bounds before any trial where a layout is known: trials seldom find anything faster then, and take all the
/// time that they are given. Errors: those of bounding.
llvm::Error boundBeforeTrials(const PlanRequest &request, llvm::ArrayRef<int64_t> workers, OuterBounds &bounds,
                              const PointPlanner &points);

/// `best`, which is bounded for its own numbers, with the bound of all that \p request allows; none is known where
/// there was no time for it, and a note says so. A plan keeps its own bound where the request leaves nothing open.
Plan withBoundOfAll(Plan best, const PlanRequest &request, const std::optional<double> &ofAll);

} // namespace apc
