// Searches every logical mesh, side by side, and keeps the best answer and the bound over all.
#include "Meshes.h"

#include "apc/Search/SearchEnd.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Search/Phases.h"
#include "apc/Support/Error.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <memory>
#include <tuple>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The answer of one mesh.
struct MeshAnswer {
  std::optional<Candidate> candidate;
  PlanningProblem problem;
  SearchResult result;
  std::string failure; ///< an error of the search or of the cost
  Fault fault = Fault::Internal;
  SearchEnd end = SearchEnd::Finished; ///< of the last search
  std::optional<int64_t> leastBytes;   ///< of the programs that were costed
  double unsharedSeconds = 0;          ///< of the program, beside the search's sum

  void note(std::optional<int64_t> bytes) {
    if (bytes)
      leastBytes = std::min(leastBytes.value_or(*bytes), *bytes);
  }
};

/// One way to search a problem.
using Run = llvm::function_ref<llvm::Expected<SearchResult>(const Problem &)>;

/// Everything about one mesh that is being searched.
class MeshSearch {
public:
  /// Progress is told with the name of the mesh and the seconds since \p begin.
  MeshSearch(const PlanningTask &task, const Mesh &mesh, Clock::time_point begin)
      : task(task), mesh(mesh), options(task.searchOptions()) {
    options.numThreads = 1;
    if (options.progress)
      options.progress = [this, begin](SearchProgress progress) {
        std::string phase = this->mesh.str() + " " + progress.phase.str();
        progress.phase = phase;
        progress.elapsedSeconds = secondsSince(begin);
        this->task.control.search(progress);
      };
    planning = problemOf(task, mesh);
  }

  void runAtOnce() {
    run([&](const Problem &problem) { return task.search.run(problem, options); });
  }

  /// A bound that takes no search.
  void setBound() { answer.result.lowerBoundSeconds = trivialLowerBound(planning.problem); }

  /// An answer at once, as good as it comes, unless the bound says that this mesh has nothing faster than \p
  /// cutoffSeconds.
  void runFirst(std::optional<double> cutoffSeconds) {
    if (isProvenWithin(cutoffSeconds)) {
      answer.result.status = SearchStatus::CutOff;
      return;
    }
    run([&](const Problem &problem) -> llvm::Expected<SearchResult> {
      llvm::Expected<InitialAnswer> found = searchFirst(problem, options, shared);
      if (!found)
        return found.takeError();
      if (!first)
        first = *found;
      if (found->result)
        return std::move(*found->result);
      return noPlanError("no assignment was found at once");
    });
  }

  /// The rest of the work, unless the bound says that this mesh has nothing faster than \p cutoffSeconds, or too little
  /// to look for.
  void runSecond(const SecondPhase &phase, std::optional<double> cutoffSeconds, unsigned numThreads = 1) {
    options.numThreads = numThreads;
    bool isHopeless = !first || (first->result && first->result->status == SearchStatus::Infeasible);
    if (isHopeless || isProvenWithin(cutoffSeconds))
      return;
    MeshAnswer before = std::exchange(answer, {});
    bool isFirstRound = true;
    run([&](const Problem &problem) -> llvm::Expected<SearchResult> {
      llvm::Expected<InitialAnswer> start = *first;
      if (!std::exchange(isFirstRound, false))
        start = searchFirst(problem, options, shared);
      if (!start)
        return start.takeError();
      return phase.run(problem, options, shared, *start, cutoffSeconds);
    });
    answer.note(before.leastBytes);
    answer.result.lowerBoundSeconds = std::max(answer.result.lowerBoundSeconds, before.result.lowerBoundSeconds);
    if (before.candidate && (!answer.candidate || before.result.seconds < answer.result.seconds)) {
      before.result.lowerBoundSeconds = answer.result.lowerBoundSeconds;
      answer.result = std::move(before.result);
      answer.unsharedSeconds = before.unsharedSeconds;
      answer.candidate = std::move(before.candidate);
      answer.failure.clear();
    }
    if (isProvenWithin(cutoffSeconds))
      answer.end = SearchEnd::Finished;
  }

