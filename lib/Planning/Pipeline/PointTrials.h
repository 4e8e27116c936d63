// Schedules and chunks of a pipeline, planned one after the other as long as that promises anything.
#pragma once

#include "PipelineForecast.h"

#include "apc/Plan/TriedPoint.h"

namespace apc {

/// The best pipeline that was found, and what was tried.
struct FoundPipeline {
  std::optional<PipelineAnswer> best;
  std::shared_ptr<StagedStep> stages; ///< of `best`
  std::vector<TriedPoint> tried;
  /// Why the first one that does not fit, which holds fewer micro-batches than those behind it, does not; empty where
  /// all fit.
  std::string reason;
};

/// Plans schedules and numbers of chunks for the workers, one chunk where these are unequal; a known layout first,
/// which is all where the time is over then. Some are tried in turn, those of each number of chunks that hold the
/// fewest micro-batches, until one fits. All others are forecast from it, with cuts that are moved as long as the
/// simulation becomes faster, and planned in the order of their forecasts, until these are slower than the best that
/// was planned or several in a row gave nothing better. Where all that took little time from a known layout on, the
/// same begins once more without it, for it leads to other strategies. Errors: those of cuts, schedules and searches.
llvm::Expected<FoundPipeline> tryPipelines(const PlanningTask &whole, const WorkerPools &workers);

} // namespace apc
