// A step cut into stages for a number of workers and chunks, under one schedule or another.
#pragma once

#include "PipelinePoints.h"
#include "StageAnswers.h"
#include "StageSeconds.h"

namespace apc {

/// A pipeline with everything decided.
struct PipelineAnswer {
  PipelinePoint point;
  std::shared_ptr<const CutStep> step;
  std::vector<std::shared_ptr<const StageAnswer>> stages;
  std::vector<int64_t> inFlight;         ///< by stage
  std::vector<PlanStageSeconds> seconds; ///< by stage
  std::vector<PlanTransfer> transfers;
  PipelineTime time;
};

/// A pipeline, and why it does not fit the memory. Without an answer some stage has none.
struct PipelineTrial {
  std::optional<PipelineAnswer> answer;
  std::string reason; ///< empty where the pipeline fits

  bool fits() const { return answer && reason.empty(); }
};

/// The step of a schedule on the stages of another answer with as many workers and chunks.
std::optional<double> expectedSeconds(const PipelinePoint &point, const PipelineAnswer &other);

/// One cut, on equal workers, for schedules that split the backward pass or do not. Stages are planned as schedules ask
/// for them.
class StagedStep {
public:
  /// Stages of about equal work, each searched. Errors: those of `balancedCuts`.
  static llvm::Expected<std::unique_ptr<StagedStep>> make(const PlanningTask &whole, int64_t workers, int64_t chunks,
                                                          bool splitsBackward);
  /// \p cuts: as for `cutStep`, into `workers * chunks` stages. \p answerStage: how each stage is planned.
  static llvm::Expected<std::unique_ptr<StagedStep>> make(const PlanningTask &whole, int64_t workers,
                                                          llvm::ArrayRef<size_t> cuts, bool splitsBackward,
                                                          AnswerStage answerStage);

  /// Plans the stages with the micro-batches in flight of a schedule, and simulates it.
  llvm::Expected<PipelineTrial> plan(const PipelinePoint &point);

private:
  StagedStep(const PlanningTask &whole, std::shared_ptr<const CutStep> step, Pool worker, int64_t chunks,
             AnswerStage answerStage);

  /// Why a worker at its fullest, all its stages together, has too little memory; empty where none has.
  std::string shortage(const PipelinePoint &point, llvm::ArrayRef<std::shared_ptr<const StageAnswer>> stages) const;

  const PlanningTask &whole;
  std::shared_ptr<const CutStep> step;
  Pool worker;
  StageAnswers answers;
};

} // namespace apc