  /// Of an answer that fits.
  std::optional<double> seconds() const {
    return answer.candidate ? std::optional(answer.result.seconds) : std::nullopt;
  }
  double lowerBoundSeconds() const { return answer.failure.empty() ? answer.result.lowerBoundSeconds : 0; }

  MeshAnswer take() {
    answer.problem = std::move(planning);
    return std::move(answer);
  }

private:
  /// Is the bound within the gap tolerance of what others have, or reached?
  bool isProvenWithin(std::optional<double> cutoffSeconds) const {
    bool isCutOff = cutoffSeconds && lowerBoundSeconds() >= *cutoffSeconds * (1 - options.gapTolerance);
    return isCutOff || (seconds() && lowerBoundSeconds() >= *seconds());
  }

  /// Searches. The search's memory is a sum per op; the program's is by liveness. Where the program needs more than the
  /// limit, the search's limit is lowered by what is too much and the search run again; where that leaves no answer,
  /// the next limit lies between the two.
  void run(Run search) {
    planning.problem.memoryLimitBytes = task.memoryLimitBytes;
    int64_t tooMuch = task.memoryLimitBytes; ///< limits from here on give programs that need too much
    int64_t nothing = 0;                     ///< limits up to here give no answer
    constexpr unsigned maxRounds = 10;
    for (unsigned round = 0; round < maxRounds; ++round) {
      if (!searchOnce(search, /*isFirst=*/round == 0))
        return;
      int64_t limit = *planning.problem.memoryLimitBytes, next = 0;
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
      *planning.problem.memoryLimitBytes = next > nothing ? next : nothing + (tooMuch - nothing) / 2;
    }
  }

  /// One search under the limit of the problem. The bound of the first, under the user's limit, stays. False when the
  /// search failed.
  bool searchOnce(Run search, bool isFirst) {
    Clock::time_point begin = Clock::now();
    llvm::Expected<SearchResult> result = search(planning.problem);
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

  /// A program that fits. The search may have left a better hub aside, and has taken every bucket for a full one.
  void keep(Candidate candidate) {
    answer.unsharedSeconds = candidate.cost.seconds() - answer.result.seconds;
    answer.result.seconds = candidate.cost.seconds();
    answer.candidate = std::move(candidate);
  }

  void fail(llvm::Error error) { std::tie(answer.fault, answer.failure) = takeMessage(std::move(error)); }

  const PlanningTask &task;
  const Mesh &mesh;
  SearchOptions options;
  PlanningProblem planning;
  SharedWork shared;
  MeshAnswer answer;
  std::optional<InitialAnswer> first; ///< under the limit that the user gave
};

/// The fastest answer that fits, over all meshes, or \p known where nothing is faster.
std::optional<double> fastest(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches,
                              std::optional<double> known = std::nullopt) {
  std::optional<double> seconds = known;
  for (const std::unique_ptr<MeshSearch> &search : searches)
    if (std::optional<double> own = search->seconds(); own && (!seconds || *own < *seconds))
      seconds = own;
  return seconds;
}

/// An answer for each mesh: first for those with a trivial bound near the least, then for those that may still hold
/// something faster. Meshes of thousands of devices on one axis, which no factor can use, go that way.
void searchFirstOnAll(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches, unsigned numThreads) {
  forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->setBound(); });
  double least = searches.front()->lowerBoundSeconds();
  for (const std::unique_ptr<MeshSearch> &search : searches)
    least = std::min(least, search->lowerBoundSeconds());
  constexpr double nearness = 1.25;
  std::vector<MeshSearch *> promising, others;
  for (const std::unique_ptr<MeshSearch> &search : searches)
    (search->lowerBoundSeconds() <= nearness * least ? promising : others).push_back(search.get());
  forEach(promising.size(), numThreads, [&](size_t index) { promising[index]->runFirst(std::nullopt); });
  std::optional<double> cutoff = fastest(searches);
  forEach(others.size(), numThreads, [&](size_t index) { others[index]->runFirst(cutoff); });
}

