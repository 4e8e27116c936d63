// Stages with the axes of one kind of parallelism taken out of them, under the same schedule.
#include "PipelineParts.h"

#include "../Parts/Contributions.h"

namespace apc {

/// None where no stage has anything of the kind, or a program is impossible.
static std::optional<PipelineAnswer> without(const StagedStep &stages, const PipelineAnswer &answer,
                                             ParallelKind kind) {
  bool isOther = false;
  auto answerStage = [&](unsigned stage, StageAnswer &own) -> llvm::Error {
    const Candidate &known = *answer.stages[stage]->candidate;
    llvm::Expected<std::optional<Candidate>> changed = withoutKind(*own.task, known, kind);
    if (!changed)
      return changed.takeError();
    isOther |= changed->has_value();
    own.candidate = known;
    if (*changed)
      own.candidate = std::move(*changed);
    return llvm::Error::success();
  };
  llvm::Expected<PipelineTrial> trial = stages.planBy(answer.point, answerStage, AnswersShared::ByInFlight);
  if (!trial) {
    llvm::consumeError(trial.takeError());
    return std::nullopt;
  }
  return isOther ? std::move(trial->answer) : std::nullopt;
}

std::vector<PlanContribution> contributionsOf(const StagedStep &stages, const PipelineAnswer &answer) {
  std::vector<PlanContribution> contributions;
  for (ParallelKind kind : parallelKinds)
    if (std::optional<PipelineAnswer> other = without(stages, answer, kind))
      contributions.push_back({parallelKindName(kind).str(), other->time.stepSeconds, fullestBytes(*other)});
  return contributions;
}

} // namespace apc
