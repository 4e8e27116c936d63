// The requests that are planned for one training step: micro-batches x policies of recomputation.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Plan/PlanRequest.h"
#include "apc/Planning/PlanRank.h"
#include "apc/Search/SearchEnd.h"

#include "llvm/Support/Error.h"

namespace apc {

/// `request` with each number of micro-batches that it allows, fewest first: a global batch of 8 without a micro-batch
/// gives micro-batches of 8, 4, 2 and 1. Errors: those of `exportedBatch`.
llvm::Expected<std::vector<PlanRequest>> microBatchRequests(const PlanRequest &request);

/// May micro-batches be of another size than that of a point of `request`, which has one?
bool hasOpenMicroBatches(const PlanRequest &request);

/// The policies that `request` allows, those that keep most first.
std::vector<RecomputeSetting> policiesOf(const PlanRequest &request);

/// "4 workers, 8 micro-batches of 64, recompute full"; the policy only where it is chosen.
std::string describePoint(const PlanRequest &own, bool isPolicyChosen);

/// The points that a plan brings along, or the one that it is.
std::vector<TriedPoint> triedOf(const Plan &plan);

/// `plan` with the best of the points that it brings along, its own as it came out, and a remark where the user ended
/// the search.
Plan withBestTried(Plan plan, bool isStopped);

/// `plan`, which was made for any memory and fits, as one of \p request, whose limit is \p limitBytes: references that
/// need more do not fit.
Plan withinLimit(Plan plan, const PlanRequest &request, int64_t limitBytes);

PlanRank rankOf(const Plan &plan);

/// "more micro-batches take at least 3.21 s"; where nothing was proven (0), \p why that is so.
std::string noteOnMoreMicroBatches(double leastSeconds, SearchEnd why);

/// `best` with the bound, gap and status of a plan that was chosen among several, with `bound` the least of all.
Plan boundByAll(Plan best, double bound);

} // namespace apc
