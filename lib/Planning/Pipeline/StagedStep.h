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
  std::vector<StageAnswers::Answer> stages;
  std::vector<int64_t> inFlight;         ///< by stage
  std::vector<MemoryTable> memory;       ///< by stage, while its worker needs most (`memoryTogether`)
  std::vector<PlanStageSeconds> seconds; ///< by stage
  std::vector<PlanTransfer> transfers;
  PipelineTime time;
  WorkerPools workers;
};

/// The bytes of a device of the worker that is fullest, with all its stages.
int64_t fullestBytes(const PipelineAnswer &answer);

/// A pipeline, and why it does not fit the memory. Without an answer some stage has none.
struct PipelineTrial {
  std::optional<PipelineAnswer> answer;
  std::string reason; ///< empty where the pipeline fits

  bool fits() const { return answer && reason.empty(); }
};

/// One cut, on the devices of its workers, for schedules that split the backward pass or do not. Stages are planned as
/// schedules ask for them.
class StagedStep {
public:
  /// Cuts as for `cutStep`, into as many stages for each worker. \p patterns: answers that stages follow, of other cuts
  /// too; those that are found are added.
  static llvm::Expected<std::unique_ptr<StagedStep>> make(const PlanningTask &whole, WorkerPools workers,
                                                          llvm::ArrayRef<size_t> cuts, bool splitsBackward,
                                                          std::shared_ptr<StagePatterns> patterns);

  /// Do all stages have devices alike?
  bool hasEqualWorkers() const { return workers.areEqual(); }
  /// The first stage that is alike, on as many devices.
  unsigned kindOf(unsigned stage) const { return answers.kindOf(stage); }

  /// Plans the stages with the micro-batches in flight of a schedule at once, and simulates it. Nothing is searched
  /// that is expected to take longer than \p secondsToBeat.
  llvm::Expected<PipelineTrial> plan(const PipelinePoint &point, MeshesToSearch meshes,
                                     std::optional<double> secondsToBeat = std::nullopt);
  /// The pipeline whose stages follow those of other cuts and schedules, though it need more memory than there is; none
  /// where there is nothing to follow.
  llvm::Expected<std::optional<PipelineAnswer>> follow(const PipelinePoint &point);
  /// The same with stages that are planned in another way.
  llvm::Expected<PipelineTrial> planBy(const PipelinePoint &point, AnswerStage answerStage, AnswersShared shared) const;
  /// Searches the stages of an answer for better ones until the gap or the time limit. Returns the faster pipeline.
  llvm::Expected<PipelineAnswer> prove(PipelineAnswer first) const;

private:
  /// The pipeline whose most frequent stages are searched within their share of the memory, once more in a smaller part
  /// of it where all stages of a worker together need a little more than there is. \p followed: what other stages
  /// follow; then what the first search has found, where nothing fits.
  llvm::Expected<PipelineTrial> searchUsual(const PipelinePoint &point, StageAnswers::Answers &followed,
                                            double slack) const;
  llvm::Expected<PipelineTrial> planWithin(const PipelinePoint &point, MeshesToSearch meshes,
                                           std::optional<double> secondsToBeat, MemoryShares shares);
  StagedStep(const PlanningTask &whole, std::shared_ptr<const CutStep> step, WorkerPools workers,
             std::shared_ptr<StagePatterns> patterns);

  /// The pipeline of planned stages.
  llvm::Expected<PipelineTrial> assemble(const PipelinePoint &point, const StageAnswers::Answers &stages) const;
  /// Why a worker at its fullest, all its stages together, has too little memory; empty where none has.
  std::string shortage(const PipelineAnswer &answer) const;

  const PlanningTask &whole;
  std::shared_ptr<const CutStep> step;
  WorkerPools workers;
  StageAnswers answers;
};

} // namespace apc
