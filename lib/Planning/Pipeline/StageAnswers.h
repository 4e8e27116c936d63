// The plans of single stages: each is planned like a model of its own.
#pragma once

#include "../Decide.h"
#include "CutStep.h"
#include "PipelinePoints.h"

#include "llvm/ADT/STLFunctionalExtras.h"

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
  double problemSeconds = 0, searchSeconds = 0;
};

/// The way in which the strategies of a stage are found: fills in all that follows the task of an answer.
using AnswerStage = llvm::function_ref<llvm::Error(unsigned stage, StageAnswer &)>;

/// Where stages are searched that an earlier answer is of no help for.
enum class MeshesToSearch : uint8_t { OfPattern, All };

/// Plans the stages of one cut, on the devices of one worker, and plans stages that are alike once.
class StageAnswers {
public:
  using Answer = std::shared_ptr<const StageAnswer>;
  using Answers = std::map<unsigned, Answer>; ///< by stage

  /// \p pattern: an answer of the same step in other parts, to begin with; may be null.
  StageAnswers(const PlanningTask &whole, const CutStep &step, Pool worker, Answer pattern);

  /// The answer that others follow; null before the first.
  Answer getPattern() const { return pattern; }

  /// The answers of all stages under a schedule at once: stages that are alike have the strategies of the one with the
  /// most in flight; of other stages the ops that it has, too. The last one may have no candidate; those behind it are
  /// missing then. Errors: those of the search; pins that no mesh meets.
  llvm::Expected<Answers> firstAnswers(const PipelinePoint &point, MeshesToSearch meshes);
  /// Answers by another way than a search; stages that are alike share them.
  llvm::Expected<Answers> answersBy(const PipelinePoint &point, AnswerStage answerStage) const;
  /// Better answers, and better bounds, on all meshes until the gap or the time limit.
  llvm::Expected<Answers> proofs(const PipelinePoint &point, const Answers &first) const;
  /// By stage: the seconds that its program takes at least, whatever the memory, and though the stage be a part of a
  /// larger one. Searches take `seconds` in all; 0 for stages that are left then.
  llvm::Expected<std::vector<double>> leastSeconds(double seconds) const;

private:
  using Own = std::shared_ptr<StageAnswer>;

  /// A stage under a schedule.
  struct Wanted {
    unsigned stage = 0;
    int64_t inFlight = 1;
    int64_t limitBytes = 0; ///< the share of a device's memory that the stage may take
  };
  /// By stage. Stages of one worker share its memory by their micro-batches in flight.
  std::vector<Wanted> wantedBy(const PipelinePoint &point) const;
  /// Stages of the most frequent kind first, of each kind those with the most in flight.
  std::vector<Wanted> inOrder(std::vector<Wanted> stages) const;
  llvm::Expected<Answer> firstAnswer(const Wanted &wanted, MeshesToSearch meshes);
  llvm::Expected<Own> begin(const Wanted &wanted, PlanningEffort effort, double seconds) const;
  llvm::Error searchFirst(StageAnswer &own, MeshesToSearch meshes);
  /// Gives the ops that \p other has, too, their strategies there, and searches the rest.
  llvm::Error follow(const StageAnswer &other, StageAnswer &own) const;
  /// An answer of a stage that is alike, with as many micro-batches in flight, or more, and no more memory.
  Answer findAlike(const Wanted &wanted) const;
  llvm::Error takeOver(const StageAnswer &other, StageAnswer &own) const;
  llvm::Error prove(const StageAnswer &first, StageAnswer &own) const;
  /// The strategies of \p alike, where it is there and was proven.
  llvm::Expected<Answer> proof(const Wanted &wanted, const Answer &first, const Answer &alike, double seconds) const;

  const PlanningTask &whole;
  const CutStep &step;
  Pool worker;
  std::vector<unsigned> kinds; ///< by stage: the first one that is alike
  Answer pattern;              ///< the first one that was searched on all meshes
  std::vector<std::pair<Wanted, Answer>> known;
};

} // namespace apc
