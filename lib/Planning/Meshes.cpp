// Searches every logical mesh, side by side, and keeps the best answer and the bound over all.
#include "Meshes.h"

#include "MeshSearch.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <memory>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The weightings of seconds that bound every program; the sum of them where nothing is hidden.
std::vector<TimeWeights> weightsFor(const PlanningTask &task, const Mesh &mesh) {
  if (!task.graph.isTrainingStep())
    return {TimeWeights()};
  return boundingWeights(overlapRates(task.pool.device), numStreams(mesh));
}

/// Seconds that no program on the mesh takes less than, without a search.
double leastSecondsOf(const PlanningTask &task, const PlanningProblem &planning, const Mesh &mesh) {
  if (!task.graph.isTrainingStep())
    return trivialLowerBound(planning.problem);
  double most = 0;
  for (const TimeWeights &weights : weightsFor(task, mesh))
    most = std::max(most, trivialLowerBound(planning.weighed(weights)));
  return most;
}

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
void searchFirstOnAll(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches, unsigned numThreads,
                      std::optional<double> known) {
  forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->setBound(); });
  double least = searches.front()->lowerBoundSeconds();
  for (const std::unique_ptr<MeshSearch> &search : searches)
    least = std::min(least, search->lowerBoundSeconds());
  constexpr double nearness = 1.25;
  std::vector<MeshSearch *> promising, others;
  for (const std::unique_ptr<MeshSearch> &search : searches)
    (search->lowerBoundSeconds() <= nearness * least ? promising : others).push_back(search.get());
  forEach(promising.size(), numThreads, [&](size_t index) { promising[index]->runFirst(known); });
  std::optional<double> cutoff = fastest(searches, known);
  forEach(others.size(), numThreads, [&](size_t index) { others[index]->runFirst(cutoff); });
}

