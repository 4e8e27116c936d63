// Layouts with a pipeline beside a plan that was asked for without one.
#pragma once

#include "LayoutReferences.h"

namespace apc {

/// A layout with a pipeline that fits, and the seconds of its step.
struct PipelineBeside {
  ParallelDegrees layout;
  double seconds = 0;
};

/// The fastest layout of experts with a pipeline for a request of one worker, of those that are costed in a tenth of
/// the time limit and in \p seconds at most. None where the fastest of \p layouts, those without a pipeline, recomputes
/// nothing, so that memory seldom asks for stages; within one node, where links are as fast for anything else; and
/// where workers, with tp over a node, have less than a quarter of a micro-batch each, for a step is mostly bubble
/// then. Errors: those of `fastestLayout`.
llvm::Expected<std::optional<PipelineBeside>> pipelineBeside(const PlanRequest &request,
                                                             const LayoutReferences &layouts,
                                                             EvaluateRequested evaluate, const PlanningControl &control,
                                                             double seconds);

/// \p plan, with a note where the pipeline is faster: --pipeline auto would plan with it.
Plan withNoteOn(const std::optional<PipelineBeside> &pipeline, Plan plan);

} // namespace apc
