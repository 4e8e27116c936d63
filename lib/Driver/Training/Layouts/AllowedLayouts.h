// The layouts that a request allows, and the time that they have.
#pragma once

#include "apc/Plan/PlanRequest.h"
#include "apc/Planning/ExpertLayouts.h"
#include "apc/Support/WorkClock.h"

namespace apc {

/// The share of the time limit that layouts have. Pipelines and steps that memory binds have more, for their layouts
/// are improved: searches have no better beginning there. \p fitsWhole: a layout without a pipeline fits that keeps
/// all.
double shareOfLayouts(const PlanRequest &request, bool fitsWhole);

/// The seconds of a request that are left since \p begun was made, but no fewer than so large a share of all of them.
double secondsLeft(const PlanRequest &request, const Stopwatch &begun, double leastShare);
/// Those of the search beside layouts: at least half of the limit, in tenths of a second as notes print it.
double secondsOfSearch(const PlanRequest &request, const Stopwatch &begun);
/// Those until the search has no more than its half.
double secondsBeforeSearch(const PlanRequest &request, const Stopwatch &begun);

/// The numbers of layouts that a request fixes.
AskedOfLayouts askedBy(const PlanRequest &request);
/// Then the usual layouts tell what those numbers cost.
bool fixesMoreThanWorkers(const AskedOfLayouts &asked);

/// Why no layout may be the plan of a request: pins, which layouts do not know. Empty where layouts may be. \p hasPins:
/// the model's own shardings pin ops.
std::string refusalOfAll(const PlanRequest &request, bool hasPins);

/// Why the request would not give a layout; empty where it might. \p open: the request without what layouts decide.
std::string refusalOf(const PlanRequest &request, const PlanRequest &open, const ParallelDegrees &layout);

} // namespace apc