/// Two phases: an answer for each mesh; then the mesh with the fastest, before the others or, when that is quick, side
/// by side with them; against what it has, all that may still hold something faster. Which mesh is cut off by what does
/// not depend on threads. \p known: a plan that takes so long is at hand.
void searchInPhases(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches, const SecondPhase &phase, unsigned numThreads,
                    std::optional<double> known) {
  searchFirstOnAll(searches, numThreads, known);
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

/// A mesh with its problem, and the answers of its searches.
struct SearchedMesh {
  Mesh mesh;
  std::optional<PlanningProblem> planning; ///< none where the time was over before it was built
  double lowerBoundSeconds = 0;            ///< of every program on the mesh
  bool isInfeasible = false;
  std::vector<MeshAnswer> answers; ///< one for each weighting of seconds
};

/// The answer of a mesh, or one as fast of a lower rank. Sums over ops are no measure of what lives at a time, so the
/// program's memory decides.
llvm::Error settleTies(const PlanningTask &task, const SearchedMesh &mesh, MeshAnswer &answer) {
  Assignment fewest = withLeastBytes(answer.problem, answer.result.assignment);
  if (fewest == answer.result.assignment)
    return llvm::Error::success();
  llvm::Expected<Candidate> other = costAnswer(task, mesh.mesh, *mesh.planning, fewest);
  if (!other)
    return other.takeError();
  bool fits = other->cost.memory.total() <= task.memoryLimitBytes;
  if (fits && isBetter(rankOf(task, *other), rankOf(task, *answer.candidate)))
    answer.candidate = std::move(*other);
  return llvm::Error::success();
}

/// A mesh and one of its answers.
struct FoundAnswer {
  SearchedMesh *mesh;
  MeshAnswer *answer;

  double seconds() const { return answer->candidate->seconds(); }
};

/// The best of all answers; none where there is none. Answers that tie for the fastest are settled before they are
/// compared, as long as there is time.
llvm::Expected<std::optional<FoundAnswer>> bestAnswer(const PlanningTask &task,
                                                      llvm::MutableArrayRef<SearchedMesh> meshes) {
  std::vector<FoundAnswer> found;
  for (SearchedMesh &mesh : meshes)
    for (MeshAnswer &answer : mesh.answers)
      if (answer.candidate)
        found.push_back({&mesh, &answer});
  if (found.empty())
    return std::nullopt;
  double least = found.front().seconds();
  for (const FoundAnswer &own : found)
    least = std::min(least, own.seconds());
  llvm::erase_if(found, [&](const FoundAnswer &own) { return !areEqualSeconds(own.seconds(), least); });
  std::vector<PlanRank> ranks;
  for (const FoundAnswer &own : found) {
    if (!task.isOutOfTime(PlanningTask::Part::References))
      if (llvm::Error error = settleTies(task, *own.mesh, *own.answer))
        return error;
    ranks.push_back(rankOf(task, *own.answer->candidate));
  }
  return found[bestOf(ranks)];
}

/// Fails with what went wrong in a search, unless it only found nothing.
llvm::Error checkFailures(llvm::ArrayRef<SearchedMesh> meshes) {
  for (const SearchedMesh &mesh : meshes)
    for (const MeshAnswer &answer : mesh.answers)
      if (!answer.failure.empty() && answer.fault != Fault::NoPlan)
        return llvm::make_error<PlannerError>(
            answer.fault, llvm::formatv("search on mesh {0}: {1}", mesh.mesh.str(), answer.failure).str());
  return llvm::Error::success();
}

/// The least bound of all meshes; none where nothing is feasible.
std::optional<double> boundOf(llvm::ArrayRef<SearchedMesh> meshes) {
  std::optional<double> bound;
  for (const SearchedMesh &mesh : meshes)
    if (!mesh.isInfeasible)
      bound = std::min(bound.value_or(mesh.lowerBoundSeconds), mesh.lowerBoundSeconds);
  return bound;
}

/// The first of the fastest answers.
std::optional<FoundAnswer> fastestAnswer(llvm::MutableArrayRef<SearchedMesh> meshes) {
  std::optional<FoundAnswer> best;
  for (SearchedMesh &mesh : meshes)
    for (MeshAnswer &answer : mesh.answers)
      if (answer.candidate && (!best || answer.candidate->seconds() < best->seconds()))
        best = FoundAnswer{&mesh, &answer};
  return best;
}

/// Searches the meshes that may hold something faster than \p known. The bounds of the searches hold for programs where
/// \p isBound.
void searchAll(const PlanningTask &task, llvm::MutableArrayRef<SearchedMesh> meshes, std::optional<TimeWeights> weights,
               bool isBound, std::optional<double> known) {
  Clock::time_point begin = Clock::now();
  std::vector<SearchedMesh *> open;
  for (SearchedMesh &mesh : meshes)
    if (mesh.planning && !mesh.isInfeasible &&
        (!known || mesh.lowerBoundSeconds < *known * (1 - task.request.gapTolerance)))
      open.push_back(&mesh);
  if (open.empty())
    return;
  unsigned numThreads = task.control.numThreads;
  std::vector<std::unique_ptr<MeshSearch>> searches(open.size());
  forEach(open.size(), numThreads, [&](size_t index) {
    searches[index] = std::make_unique<MeshSearch>(task, open[index]->mesh, *open[index]->planning, weights, begin);
  });
  if (std::optional<SecondPhase> phase = secondPhaseOf(task.search))
    searchInPhases(searches, *phase, numThreads, known);
  else
    forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->runAtOnce(); });
  for (auto [mesh, search] : llvm::zip_equal(open, searches)) {
    MeshAnswer &answer = mesh->answers.emplace_back(search->take());
    mesh->isInfeasible = answer.failure.empty() && answer.result.status == SearchStatus::Infeasible;
    if (!answer.failure.empty()) // out of time with nothing in hand: others may still give a plan
      answer.candidate.reset();
    else if (isBound)
      mesh->lowerBoundSeconds = std::max(mesh->lowerBoundSeconds, answer.result.lowerBoundSeconds);
  }
}

/// A problem for each mesh; after the time limit of the task for the first meshes only, at least for one.
std::vector<SearchedMesh> buildProblems(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes) {
  std::vector<SearchedMesh> built;
  for (const Mesh &mesh : meshes)
    built.push_back({mesh, std::nullopt, 0, false, {}});
  forEach(meshes.size(), task.control.numThreads, [&](size_t index) {
    if (index != 0 && task.isOutOfTime(PlanningTask::Part::Search))
      return;
    built[index].planning = problemOf(task, meshes[index]);
    if (task.graph.isTrainingStep())
      built[index].lowerBoundSeconds = leastSecondsOf(task, *built[index].planning, meshes[index]);
  });
  return built;
}

