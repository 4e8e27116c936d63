// Searches every logical mesh, side by side, and keeps the best answer and the bound over all.
#include "Meshes.h"

#include "MeshSearch.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Support/Error.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <cmath>
#include <memory>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

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
  Assignment fewest = withLeastBytes(answer.problem->problem, answer.result.assignment);
  if (fewest == answer.result.assignment)
    return llvm::Error::success();
  llvm::Expected<Candidate> other = costAnswer(task, answer.candidate->mesh, *answer.problem, fewest);
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
  choice.lowerBoundSeconds = bound.value_or(0);
  if (!*best)
    return choice;
  choice.best = std::move((*best)->candidate);
  choice.problem = std::move(*(*best)->problem);
  choice.notes = std::move((*best)->result.notes);
  choice.uncountedBytes = (*best)->uncountedBytes;
  choice.isByFirstSums = (*best)->isByFirstSums;
  choice.unsharedSeconds = (*best)->unsharedSeconds;
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

/// One choice over all meshes.
static llvm::Expected<MeshChoice> chooseOnce(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> suitable =
      task.pins.suitableMeshes(task.graph, static_cast<unsigned>(task.request.meshAxes));
  if (!suitable)
    return suitable.takeError();
  llvm::ArrayRef<Mesh> meshes = *suitable;
  unsigned numThreads = task.control.numThreads;
  std::optional<SecondPhase> phase = secondPhaseOf(task.search);
  Clock::time_point begin = Clock::now();
  std::vector<std::unique_ptr<MeshSearch>> searches = buildSearches(task, meshes, begin);
  double problemSeconds = secondsBetween(begin, Clock::now());
  Clock::time_point built = Clock::now();
  if (phase)
    searchInPhases(searches, *phase, numThreads, task.knownSeconds);
  else
    forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->runAtOnce(); });
  double searchSeconds = secondsBetween(built, Clock::now());
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

/// The same task with parameters that rest as they are used, where others were allowed and something is trained.
static std::optional<PlanRequest> withoutGathering(const PlanningTask &task) {
  constexpr int64_t gathering = 3; // the first stage of ZeRO that gathers parameters
  bool mayGather = zeroStage(task.request.zero).value_or(gathering) >= gathering;
  bool isTrained = llvm::any_of(task.graph.values, [](const GraphValue &value) { return value.replaces.has_value(); });
  if (!mayGather || !isTrained || task.request.mode != StepMode::Train)
    return std::nullopt;
  PlanRequest request = task.request;
  request.zero = ZeroChoice::Stage2;
  return request;
}

/// The sums of a large space count the memory of copies by guess; a space without them may hold what they hide.
llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task) {
  llvm::Expected<MeshChoice> choice = chooseOnce(task);
  if (!choice || choice->isByFirstSums || task.isOutOfTime(PlanningTask::Part::Search))
    return choice;
  std::optional<PlanRequest> request = withoutGathering(task);
  if (!request)
    return choice;
  PlanningTask smaller{task.graph, *request, task.pool, task.memoryLimitBytes, task.search, task.pins, task.control};
  smaller.begin = task.begin;
  smaller.fusion = task.fusion;
  smaller.knownSeconds = task.knownSeconds;
  if (choice->best)
    smaller.knownSeconds = std::min(choice->best->cost.seconds(), smaller.knownSeconds.value_or(HUGE_VAL));
  llvm::Expected<MeshChoice> other = chooseOnce(smaller);
  if (!other)
    return other.takeError();
  if (!other->best || (choice->best && !isBetter(rankOf(task, *other->best), rankOf(task, *choice->best))))
    return choice;
  // The bound of the larger space stays.
  other->lowerBoundSeconds = std::min(choice->lowerBoundSeconds, other->best->cost.seconds());
  other->status = SearchStatus::Feasible;
  other->problemSeconds += choice->problemSeconds;
  other->searchSeconds += choice->searchSeconds;
  return other;
}

} // namespace apc
