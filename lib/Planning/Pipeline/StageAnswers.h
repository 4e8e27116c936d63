// The plans of single stages: each is planned like a model of its own.
#pragma once

#include "../Decide.h"
#include "CutStep.h"

#include <functional>
#include <map>
#include <memory>

namespace apc {

/// A stage that is planned. Addresses stay: the task refers to graph and request.
struct StageAnswer {
  OpGraph graph;
  PlanRequest request;
  std::optional<PlanningTask> task;
  std::optional<Candidate> candidate; ///< none where nothing fits
  double lowerBoundSeconds = 0;       ///< of all micro-batches and the update, on the stage alone
  bool isByMemory = true;             ///< more memory might give a faster answer
  std::string reason;                 ///< why nothing fits
  std::vector<std::string> notes;
  double problemSeconds = 0, searchSeconds = 0;
};

/// The way in which the strategies of a stage are found: fills in all that follows the task of an answer.
using AnswerStage = std::function<llvm::Error(unsigned stage, StageAnswer &)>;

/// By search over all meshes of the worker's devices.
llvm::Error searchStage(unsigned stage, StageAnswer &own);

/// Plans the stages of one cut, on the devices of one worker, and plans stages that are alike once.
class StageAnswers {
public:
  /// \p limitBytes: the share of a device's memory that one stage may take.
  StageAnswers(const PlanningTask &whole, const CutStep &step, Pool worker, int64_t limitBytes, AnswerStage answerStage)
      : whole(whole), step(step), worker(std::move(worker)), limitBytes(limitBytes),
        answerStage(std::move(answerStage)) {}

  /// The answer of `stage` with so many micro-batches in flight. \p stagesLeft share the time that is left. Errors:
  /// those of the search; pins that no mesh meets.
  llvm::Expected<std::shared_ptr<const StageAnswer>> answer(unsigned stage, int64_t inFlight, size_t stagesLeft);

private:
  std::shared_ptr<StageAnswer> begin(unsigned stage, int64_t inFlight, double seconds) const;
  /// The strategies of a stage that is alike and has as many micro-batches in flight, or more and memory to spare.
  std::shared_ptr<const StageAnswer> findAlike(unsigned stage, int64_t inFlight) const;
  llvm::Error takeOver(const StageAnswer &other, StageAnswer &own) const;

  const PlanningTask &whole;
  const CutStep &step;
  Pool worker;
  int64_t limitBytes;
  AnswerStage answerStage;
  std::map<std::pair<unsigned, int64_t>, std::shared_ptr<const StageAnswer>> known; ///< by stage and micro-batches
};

} // namespace apc
