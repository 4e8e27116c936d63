// The plans of single stages: each is planned like a model of its own.
#pragma once

#include "../Decide.h"
#include "CutStep.h"
#include "PipelinePoints.h"
#include "SameStrategies.h"
#include "Workers/WorkerPools.h"

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
  bool isByMemory = true;             ///< more memory might give a faster answer
  std::string reason;                 ///< why nothing fits
  double problemSeconds = 0, searchSeconds = 0;
};

/// The way in which the strategies of a stage are found: fills in all that follows the task of an answer.
using AnswerStage = llvm::function_ref<llvm::Error(unsigned stage, StageAnswer &)>;

/// Stages that share an answer: all that are alike, or those that also have as many micro-batches in flight.
enum class AnswersShared : uint8_t { ByAlike, ByInFlight };

/// Where stages are searched that an earlier answer is of no help for.
enum class MeshesToSearch : uint8_t { OfPattern, All };

/// The memory that stages of one worker share: what they need together at one time, or the sum of their own peaks,
/// which always fits.
enum class MemoryShares : uint8_t { Together, Apart };

/// How many times as long steps are expected to take that need so many times the memory there is: strategies that save
/// a tenth of the memory take some per cent more time, where there are any.
double slowdownWithin(double excess);

/// Plans the stages of one cut, each on the devices of its worker, and plans stages that are alike once. Where workers
/// are unequal, each has one stage.
class StageAnswers {
public:
  using Answer = std::shared_ptr<const StageAnswer>;
  using Answers = std::map<unsigned, Answer>; ///< by stage

  /// \p patterns: answers of the same step in other parts, and of these parts.
  StageAnswers(const PlanningTask &whole, const CutStep &step, WorkerPools workers,
               std::shared_ptr<StagePatterns> patterns);

  /// The answers that follow those of other cuts or schedules, of all stages at once; empty where there is nothing to
  /// follow. They may need more memory than there is.
  llvm::Expected<Answers> followers(const PipelinePoint &point, MemoryShares shares);
  /// The answers of all stages under a schedule: those of \p followed that fit, for other stages that of one that is
  /// alike and has the most in flight, or what a search finds where the pipeline may take \p slack times as long as
  /// followed. The last one may have no candidate; those behind it are missing then. Errors: those of the search; pins
  /// that no mesh meets.
  llvm::Expected<Answers> firstAnswers(const PipelinePoint &point, MeshesToSearch meshes, const Answers &followed,
                                       double slack, MemoryShares shares);
  /// Answers by another way than a search; stages that are alike share them. The last one may have no candidate; those
  /// behind it are missing then.
  llvm::Expected<Answers> answersBy(const PipelinePoint &point, AnswerStage answerStage, AnswersShared shared) const;
  /// The answers where stages of the most frequent kind have what is found on the mesh of \p followed within their
  /// share of the memory, and the others follow them. They may still need too much; the same where nothing is found, or
  /// where it is expected to take more than \p slack times as long. \p part: of the share, that they may take.
  llvm::Expected<Answers> searchUsual(const PipelinePoint &point, const Answers &followed, double slack,
                                      double part) const;
  /// The answers where stages of the most frequent kind have what a search of all meshes finds until the gap or the
  /// time limit, and the others follow them; they may be no better, and need more memory than there is.
  llvm::Expected<Answers> proofs(const PipelinePoint &point, const Answers &first) const;
  /// The task of a stage with one micro-batch in flight, whatever the memory, and though the stage be a part of a
  /// larger one, with whose values its own may be exchanged. Without an answer. Errors: those of pins.
  llvm::Expected<std::shared_ptr<StageAnswer>> taskOfPart(unsigned stage, double seconds) const;
  /// The first stage whose graph is alike, on as many devices.
  unsigned kindOf(unsigned stage) const { return kinds[stage]; }

private:
  using Own = std::shared_ptr<StageAnswer>;

  /// A stage under a schedule.
  struct Wanted {
    unsigned stage = 0;
    int64_t inFlight = 1;
    WaitingMicroBatches waiting; ///< `PipelinePoint::waiting`
    int64_t limitBytes = 0;      ///< the share of a device's memory that the stage may take
  };
  /// The bytes of a stage that has such a share of its device's memory, beside the scratch memory of kernels, which all
  /// stages of a worker use in turn.
  int64_t limitOf(unsigned stage, double share, const PipelineShape &shape) const;
  /// By stage. Stages of one worker share its memory by their micro-batches in flight.
  std::vector<Wanted> wantedBy(const PipelinePoint &point, MemoryShares shares) const;
  /// By worker: what its stages need in all, where each needs so much and its micro-batches as much again.
  std::map<uint32_t, double> needsOf(const PipelinePoint &point, double fixed, MemoryShares shares) const;
  /// Stages of the most frequent kind first, of each kind those with the most in flight.
  std::vector<Wanted> inOrder(std::vector<Wanted> stages) const;
  /// \p followed, where it is there and fits, or another one.
  llvm::Expected<Answer> firstAnswer(const Wanted &wanted, const Answer &followed, MeshesToSearch meshes, double slack);
  llvm::Expected<Own> begin(const Wanted &wanted, PlanningEffort effort, double seconds) const;
  const Pool &poolOf(unsigned stage) const { return workers.pool(workers.areEqual() ? 0 : stage); }
  /// Answers that a stage may follow: of as many devices.
  StagePatterns::Answer patternOf(const StageAnswer &own) const { return patterns->front(own.task->pool.numDevices()); }
  double secondsOfSearch() const; ///< that are left
  llvm::Error searchFirst(StageAnswer &own, const Answer &followed, MeshesToSearch meshes, double slack);
  /// Gives the ops that patterns have, too, their strategies there, and searches the rest. Where nothing is left to
  /// search, the answer may need more memory than there is.
  llvm::Error follow(StageAnswer &own) const;
  /// Searches ops that have no strategy, and hubs, so that the stage fits; no answer where it does not.
  llvm::Error searchRest(StageAnswer &own, SameProgram same) const;
  /// By stage; stages without an answer are left out.
  llvm::Expected<std::map<unsigned, Own>> followAll(llvm::ArrayRef<Wanted> stages) const;
  /// Gives each stage its part of the memory of its worker, in proportion to what the answers of all need.
  void shareByNeeds(const PipelinePoint &point, const std::map<unsigned, Own> &followed, MemoryShares shares,
                    std::vector<Wanted> &stages) const;
  /// An earlier answer of a stage that is alike, with as many micro-batches in flight, or more, and no more memory.
  Answer findAlike(const Wanted &wanted) const;
  void takeOver(const StageAnswer &other, StageAnswer &own) const;
  llvm::Error prove(const StageAnswer &first, StageAnswer &own) const;
  /// The stage of the most frequent kind with the most in flight.
  Wanted usualOf(const PipelinePoint &point, const Answers &known) const;
  /// \p usual for its \p stage; the others follow it first, then \p known.
  llvm::Expected<Answers> byUsual(const PipelinePoint &point, const Answers &known, Own usual, unsigned stage) const;

  const PlanningTask &whole;
  const CutStep &step;
  WorkerPools workers;
  std::vector<unsigned> kinds; ///< by stage: the first one that is alike
  std::shared_ptr<StagePatterns> patterns;
  std::vector<std::pair<Wanted, Answer>> known;
};

} // namespace apc
