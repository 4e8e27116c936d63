// Searches one mesh, and searches again where programs need more memory than was counted.
#include "MeshSearch.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <tuple>

namespace apc {

/// Searches of one mesh under limits and sums of memory; few where only a first answer is wanted.
static constexpr unsigned fewRounds = 5, mostRounds = 20;
/// The limit in so many parts, of which one is little.
static constexpr int64_t leastParts = 4096;

MeshSearch::MeshSearch(const PlanningTask &task, const Mesh &mesh, std::shared_ptr<const PlanningProblem> planning,
                       std::optional<TimeWeights> weights, Clock::time_point begin, unsigned numThreads)
    : task(task), mesh(mesh), weights(weights), options(task.searchOptions()) {
  options.numThreads = numThreads;
  options.clock = task.control.clock->fork();
  if (options.progress)
    options.progress = [this, begin](SearchProgress progress) {
      std::string phase = this->mesh.str() + " " + progress.phase.str();
      progress.phase = phase;
      progress.elapsedSeconds = secondsBetween(begin, Clock::now());
      this->task.control.search(progress);
    };
  addSums(startingMoment(task.graph), /*isCertain=*/true, std::move(planning));
  current = known.front().get();
}

void MeshSearch::addSums(std::optional<Moment> moment, bool isCertain,
                         std::shared_ptr<const PlanningProblem> planning) {
  auto problem = std::make_shared<Problem>(weights ? planning->weighed(*weights) : planning->problem);
  known.push_back(std::make_unique<Sums>(Sums{moment, isCertain, std::move(planning), std::move(problem)}));
}

void MeshSearch::runAtOnce() {
  run([&](const Problem &problem, SharedWork &) { return task.search.run(problem, searchOptions()); }, std::nullopt,
      mostRounds);
}

void MeshSearch::setBound() {
  answer.result.lowerBoundSeconds = answer.unlimitedBoundSeconds = trivialLowerBound(*current->problem);
}

void MeshSearch::runFirst(std::optional<double> cutoffSeconds) {
  if (isProvenWithin(cutoffSeconds)) {
    answer.result.status = SearchStatus::CutOff;
    return;
  }
  run(
      [&](const Problem &problem, SharedWork &shared) -> llvm::Expected<SearchResult> {
        llvm::Expected<InitialAnswer> found = searchFirst(problem, searchOptions(), shared);
        if (!found)
          return found.takeError();
        if (!first)
          first = *found;
        if (found->result)
          return std::move(*found->result);
        return noPlanError("no assignment was found at once");
      },
      cutoffSeconds, fewRounds);
  for (const std::unique_ptr<Sums> &sums : known)
    sums->shared.endFirstPhase();
}

/// May a second phase change anything?
bool MeshSearch::isOpen(std::optional<double> cutoffSeconds) const {
  bool isInfeasible = !first || (first->result && first->result->status == SearchStatus::Infeasible);
  bool wantsNoBound = isHopeless && !cutoffSeconds; // no mesh has anything yet
  return !isInfeasible && !wantsNoBound && !isProvenWithin(cutoffSeconds);
}

void MeshSearch::raiseBound(const SecondPhase &phase, std::optional<double> cutoffSeconds) {
  if (!isOpen(cutoffSeconds) || !first->result || isOutOfTime())
    return;
  current = known.front().get();
  setLimit(task.memoryLimitBytes);
  llvm::Expected<SearchResult> raised = phase.raise(*current->problem, options, current->shared, *first, cutoffSeconds);
  current->shared.endRaise();
  if (!raised) // the second phase says so, too
    return llvm::consumeError(raised.takeError());
  answer.result.lowerBoundSeconds = std::max(answer.result.lowerBoundSeconds, raised->lowerBoundSeconds);
  answer.unlimitedBoundSeconds = std::max(answer.unlimitedBoundSeconds, raised->unlimitedBoundSeconds);
  if (raised->hasAnswer())
    first->result = std::move(*raised);
  else
    first->result->lowerBoundSeconds = std::max(first->result->lowerBoundSeconds, raised->lowerBoundSeconds);
}

void MeshSearch::runSecond(const SecondPhase &phase, std::optional<double> cutoffSeconds,
                           std::optional<unsigned> numThreads) {
  options.numThreads = numThreads.value_or(options.numThreads);
  if (!isOpen(cutoffSeconds))
    return;
  MeshAnswer before = std::exchange(answer, {});
  bool isFirstRound = true;
  run(
      [&](const Problem &problem, SharedWork &shared) -> llvm::Expected<SearchResult> {
        llvm::Expected<InitialAnswer> start = *first;
        if (!std::exchange(isFirstRound, false))
          start = searchFirst(problem, searchOptions(), shared);
        if (!start)
          return start.takeError();
        return phase.run(problem, searchOptions(), shared, *start, cutoffSeconds);
      },
      cutoffSeconds, mostRounds);
  for (const std::unique_ptr<Sums> &sums : known)
    sums->shared.end();
  answer.note(before.leastBytes);
  answer.unlimitedBoundSeconds = std::max(answer.unlimitedBoundSeconds, before.unlimitedBoundSeconds);
  answer.result.lowerBoundSeconds = std::max(answer.result.lowerBoundSeconds, before.result.lowerBoundSeconds);
  if (before.candidate && (!answer.candidate || before.result.seconds < answer.result.seconds)) {
    before.result.lowerBoundSeconds = answer.result.lowerBoundSeconds;
    answer.result = std::move(before.result);
    answer.candidate = std::move(before.candidate);
    answer.planning = std::move(before.planning);
    answer.problem = std::move(before.problem);
    answer.unsharedSeconds = before.unsharedSeconds;
    answer.uncountedBytes = before.uncountedBytes;
    answer.isByFirstSums = before.isByFirstSums;
    answer.failure.clear();
  }
  if (isProvenWithin(cutoffSeconds))
    answer.end = SearchEnd::Finished;
}

/// Is the bound within the gap tolerance of what others have, or reached?
bool MeshSearch::isProvenWithin(std::optional<double> cutoffSeconds) const {
  bool isCutOff = cutoffSeconds && lowerBoundSeconds() >= *cutoffSeconds * (1 - options.gapTolerance);
  return isCutOff || (seconds() && lowerBoundSeconds() >= *seconds());
}

/// Searches until a program fits, the bound says that nothing is faster than \p cutoffSeconds, the limit is proven too
/// low, or no sum and no limit is left to try.
void MeshSearch::run(Run search, std::optional<double> cutoffSeconds, unsigned maxRounds) {
  current = known.front().get();
  setLimit(task.memoryLimitBytes);
  Rounds rounds{{task.memoryLimitBytes}, /*isFirst=*/maxRounds == fewRounds};
  for (unsigned round = 0; round < maxRounds; ++round) {
    if (round > 0 && !rounds.isFirst && isOutOfTime())
      return;
    if (!searchOnce(search))
      return;
    bool isProven = !answer.result.hasAnswer() && answer.result.status != SearchStatus::Unknown;
    if (isProven && isProof())
      return;
    std::optional<int64_t> needed;
    if (answer.result.hasAnswer()) {
      llvm::Expected<Candidate> candidate = costAnswer(task, mesh, *current->planning, answer.result.assignment);
      if (!candidate)
        return fail(candidate.takeError());
      needed = candidate->cost.memory.total();
      if (settles(std::move(*candidate), cutoffSeconds))
        return;
      if (turnToFitting(rounds, *needed) || turnToFullestOp(rounds, *needed))
        continue;
    }
    answer.result.status = SearchStatus::Unknown; // a proof under another limit than the user's proves nothing
    answer.result.reason = "live activations exceed the memory limit in every assignment that was tried";
    isHopeless = isHopeless || (isProven && showsThatNothingFits(rounds.limits));
    if (isHopeless)
      return;
    if (std::optional<int64_t> next = nextLimit(rounds.limits, needed))
      setLimit(*next);
    else if (!turnBack(rounds))
      return;
  }
}

/// Does the program of the last answer end the search? It fits, or nothing better is wanted.
bool MeshSearch::settles(Candidate candidate, std::optional<double> cutoffSeconds) {
  int64_t needed = candidate.cost.memory.total();
  answer.note(needed);
  if (needed <= task.memoryLimitBytes) {
    keep(std::move(candidate));
    return true;
  }
  fullest = candidate.cost.fullestOp;
  if (keepAsFast())
    return true;
  if (!isProvenWithin(cutoffSeconds))
    return false;
  answer.result.status = SearchStatus::CutOff; // others have something as fast
  return true;
}

/// Has the last search, a proof for its sums, shown that no program fits? So it is where these sums were near what the
/// last program needed, and a program that fits would have a sum below the limit of the search.
bool MeshSearch::showsThatNothingFits(const Limits &limits) const {
  constexpr int64_t nearness = 256; // the limit in parts of which one is near
  bool isNear = limits.uncounted && std::abs(*limits.uncounted) <= task.memoryLimitBytes / nearness;
  return isNear && limit() + *limits.uncounted >= task.memoryLimitBytes - task.memoryLimitBytes / leastParts;
}

/// At last the sum of all that is kept, beside each op. False where it had its turn.
bool MeshSearch::turnBack(Rounds &rounds) {
  if (std::exchange(rounds.hasTurnedBack, true))
    return false;
  rounds.turns = maxTurns;
  current = &sumsAt(std::nullopt);
  setLimit(task.memoryLimitBytes);
  rounds.limits = {task.memoryLimitBytes};
  return true;
}

/// Lower by what the last program needed too much; where that leaves no answer, between that limit and the last one
/// that gave an answer. None when the two are near each other.
std::optional<int64_t> MeshSearch::nextLimit(Limits &limits, std::optional<int64_t> needed) const {
  int64_t next = 0;
  if (needed) {
    limits.tooMuch = limit();
    limits.uncounted = *needed - answer.result.bytes;
    next = task.memoryLimitBytes - *limits.uncounted;
    // The program of the next answer is off by a little again.
    next -= std::min(*needed - task.memoryLimitBytes, task.memoryLimitBytes / leastParts);
  } else {
    limits.nothing = limit();
  }
  constexpr int64_t leastStep = 512; // the last limits lie within a 512th of each other
  if (limits.tooMuch - limits.nothing <= limits.tooMuch / leastStep)
    return std::nullopt;
  return next > limits.nothing ? next : limits.nothing + (limits.tooMuch - limits.nothing) / 2;
}

/// Of the next search. The gap of a plan is measured against the bound of a search that proves something about
/// programs. One under a lower limit, or other sums, has a higher bound: half of the tolerance is left to the
/// difference.
SearchOptions MeshSearch::searchOptions() const {
  SearchOptions own = options;
  if (!isProof())
    own.gapTolerance /= 2;
  return own;
}

/// The problem whose memory is counted at a moment; made when it is first needed.
MeshSearch::Sums &MeshSearch::sumsAt(std::optional<Moment> moment) {
  for (const std::unique_ptr<Sums> &sums : known)
    if (sums->moment == moment)
      return *sums;
  PlanningProblem planning = problemAt(task, mesh, *known.front()->planning, moment);
  options.clock->spend(buildingWork(planning) / 4); // tables of pairs are the same
  addSums(moment, moment && moment->isCertain, std::make_shared<const PlanningProblem>(std::move(planning)));
  // Bounds under certain sums and the limit of the user hold for all programs that fit.
  if (provenBy)
    known.back()->shared.trust(provenBy->shared);
  return *known.back();
}

/// The last answer's bytes as \p sums counts them.
int64_t MeshSearch::sumOf(const Sums &sums) const { return evaluate(*sums.problem, answer.result.assignment).bytes(); }

/// Do these sums come nearer to what the program of the last answer needs? Certain ones must also say that it needs too
/// much, and likely ones come much nearer. First answers take what there is: to an answer by certain sums copies that
/// wait for the backward pass are all the same, and it may seem larger than it is.
bool MeshSearch::explains(const Sums &sums, int64_t needed, bool isFirst) const {
  int64_t off = std::abs(needed - sumOf(sums)), before = std::abs(needed - answer.result.bytes);
  int64_t excess = needed - task.memoryLimitBytes;
  if (sums.isCertain)
    return off <= excess / 2;
  return isFirst && current->isCertain ? off < before : off <= before / 2;
}

/// From the certain sums to where first answers found a program that fits. True if so.
bool MeshSearch::turnToFitting(Rounds &rounds, int64_t needed) {
  if (!fitting || current != known.front().get() || fitting->sums == current)
    return false;
  current = fitting->sums;
  setLimit(fitting->limitBytes);
  fitting.reset();
  ++rounds.turns;
  rounds.limits = {limit() + needed - task.memoryLimitBytes};
  return true;
}

/// Goes on with the sums at the fullest op of a program, if they explain what it needs. True if so. Likely sums begin
/// with a limit at which they would have allowed for this program's bytes what the user does.
bool MeshSearch::turnToFullestOp(Rounds &rounds, int64_t needed) {
  for (bool isCertain : {true, false}) {
    bool mayProve = isCertain && !(rounds.isFirst && task.graph.overlaps);
    if (rounds.turns == maxTurns || (isCertain && !(current->isCertain && mayProve)))
      continue;
    Sums &next = sumsAt(Moment{fullest, isCertain});
    if (&next == current || !explains(next, needed, rounds.isFirst))
      continue;
    int64_t offset = isCertain ? 0 : sumOf(next) - needed;
    ++rounds.turns;
    current = &next;
    setLimit(task.memoryLimitBytes + offset);
    rounds.limits = {limit() + needed - task.memoryLimitBytes};
    return true;
  }
  return false;
}

/// One search under the limit of the problem. Bounds of certain sums under the user's limit stay. False when the search
/// failed.
bool MeshSearch::searchOnce(Run search) {
  bool isFirst = current == known.front().get() && limit() == task.memoryLimitBytes;
  bool isBound = isProof();
  const Stopwatch watch(*options.clock);
  llvm::Expected<SearchResult> result = search(*current->problem, current->shared);
  const double seconds = watch.seconds();
  answer.end = result ? endOf(*result, options, seconds) : endWithout(options, seconds);
  if (!result) {
    fail(result.takeError());
    bool goesOn = !isFirst && answer.fault == Fault::NoPlan; // nothing was found below the user's limit
    if (goesOn) {
      answer.failure.clear();
      answer.result.status = SearchStatus::Unknown;
      answer.result.assignment = {};
    }
    return goesOn;
  }
  double bound = answer.result.lowerBoundSeconds;
  if (isBound) {
    provenBy = current;
    bound = std::max(bound, result->lowerBoundSeconds);
  }
  answer.unlimitedBoundSeconds = std::max(answer.unlimitedBoundSeconds, result->unlimitedBoundSeconds);
  answer.result = std::move(*result);
  answer.result.lowerBoundSeconds = bound;
  return true;
}

/// A program that fits. The search may have left a better hub aside, and has taken every bucket for the fullest.
void MeshSearch::keep(Candidate candidate) {
  double sum = weights ? evaluate(current->planning->problem, answer.result.assignment).seconds : answer.result.seconds;
  answer.unsharedSeconds = candidate.cost.seconds() - sum;
  if (!weights)
    answer.result.seconds = candidate.cost.seconds();
  answer.candidate = std::move(candidate);
  answer.planning = current->planning;
  answer.problem = current->problem;
  answer.isByFirstSums = current == known.front().get() && limit() == task.memoryLimitBytes;
  answer.uncountedBytes = current->isCertain ? task.memoryLimitBytes - limit() : 0;
  fitting = Fitting{current, limit()};
}

/// Keeps an answer as fast as the last one, with fewer bytes, where its program fits. True if so.
bool MeshSearch::keepAsFast() {
  Assignment fewest = withLeastBytes(*current->problem, answer.result.assignment);
  if (fewest == answer.result.assignment)
    return false;
  llvm::Expected<Candidate> other = costAnswer(task, mesh, *current->planning, fewest);
  if (!other) {
    fail(other.takeError());
    return true;
  }
  if (other->cost.memory.total() > task.memoryLimitBytes)
    return false;
  answer.result.assignment = std::move(fewest);
  keep(std::move(*other));
  return true;
}

void MeshSearch::fail(llvm::Error error) { std::tie(answer.fault, answer.failure) = takeMessage(std::move(error)); }

} // namespace apc