/// Two phases: an answer for each mesh; then the mesh with the fastest, before the others or, when that is quick, side
/// by side with them; against what it has, all that may still hold something faster. Which mesh is cut off by what does
/// not depend on threads. \p known: a plan that takes so long is at hand.
void searchInPhases(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches, const SecondPhase &phase, unsigned numThreads,
                    std::optional<double> known) {
  searchFirstOnAll(searches, numThreads);
  size_t best = 0;
  for (size_t index = 1; index < searches.size(); ++index)
    if (std::optional<double> seconds = searches[index]->seconds();
        seconds && (!searches[best]->seconds() || *seconds < *searches[best]->seconds()))
      best = index;
  std::optional<double> cutoff = fastest(searches, known);
  if (!phase.isCheap) {
    searches[best]->runSecond(phase, known, numThreads);
    cutoff = fastest(searches, known);
  }
  forEach(searches.size(), numThreads, [&](size_t index) {
    if (index != best || phase.isCheap)
      searches[index]->runSecond(phase, index == best ? known : cutoff);
  });
}

} // namespace

/// The answer of a mesh, or one as fast of a lower rank. Sums over ops are no measure of what lives at a time, so the
/// program's memory decides.
static llvm::Error settleTies(const PlanningTask &task, MeshAnswer &answer) {
  Assignment fewest = withLeastBytes(answer.problem.problem, answer.result.assignment);
  if (fewest == answer.result.assignment)
    return llvm::Error::success();
  llvm::Expected<Candidate> other = costAnswer(task, answer.candidate->mesh, answer.problem, fewest);
  if (!other)
    return other.takeError();
  bool fits = other->cost.memory.total() <= task.memoryLimitBytes;
  if (fits && isBetter(rankOf(task, *other), rankOf(task, *answer.candidate)))
    answer.candidate = std::move(*other);
  return llvm::Error::success();
}

/// The best of all answers; null where there is none. Answers that tie for the fastest are settled before they are
/// compared, as long as there is time.
static llvm::Expected<MeshAnswer *> bestAnswer(const PlanningTask &task, llvm::MutableArrayRef<MeshAnswer> answers) {
  std::vector<MeshAnswer *> found;
  for (MeshAnswer &answer : answers)
    if (answer.candidate)
      found.push_back(&answer);
  if (found.empty())
    return nullptr;
  auto secondsOf = [](const MeshAnswer *answer) { return answer->candidate->cost.seconds(); };
  double least = secondsOf(found.front());
  for (const MeshAnswer *answer : found)
    least = std::min(least, secondsOf(answer));
  llvm::erase_if(found, [&](const MeshAnswer *answer) { return !areEqualSeconds(secondsOf(answer), least); });
  std::vector<PlanRank> ranks;
  for (MeshAnswer *answer : found) {
    if (!task.isOutOfTime(PlanningTask::Part::References))
      if (llvm::Error error = settleTies(task, *answer))
        return error;
    ranks.push_back(rankOf(task, *answer->candidate));
  }
  return found[bestOf(ranks)];
}

