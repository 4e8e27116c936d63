// The search of one mesh: as often as the program needs more memory than the search counted.
#include "MeshSearch.h"

#include "apc/Search/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

MeshSearch::MeshSearch(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning,
                       std::optional<TimeWeights> weights, Clock::time_point begin)
    : task(task), mesh(mesh), planning(planning), isSum(!weights), options(task.searchOptions()),
      problem(weights ? planning.weighed(*weights) : planning.problem) {
  options.numThreads = 1;
  constexpr double nearness = 0.005; // a bound by weights is mostly further from the time of a step
  if (weights)
    options.gapTolerance = std::max(options.gapTolerance, nearness);
  if (options.progress)
    options.progress = [this, begin](SearchProgress progress) {
      std::string phase = this->mesh.str() + " " + progress.phase.str();
      progress.phase = phase;
      progress.elapsedSeconds = secondsSince(begin);
      this->task.control.search(progress);
    };
}

void MeshSearch::runAtOnce() {
  run([&](const Problem &own) { return task.search.run(own, options); });
}

void MeshSearch::setBound() { answer.result.lowerBoundSeconds = trivialLowerBound(problem); }

void MeshSearch::runFirst(std::optional<double> cutoffSeconds) {
  if (isProvenWithin(cutoffSeconds)) {
    answer.result.status = SearchStatus::CutOff;
    return;
  }
  run([&](const Problem &own) -> llvm::Expected<SearchResult> {
    llvm::Expected<InitialAnswer> found = searchFirst(own, options, shared);
    if (!found)
      return found.takeError();
    if (!first)
      first = *found;
    if (found->result)
      return std::move(*found->result);
    return noPlanError("no assignment was found at once");
  });
}

void MeshSearch::runSecond(const SecondPhase &phase, std::optional<double> cutoffSeconds, unsigned numThreads) {
  options.numThreads = numThreads;
  bool isHopeless = !first || (first->result && first->result->status == SearchStatus::Infeasible);
  if (isHopeless || isProvenWithin(cutoffSeconds))
    return;
  MeshAnswer before = std::exchange(answer, {});
  bool isFirstRound = true;
  run([&](const Problem &own) -> llvm::Expected<SearchResult> {
    llvm::Expected<InitialAnswer> start = *first;
    bool isAgain = !std::exchange(isFirstRound, false);
    if (isAgain)
      start = searchFirst(own, options, shared);
    if (!start)
      return start.takeError();
    // Weights are for the bound, which is that of the first round: others only look for an answer.
    if (isAgain && !isSum && start->result)
      return std::move(*start->result);
    return phase.run(own, options, shared, *start, cutoffSeconds);
  });
  answer.note(before.leastBytes);
  answer.result.lowerBoundSeconds = std::max(answer.result.lowerBoundSeconds, before.result.lowerBoundSeconds);
  if (before.candidate && (!answer.candidate || before.result.seconds < answer.result.seconds)) {
    before.result.lowerBoundSeconds = answer.result.lowerBoundSeconds;
    answer.result = std::move(before.result);
    answer.candidate = std::move(before.candidate);
    answer.failure.clear();
  }
  if (isProvenWithin(cutoffSeconds))
    answer.end = SearchEnd::Finished;
}

MeshAnswer MeshSearch::take() {
  answer.problem = std::move(problem);
  return std::move(answer);
}

/// Is the bound within the gap tolerance of what others have, or reached?
bool MeshSearch::isProvenWithin(std::optional<double> cutoffSeconds) const {
  bool isCutOff = cutoffSeconds && lowerBoundSeconds() >= *cutoffSeconds * (1 - options.gapTolerance);
  return isCutOff || (seconds() && lowerBoundSeconds() >= *seconds());
}

/// Searches. The search's memory is a sum per op; the program's is by liveness. Where the program needs more than the
/// limit, the search's limit is lowered by what is too much and the search run again; where that leaves no answer,
/// the next limit lies between the two.
void MeshSearch::run(Run search) {
  problem.memoryLimitBytes = task.memoryLimitBytes;
  int64_t tooMuch = task.memoryLimitBytes; ///< limits from here on give programs that need too much
  int64_t nothing = 0;                     ///< limits up to here give no answer
  constexpr unsigned maxRounds = 10;
  for (unsigned round = 0; round < maxRounds; ++round) {
    if (!searchOnce(search, /*isFirst=*/round == 0))
      return;
    int64_t limit = *problem.memoryLimitBytes, next = 0;
    if (answer.result.hasAnswer()) {
      llvm::Expected<Candidate> candidate = costAnswer(task, mesh, planning, answer.result.assignment);
      if (!candidate)
        return fail(candidate.takeError());
      answer.note(candidate->cost.memory.total());
      int64_t excess = candidate->cost.memory.total() - task.memoryLimitBytes;
      if (excess <= 0)
        return keep(std::move(*candidate));
      tooMuch = limit;
      next = answer.result.bytes - excess;
    } else if (round == 0) {
      return;
    } else {
      nothing = limit;
    }
    answer.result.status = SearchStatus::Unknown; // a proof under a lower limit than the user's proves nothing
    answer.result.reason = "live activations exceed the memory limit in every assignment that was tried";
    constexpr int64_t leastStep = 512; // the last limits lie within a 512th of each other
    if (tooMuch - nothing <= tooMuch / leastStep)
      return;
    *problem.memoryLimitBytes = next > nothing ? next : nothing + (tooMuch - nothing) / 2;
  }
}

/// One search under the limit of the problem. The bound of the first, under the user's limit, stays. False when the
/// search failed.
bool MeshSearch::searchOnce(Run search, bool isFirst) {
  Clock::time_point begin = Clock::now();
  llvm::Expected<SearchResult> result = search(problem);
  double seconds = secondsSince(begin);
  answer.end = result ? endOf(*result, options, seconds) : endWithout(options, seconds);
  if (!result) {
    fail(result.takeError());
    bool goesOn = !isFirst && answer.fault == Fault::NoPlan; // nothing was found below the user's limit
    if (goesOn) {
      answer.failure.clear();
      answer.result.status = SearchStatus::Unknown;
    }
    return goesOn;
  }
  double bound = isFirst ? result->lowerBoundSeconds : answer.result.lowerBoundSeconds;
  answer.result = std::move(*result);
  answer.result.lowerBoundSeconds = bound;
  return true;
}

/// A program that fits. The search may have left a better hub aside.
void MeshSearch::keep(Candidate candidate) {
  if (isSum)
    answer.result.seconds = std::min(answer.result.seconds, candidate.cost.seconds());
  answer.candidate = std::move(candidate);
}

} // namespace apc
