// The search of one mesh under one weighting of seconds: answers to its problem, and the programs that they stand for.
#pragma once

#include "../Task.h"

#include "apc/Search/Phases.h"
#include "apc/Search/SearchEnd.h"

#include <memory>

namespace apc {

inline double secondsBetween(std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// The answer of one mesh.
struct MeshAnswer {
  std::optional<Candidate> candidate;
  std::shared_ptr<const PlanningProblem> planning; ///< of `result`
  std::shared_ptr<const Problem> problem;          ///< of `planning`, as it was searched
  SearchResult result;
  double unsharedSeconds = 0;       ///< of the program's sum, beside that of the problem
  double unlimitedBoundSeconds = 0; ///< no program takes less, whatever bytes it takes
  int64_t uncountedBytes = 0;       ///< by which the search kept below the limit of memory
  bool isByFirstSums = false;       ///< found under the sums of the first search and the limit that the user gave
  std::string failure;              ///< an error of the search or of the cost
  Fault fault = Fault::Internal;
  SearchEnd end = SearchEnd::Finished; ///< of the last search
  std::optional<int64_t> leastBytes;   ///< of the programs that were costed

  void note(std::optional<int64_t> bytes) {
    if (bytes)
      leastBytes = std::min(leastBytes.value_or(*bytes), *bytes);
  }
};

/// Everything about one mesh that is being searched.
///
/// The problem's memory is a sum over nodes, the program's is by liveness. The first sum is certain: no program needs
/// less, so that bounds and proofs hold. Where the program of an answer needs more than the limit, the sum at its
/// fullest op takes the place of the one before if it accounts for that: the certain sum, whose bound counts as well;
/// then the likely one, by which answers are sought. Bytes that no sum accounts for lower the limit of the search.
/// Where likely sums agree with what programs need, and have no answer below the limit, no other limit is tried.
class MeshSearch {
public:
  using Clock = std::chrono::steady_clock;

  /// \p numThreads never changes an answer. Without \p weights the search minimises the sum of all seconds. \p planning
  /// is the problem of the starting moment. Progress is told with the name of the mesh and the seconds since \p begin.
  MeshSearch(const PlanningTask &task, const Mesh &mesh, std::shared_ptr<const PlanningProblem> planning,
             std::optional<TimeWeights> weights, Clock::time_point begin, unsigned numThreads);

  void runAtOnce();
  /// A bound that takes no search.
  void setBound();
  /// An answer at once, as good as it comes, unless the bound says that this mesh has nothing faster than \p
  /// cutoffSeconds.
  void runFirst(std::optional<double> cutoffSeconds);
  /// The part of the rest that mostly raises the bound, if the phase has one; unless the bound says that this mesh has
  /// nothing faster than \p cutoffSeconds.
  void raiseBound(const SecondPhase &phase, std::optional<double> cutoffSeconds);
  /// The rest of the work, unless the bound says that this mesh has nothing faster than \p cutoffSeconds, or too little
  /// to look for.
  void runSecond(const SecondPhase &phase, std::optional<double> cutoffSeconds,
                 std::optional<unsigned> numThreads = {});

  /// Of an answer that fits, weighed.
  std::optional<double> seconds() const {
    return answer.candidate ? std::optional(answer.result.seconds) : std::nullopt;
  }
  bool isByFirstSums() const { return answer.candidate && answer.isByFirstSums; }
  /// The clock of the task counts what this search has counted. Searches run side by side until then.
  void settleTime() { task.control.clock->join(*options.clock); }
  double lowerBoundSeconds() const { return answer.failure.empty() ? answer.result.lowerBoundSeconds : 0; }

  MeshAnswer take() { return std::move(answer); }

private:
  /// A problem with one way to count memory, and what searches of it share.
  struct Sums {
    std::optional<Moment> moment; ///< none: each op beside what is held
    bool isCertain = true;
    std::shared_ptr<const PlanningProblem> planning;
    std::shared_ptr<Problem> problem; ///< weighed, under the limit of the next search
    SharedWork shared = {};
  };

  bool isOutOfTime() const { return options.clock->seconds() >= task.end(PlanningTask::Part::Search); }

  static constexpr unsigned maxTurns = 4; ///< to other sums in one run

  /// The limits between which the last searches of the same sums lie.
  struct Limits {
    int64_t tooMuch;                       ///< limits from here on give programs that need too much
    int64_t nothing = 0;                   ///< limits up to here give no answer
    std::optional<int64_t> uncounted = {}; ///< bytes of the last program beside its sum; negative where that is more
  };

  /// The state of one run.
  struct Rounds {
    Limits limits;
    bool isFirst;       ///< first answers are sought, which prove nothing
    unsigned turns = 0; ///< to other sums
    bool hasTurnedBack = false;
  };

  /// Sums and the limit of a search whose answer stands for a program that fits.
  struct Fitting {
    Sums *sums;
    int64_t limitBytes;
  };

  /// One way to search a problem.
  using Run = llvm::function_ref<llvm::Expected<SearchResult>(const Problem &, SharedWork &)>;

  bool isProvenWithin(std::optional<double> cutoffSeconds) const;
  bool isOpen(std::optional<double> cutoffSeconds) const;
  void addSums(std::optional<Moment> moment, bool isCertain, std::shared_ptr<const PlanningProblem> planning);
  void run(Run search, std::optional<double> cutoffSeconds, unsigned maxRounds);
  bool settles(Candidate candidate, std::optional<double> cutoffSeconds);
  bool searchOnce(Run search);
  SearchOptions searchOptions() const;
  Sums &sumsAt(std::optional<Moment> moment);
  bool explains(const Sums &sums, int64_t needed, bool isFirst) const;
  bool turnToFitting(Rounds &rounds, int64_t needed);
  bool turnToFullestOp(Rounds &rounds, int64_t needed);
  bool turnBack(Rounds &rounds);
  std::optional<int64_t> nextLimit(Limits &limits, std::optional<int64_t> needed) const;
  bool showsThatNothingFits(const Limits &limits) const;
  int64_t sumOf(const Sums &sums) const;
  /// Does the next search prove something about programs? Its sums are certain, its limit is the user's.
  bool isProof() const { return current->isCertain && limit() == task.memoryLimitBytes; }
  int64_t limit() const { return *current->problem->memoryLimitBytes; }
  void setLimit(int64_t bytes) { current->problem->memoryLimitBytes = bytes; }
  void keep(Candidate candidate);
  bool keepAsFast();
  void fail(llvm::Error error);

  const PlanningTask &task;
  const Mesh &mesh;
  std::optional<TimeWeights> weights;
  SearchOptions options;                    ///< with a clock of its own
  std::vector<std::unique_ptr<Sums>> known; ///< the first is that of the first search
  Sums *current;
  const Sums *provenBy = nullptr; ///< of the last search that proved something about programs
  MeshAnswer answer;
  std::optional<InitialAnswer> first; ///< to the first problem, under the limit that the user gave
  OpId fullest{0};                    ///< of the last program that did not fit
  std::optional<Fitting> fitting;     ///< of the first answers
  bool isHopeless = false;            ///< the first answers show that no program fits
};

} // namespace apc