/// The best of all answers, and the bound over all.
static llvm::Expected<MeshChoice> choose(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes,
                                         std::vector<MeshAnswer> answers) {
  MeshChoice choice;
  std::optional<double> bound;
  bool allSearched = true;
  for (auto [mesh, answer] : llvm::zip_equal(meshes, answers)) {
    if (answer.leastBytes)
      choice.leastBytes = std::min(choice.leastBytes.value_or(*answer.leastBytes), *answer.leastBytes);
    if (!answer.failure.empty() && answer.fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(answer.fault,
                                            llvm::formatv("search on mesh {0}: {1}", mesh.str(), answer.failure).str());
    if (!answer.failure.empty()) {
      // Out of time with nothing in hand and nothing proven: other meshes and the baselines may still give a plan.
      choice.reason = answer.failure;
      answer.candidate.reset();
      allSearched = false;
      bound = 0;
      continue;
    }
    if (answer.result.status != SearchStatus::Infeasible)
      bound = std::min(bound.value_or(answer.result.lowerBoundSeconds), answer.result.lowerBoundSeconds);
    if (!answer.candidate)
      choice.reason = answer.result.reason;
  }
  llvm::Expected<MeshAnswer *> best = bestAnswer(task, answers);
  if (!best)
    return best.takeError();
  if (!*best)
    return choice;
  choice.best = std::move((*best)->candidate);
  choice.problem = std::move((*best)->problem);
  choice.notes = std::move((*best)->result.notes);
  choice.uncountedBytes = task.memoryLimitBytes - *choice.problem.problem.memoryLimitBytes;
  choice.unsharedSeconds = (*best)->unsharedSeconds;
  choice.lowerBoundSeconds = *bound;
  bool isOptimal = allSearched && *bound >= choice.best->cost.seconds() * (1 - sumRounding);
  choice.status = isOptimal ? SearchStatus::Optimal : SearchStatus::Feasible;
  return choice;
}

llvm::Expected<double> leastSeconds(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> meshes =
      task.pins.suitableMeshes(task.graph, static_cast<unsigned>(task.request.meshAxes));
  if (!meshes)
    return meshes.takeError();
  std::vector<double> seconds(meshes->size());
  forEach(meshes->size(), task.control.numThreads,
          [&](size_t index) { seconds[index] = trivialLowerBound(problemOf(task, (*meshes)[index]).problem); });
  return *llvm::min_element(seconds);
}

/// One search for each mesh; after the time limit of the task for the first meshes only, at least for one.
static std::vector<std::unique_ptr<MeshSearch>> buildSearches(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes,
                                                              Clock::time_point begin) {
  std::vector<std::unique_ptr<MeshSearch>> searches(meshes.size());
  forEach(meshes.size(), task.control.numThreads, [&](size_t index) {
    if (index == 0 || !task.isOutOfTime(PlanningTask::Part::Search))
      searches[index] = std::make_unique<MeshSearch>(task, meshes[index], begin);
  });
  searches.erase(llvm::find(searches, nullptr), searches.end());
  return searches;
}

llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> suitable =
      task.pins.suitableMeshes(task.graph, static_cast<unsigned>(task.request.meshAxes));
  if (!suitable)
    return suitable.takeError();
  llvm::ArrayRef<Mesh> meshes = *suitable;
  unsigned numThreads = task.control.numThreads;
  std::optional<SecondPhase> phase = secondPhaseOf(task.search);
  Clock::time_point begin = Clock::now();
  std::vector<std::unique_ptr<MeshSearch>> searches = buildSearches(task, meshes, begin);
  double problemSeconds = secondsSince(begin);
  Clock::time_point built = Clock::now();
  if (phase)
    searchInPhases(searches, *phase, numThreads, task.knownSeconds);
  else
    forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->runAtOnce(); });
  double searchSeconds = secondsSince(built);
  std::vector<MeshAnswer> answers;
  for (std::unique_ptr<MeshSearch> &search : searches)
    answers.push_back(search->take());
  for (size_t left = searches.size(); left < meshes.size(); ++left) {
    answers.emplace_back().failure = "the time limit was over before its problem was built";
    answers.back().fault = Fault::NoPlan;
    answers.back().end = SearchEnd::TimeLimit;
  }
  std::vector<SearchEnd> ends;
  llvm::transform(answers, std::back_inserter(ends), [](const MeshAnswer &answer) { return answer.end; });
  llvm::Expected<MeshChoice> choice = choose(task, meshes, std::move(answers));
  if (!choice)
    return choice.takeError();
  llvm::append_range(choice->notes, timeLimitNotes(ends, task.searchOptions()));
  choice->problemSeconds = problemSeconds;
  choice->searchSeconds = searchSeconds;
  return choice;
}

} // namespace apc