/// Weightings that bound every program, one after the other, each time the one that may prove most of the fastest
/// program: their searches find what hides more, too. Two at most, the second where the first leaves more than a
/// hundredth.
void searchWeighed(const PlanningTask &task, llvm::MutableArrayRef<SearchedMesh> meshes) {
  std::vector<TimeWeights> left = weightsFor(task, meshes.front().mesh);
  constexpr unsigned mostSearches = 2;
  constexpr double enough = 0.01;
  for (unsigned round = 0; round < mostSearches && !left.empty(); ++round) {
    std::optional<FoundAnswer> best = fastestAnswer(meshes);
    if (!best || task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search))
      return;
    double tolerance = std::max(task.request.gapTolerance, round == 0 ? 0 : enough);
    double bound = boundOf(meshes).value_or(0);
    if (bound >= best->seconds() * (1 - tolerance))
      return;
    auto provable = [&](const TimeWeights &weights) {
      return evaluate(best->mesh->planning->weighed(weights), best->answer->result.assignment).seconds;
    };
    auto next =
        llvm::max_element(left, [&](const TimeWeights &a, const TimeWeights &b) { return provable(a) < provable(b); });
    if (round > 0 && provable(*next) <= bound * (1 + enough / 2))
      return;
    searchAll(task, meshes, *next, /*isBound=*/true,
              std::min(best->seconds(), task.knownSeconds.value_or(best->seconds())));
    left.erase(next);
  }
}

/// The best of all answers, and the bound over all.
llvm::Expected<MeshChoice> choose(const PlanningTask &task, std::vector<SearchedMesh> meshes) {
  if (llvm::Error error = checkFailures(meshes))
    return error;
  MeshChoice choice;
  std::vector<SearchEnd> ends;
  for (const SearchedMesh &mesh : meshes) {
    SearchEnd end = mesh.planning ? SearchEnd::Finished : SearchEnd::TimeLimit;
    if (!mesh.planning)
      choice.reason = "the time limit was over before its problem was built";
    for (const MeshAnswer &answer : mesh.answers) {
      end = answer.end == SearchEnd::Finished ? end : answer.end;
      if (answer.leastBytes)
        choice.leastBytes = std::min(choice.leastBytes.value_or(*answer.leastBytes), *answer.leastBytes);
      if (!answer.candidate)
        choice.reason = answer.failure.empty() ? answer.result.reason : answer.failure;
    }
    ends.push_back(end);
  }
  std::vector<std::string> timeNotes = timeLimitNotes(ends, task.searchOptions());
  llvm::Expected<std::optional<FoundAnswer>> best = bestAnswer(task, meshes);
  if (!best)
    return best.takeError();
  if (*best) {
    MeshAnswer &answer = *(*best)->answer;
    choice.uncountedBytes = task.memoryLimitBytes - *answer.problem.memoryLimitBytes;
    choice.best = std::move(answer.candidate);
    choice.notes = std::move(answer.result.notes);
    choice.problem = std::move(*(*best)->mesh->planning);
    choice.lowerBoundSeconds = *boundOf(meshes);
    bool isOptimal = choice.lowerBoundSeconds >= choice.best->seconds() * (1 - sumRounding);
    choice.status = isOptimal ? SearchStatus::Optimal : SearchStatus::Feasible;
  }
  llvm::append_range(choice.notes, timeNotes);
  return choice;
}

} // namespace

llvm::Expected<double> leastSeconds(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> meshes =
      task.pins.suitableMeshes(task.graph, static_cast<unsigned>(task.request.meshAxes));
  if (!meshes)
    return meshes.takeError();
  std::vector<double> seconds(meshes->size());
  forEach(meshes->size(), task.control.numThreads, [&](size_t index) {
    seconds[index] = leastSecondsOf(task, problemOf(task, (*meshes)[index]), (*meshes)[index]);
  });
  return *llvm::min_element(seconds);
}

llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> suitable =
      task.pins.suitableMeshes(task.graph, static_cast<unsigned>(task.request.meshAxes));
  if (!suitable)
    return suitable.takeError();
  Clock::time_point begin = Clock::now();
  std::vector<SearchedMesh> meshes = buildProblems(task, *suitable);
  double problemSeconds = secondsSince(begin);
  Clock::time_point built = Clock::now();
  bool mayHide = task.graph.isTrainingStep();
  searchAll(task, meshes, std::nullopt, /*isBound=*/!mayHide, mayHide ? std::nullopt : task.knownSeconds);
  if (mayHide)
    searchWeighed(task, meshes);
  double searchSeconds = secondsSince(built);
  llvm::Expected<MeshChoice> choice = choose(task, std::move(meshes));
  if (!choice)
    return choice;
  choice->problemSeconds = problemSeconds;
  choice->searchSeconds = searchSeconds;
  return choice;
}

} // namespace apc
