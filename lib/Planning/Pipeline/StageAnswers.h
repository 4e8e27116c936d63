// The plans of single stages: each is planned like a model of its own.
#pragma once

#include "../Decide.h"
#include "CutStep.h"

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

/// Where stages are searched that an earlier answer is of no help for.
enum class MeshesToSearch : uint8_t { OfPattern, All };

/// Plans the stages of one cut, on the devices of one worker, and plans stages that are alike once.
class StageAnswers {
public:
  using Answer = std::shared_ptr<const StageAnswer>;
  using Answers = std::map<unsigned, Answer>; ///< by stage

  /// \p limitBytes: the share of a device's memory that one stage may take. \p pattern: an answer of the same step in
  /// other parts, to begin with; may be null.
  StageAnswers(const PlanningTask &whole, const CutStep &step, Pool worker, int64_t limitBytes, Answer pattern);

  /// The answer that others follow; null before the first.
  Answer getPattern() const { return pattern; }

  /// The answers of all stages, each with so many micro-batches in flight, at once: stages that are alike have the
  /// strategies of the one with the most in flight; of other stages the ops that it has, too. The last one may have no
  /// candidate; those behind it are missing then. Errors: those of the search; pins that no mesh meets.
  llvm::Expected<Answers> firstAnswers(llvm::ArrayRef<int64_t> inFlight, MeshesToSearch meshes);
  /// Better answers, and better bounds, on all meshes until the gap or the time limit.
  llvm::Expected<Answers> proofs(llvm::ArrayRef<int64_t> inFlight, const Answers &first) const;

private:
  using Own = std::shared_ptr<StageAnswer>;

  /// Stages of the most frequent kind first, of each kind those with the most in flight.
  std::vector<unsigned> order(llvm::ArrayRef<int64_t> inFlight) const;
  llvm::Expected<Answer> firstAnswer(unsigned stage, int64_t inFlight, MeshesToSearch meshes);
  llvm::Expected<Own> begin(unsigned stage, int64_t inFlight, PlanningEffort effort, double seconds) const;
  llvm::Error searchFirst(StageAnswer &own, MeshesToSearch meshes);
  /// Gives the ops that \p other has, too, their strategies there, and searches the rest.
  llvm::Error follow(const StageAnswer &other, StageAnswer &own) const;
  /// The answer of a stage that is alike and has as many micro-batches in flight, or more.
  Answer findAlike(unsigned stage, int64_t inFlight) const;
  llvm::Error takeOver(const StageAnswer &other, StageAnswer &own) const;
  llvm::Error prove(const StageAnswer &first, StageAnswer &own) const;
  /// The strategies of \p alike, where it is there and was proven.
  llvm::Expected<Answer> proof(unsigned stage, int64_t inFlight, const Answer &first, const Answer &alike,
                               double seconds) const;

  const PlanningTask &whole;
  const CutStep &step;
  Pool worker;
  int64_t limitBytes;
  std::vector<unsigned> kinds;                          ///< by stage: the first one that is alike
  Answer pattern;                                       ///< the first one that was searched on all meshes
  std::map<std::pair<unsigned, int64_t>, Answer> known; ///< by stage and micro-batches
};

} // namespace apc
