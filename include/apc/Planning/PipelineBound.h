// The least seconds of every pipeline of a step.
#pragma once

#include "apc/Planning/Planning.h"

namespace apc {

/// Two bounds of the step of every pipeline of a number of workers: {13.7, 68.0} for one micro-batch, which keeps one
/// worker busy at a time.
struct PipelineBound {
  double shareSeconds = 0; ///< the work of the busiest worker
  double pathSeconds = 0;  ///< one micro-batch through all stages and back

  double seconds() const { return std::max(shareSeconds, pathSeconds); }
};

/// The bounds for as many workers as `request.pipeline` says, in the micro-batches and with the recomputation of
/// `graph`, whatever cuts, schedule, chunks, strategies and memory; the work counts collectives as far as searches get
/// within the time limit of the request, none within no time. Errors: those of the searches; workers that the pool does
/// not allow.
llvm::Expected<PipelineBound> boundPipeline(const OpGraph &graph, const PlanRequest &request,
                                            const PlanningTarget &target, const PlanningControl &control);

} // namespace apc
