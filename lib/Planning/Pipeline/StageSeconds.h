// The seconds of a stage's parts, and a pipeline of them for its simulation.
#pragma once

#include "../Task.h"
#include "CutStep.h"
#include "PipelinePoints.h"

#include "apc/Plan/Plan.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

namespace apc {

/// The seconds of `candidate`, a program of the stage's graph, by part: of one micro-batch, and of the update. A
/// collective belongs to the part of the op in front of which it stands. Where collectives run beside ops, each part
/// has its share of the seconds that nothing hides. \p parts: by op. All micro-batches and the update sum to
/// `candidate.seconds()`.
PlanStageSeconds secondsByPart(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, const Candidate &candidate);

/// The figures of a pipeline for its simulation: stages with their parts, a message between each pair of stages that
/// exchange values with every micro-batch, of the longer of both directions, and transfers of the step beside the
/// update of the stage that sends them. Links carry one message at a time, beside computation. Updates begin when all
/// workers have got so far where the point says so.
PipelineWork pipelineWork(const PipelinePoint &point, llvm::ArrayRef<PlanStageSeconds> seconds,
                          llvm::ArrayRef<PlanTransfer> transfers);

} // namespace apc
