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
  StageAnswers::Answers stages;
  std::vector<int64_t> inFlight;         ///< by stage
  std::vector<PlanStageSeconds> seconds; ///< by stage
  std::vector<PlanTransfer> transfers;
  PipelineTime time;
};

/// A pipeline, or why there is none.
struct PipelineTrial {
  std::optional<PipelineAnswer> answer;
  std::string reason;
};

/// The step of a schedule on the stages of another answer with as many workers and chunks.
std::optional<double> expectedSeconds(const PipelinePoint &point, const PipelineAnswer &other);

/// One cut, on equal workers, for schedules that split the backward pass or do not. Stages are planned as schedules ask
/// for them.
class StagedStep {
public:
  /// Errors: those of `balancedCuts`. \p pattern: an answer to begin with; may be null.
  static llvm::Expected<std::unique_ptr<StagedStep>> make(const PlanningTask &whole, int64_t workers, int64_t chunks,
                                                          bool splitsBackward, const StageAnswers::Answer &pattern);
  StageAnswers::Answer getPattern() const { return answers.getPattern(); }

  /// Plans the stages with the micro-batches in flight of a schedule at once, and simulates it.
  llvm::Expected<PipelineTrial> plan(const PipelinePoint &point, MeshesToSearch meshes);
  /// Searches the stages of an answer for better ones until the gap or the time limit. Returns the faster pipeline.
  llvm::Expected<PipelineAnswer> prove(PipelineAnswer first) const;

private:
  StagedStep(const PlanningTask &whole, std::shared_ptr<const CutStep> step, Pool worker, int64_t chunks,
             StageAnswers::Answer pattern);

  /// The pipeline of planned stages; none where those of a worker do not fit together.
  llvm::Expected<PipelineTrial> assemble(const PipelinePoint &point, std::vector<int64_t> inFlight,
                                         const StageAnswers::Answers &stages) const;
  /// The bytes of a worker at its fullest, all its stages together.
  bool fits(const PipelinePoint &point, const StageAnswers::Answers &stages) const;

  const PlanningTask &whole;
  std::shared_ptr<const CutStep> step;
  Pool worker;
  StageAnswers answers;
};

} // namespace apc
