// Chooses the best answer of all meshes, and the bound over all.
#include "Meshes.h"

#include "ProgramDescent.h"
#include "Refinement.h"
#include "SearchedMeshes.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Support/Error.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

/// The answer of a mesh, or one as fast of a lower rank. Sums over ops are no measure of what lives at a time, so the
/// program's memory decides.
llvm::Error settleTies(const PlanningTask &task, const SearchedMesh &mesh, MeshAnswer &answer) {
  Assignment fewest = withLeastBytes(*answer.problem, answer.result.assignment);
  if (fewest == answer.result.assignment)
    return llvm::Error::success();
  llvm::Expected<Candidate> other = costAnswer(task, mesh.mesh, *answer.planning, fewest);
  if (!other)
    return other.takeError();
  bool fits = other->cost.memory.total() <= task.memoryLimitBytes;
  if (fits && isBetter(rankOf(task, *other), rankOf(task, *answer.candidate))) {
    answer.candidate = std::move(*other);
    answer.result.assignment = std::move(fewest);
  }
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

/// "a mesh of 2 x 4 devices": a search names its axes for itself.
std::string sizesText(const Mesh &mesh) {
  auto sizes = llvm::map_range(mesh.getAxes(), [](const MeshAxis &axis) { return std::to_string(axis.size); });
  return mesh.getAxes().empty() ? "one device" : "a mesh of " + llvm::join(sizes, " x ") + " devices";
}

/// Fails with what went wrong in a search, unless it only found nothing.
llvm::Error checkFailures(llvm::ArrayRef<SearchedMesh> meshes) {
  for (const SearchedMesh &mesh : meshes)
    for (const MeshAnswer &answer : mesh.answers)
      if (!answer.failure.empty() && answer.fault != Fault::NoPlan)
        return llvm::make_error<PlannerError>(
            answer.fault, llvm::formatv("search on {0}: {1}", sizesText(mesh.mesh), answer.failure).str());
  return llvm::Error::success();
}

/// The best of all answers, and the bound over all.
llvm::Expected<MeshChoice> choose(const PlanningTask &task, std::vector<SearchedMesh> meshes) {
  if (llvm::Error error = checkFailures(meshes))
    return error;
  MeshChoice choice;
  std::vector<SearchEnd> ends;
  for (const SearchedMesh &mesh : meshes) {
    SearchEnd end = mesh.planning      ? SearchEnd::Finished
                    : task.isStopped() ? SearchEnd::Interrupt
                                       : SearchEnd::TimeLimit;
    if (!mesh.planning)
      choice.reason = task.endText() + " before its problem was built";
    for (const MeshAnswer &answer : mesh.answers) {
      end = answer.end == SearchEnd::Finished ? end : answer.end;
      if (answer.leastBytes)
        choice.leastBytes = std::min(choice.leastBytes.value_or(*answer.leastBytes), *answer.leastBytes);
      if (!answer.candidate)
        choice.reason = answer.failure.empty() ? answer.result.reason : answer.failure;
    }
    ends.push_back(end);
  }
  // Meshes whose problems were not built have no bound of their own.
  const double least = leastSecondsOn(task.graph, task.pool);
  choice.lowerBoundSeconds = std::max(least, boundOf(meshes).value_or(0));
  std::vector<std::string> timeNotes = timeLimitNotes(ends, task.searchOptions());
  llvm::Expected<std::optional<FoundAnswer>> best = bestAnswer(task, meshes);
  if (!best)
    return best.takeError();
  if (*best) {
    MeshAnswer &answer = *(*best)->answer;
    choice.uncountedBytes = answer.uncountedBytes;
    choice.isByFirstSums = answer.isByFirstSums;
    choice.unsharedSeconds = answer.unsharedSeconds;
    choice.best = std::move(answer.candidate);
    choice.notes = std::move(answer.result.notes);
    choice.problem = *answer.planning;
    choice.answer = std::move(answer.result.assignment);
    choice.unlimitedBoundSeconds = choice.lowerBoundSeconds;
    for (const SearchedMesh &mesh : meshes)
      choice.unlimitedBoundSeconds =
          std::min(choice.unlimitedBoundSeconds, std::max(least, mesh.unlimitedBoundSeconds));
    bool isOptimal = choice.lowerBoundSeconds >= choice.best->seconds() * (1 - sumRounding);
    choice.status = isOptimal ? SearchStatus::Optimal : SearchStatus::Feasible;
  }
  llvm::append_range(choice.notes, timeNotes);
  return choice;
}

} // namespace

double leastSecondsOn(const OpGraph &graph, const Pool &pool) {
  return std::max(leastComputeSeconds(graph, pool), leastHostSeconds(graph, pool));
}

llvm::Expected<double> leastSeconds(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> suitable = task.pins.suitableMeshes(task.graph, firstAxes(task.request));
  if (!suitable)
    return suitable.takeError();
  std::vector<SearchedMesh> meshes = buildProblems(task, *suitable);
  // Of finer meshes only some may be searched, and which is not known yet: then none of them counts.
  if (Refinement refinement = refine(task, meshes); refinement.note.empty())
    llvm::append_range(meshes, buildProblems(task, refinement.meshes));
  std::vector<double> seconds(meshes.size(), 0);
  forEach(meshes.size(), task.control.numThreads, [&](size_t index) {
    if (meshes[index].planning)
      seconds[index] = leastSecondsOf(task, *meshes[index].planning, meshes[index].mesh);
  });
  return *llvm::min_element(seconds);
}

/// Builds the problems of meshes and searches them for something faster than what \p searched holds, and adds them to
/// it.
static void buildAndSearch(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes, std::vector<SearchedMesh> &searched,
                           SearchTimes &times) {
  if (meshes.empty())
    return;
  const Stopwatch work(*task.control.clock);
  Clock::time_point begin = Clock::now();
  std::vector<SearchedMesh> next = buildProblems(task, meshes);
  Clock::time_point built = Clock::now();
  searchMeshes(task, next, searched);
  times += {secondsBetween(begin, built), secondsBetween(built, Clock::now()), work.seconds()};
  llvm::append_range(searched, std::move(next));
}

/// One choice over \p first and what refines them.
static llvm::Expected<MeshChoice> chooseAmong(const PlanningTask &task, llvm::ArrayRef<Mesh> first, bool mayRefine) {
  SearchTimes times;
  std::vector<SearchedMesh> meshes;
  buildAndSearch(task, first, meshes, times);
  bool isToRefine = mayRefine && !takesAny(task.request) && goesToTheEnd(task.control.effort, isByFirstSums(meshes));
  Refinement refinement = isToRefine ? refine(task, meshes) : Refinement();
  buildAndSearch(task, refinement.meshes, meshes, times);
  llvm::Expected<MeshChoice> choice = choose(task, std::move(meshes));
  if (!choice)
    return choice;
  choice->times = times;
  if (!refinement.note.empty())
    choice->notes.push_back(refinement.note);
  return choice;
}

/// One choice over all meshes.
static llvm::Expected<MeshChoice> chooseOnce(const PlanningTask &task) {
  llvm::Expected<std::vector<Mesh>> suitable = task.pins.suitableMeshes(task.graph, firstAxes(task.request));
  if (!suitable)
    return suitable.takeError();
  return chooseAmong(task, *suitable, /*mayRefine=*/true);
}

llvm::Expected<MeshChoice> chooseOn(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes) {
  return chooseAmong(task, meshes, /*mayRefine=*/false);
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

/// The better one of two choices for a task. The bound of \p choice stays: its space holds that of \p other.
static MeshChoice betterOf(const PlanningTask &task, MeshChoice choice, MeshChoice other) {
  choice.times += other.times;
  if (!other.best || (choice.best && !isBetter(rankOf(task, *other.best), rankOf(task, *choice.best))))
    return choice;
  other.lowerBoundSeconds = choice.lowerBoundSeconds;
  other.unlimitedBoundSeconds = choice.unlimitedBoundSeconds;
  other.status = SearchStatus::Feasible;
  other.times = choice.times;
  return other;
}

/// The seconds below which a second search is of use.
static std::optional<double> secondsToBeat(const PlanningTask &task, const MeshChoice &choice) {
  if (!choice.best)
    return task.knownSeconds;
  return std::min(choice.best->seconds(), task.knownSeconds.value_or(HUGE_VAL));
}

static constexpr double littleTime = 0.01; ///< of the time limit

/// The sums of a large space count the memory of copies by guess; a space without them may hold what they hide. First
/// answers do without, unless there is none or the second search takes little.
static llvm::Expected<MeshChoice> chooseWithFewerCopies(const PlanningTask &task) {
  const Stopwatch watch(*task.control.clock);
  llvm::Expected<MeshChoice> choice = chooseOnce(task);
  bool isFirst = choice && choice->best && task.control.effort != PlanningEffort::Proofs &&
                 watch.seconds() > littleTime * task.request.timeLimitSeconds;
  bool isEnough = choice && (choice->isByFirstSums || isFirst || (choice->best && takesAny(task.request)));
  if (!choice || isEnough || task.isOutOfTime(PlanningTask::Part::Search))
    return choice;
  std::optional<PlanRequest> request = withoutGathering(task);
  if (!request)
    return choice;
  PlanningTask smaller{task.graph, *request, task.pool, task.memoryLimitBytes, task.search, task.pins, task.control};
  smaller.begin = task.begin;
  smaller.fusion = task.fusion;
  if (task.graph.overlaps) // mixtures of weightings take a search each
    smaller.control.effort = PlanningEffort::FirstAnswers;
  smaller.knownSeconds = secondsToBeat(task, *choice);
  llvm::Expected<MeshChoice> other = chooseOnce(smaller);
  if (!other)
    return other.takeError();
  return betterOf(task, std::move(*choice), std::move(*other));
}

/// Might more be found in little time? Where memory binds, `dp` comes to other sums and limits than `auto` does, which
/// goes on from its first answers, and programs to what no sum tells.
static bool isWorthMore(const PlanningTask &task, const MeshChoice &choice, double seconds) {
  const bool isProven =
      choice.best && choice.lowerBoundSeconds >= choice.best->seconds() * (1 - task.request.gapTolerance);
  const bool isAsked = task.search.name == defaultSearch && task.control.effort == PlanningEffort::Proofs;
  return isAsked && !choice.isByFirstSums && !isProven && !takesAny(task.request) && !task.graph.overlaps &&
         seconds <= littleTime * task.request.timeLimitSeconds && !task.isOutOfTime(PlanningTask::Part::Search);
}

/// \p choice, or what `dp` finds.
static llvm::Expected<MeshChoice> chooseByDp(const PlanningTask &task, MeshChoice choice) {
  PlanningTask byItself = task;
  byItself.search = llvm::cantFail(findSearch("dp"));
  byItself.knownSeconds = secondsToBeat(task, choice);
  llvm::Expected<MeshChoice> other = chooseWithFewerCopies(byItself);
  if (!other)
    return other;
  choice.lowerBoundSeconds = std::max(choice.lowerBoundSeconds, other->lowerBoundSeconds); // of the same space
  return betterOf(task, std::move(choice), std::move(*other));
}

/// A choice to begin a descent from: \p choice, or where nothing fits what would be without a limit, if the limit is
/// not far from the least that was needed. None where there is nothing to begin from.
static llvm::Expected<std::optional<MeshChoice>> startOfDescent(const PlanningTask &task, const MeshChoice &choice) {
  if (choice.best)
    return std::optional(choice);
  constexpr double near = 2;
  if (!choice.leastBytes || static_cast<double>(*choice.leastBytes) > near * static_cast<double>(task.memoryLimitBytes))
    return std::nullopt;
  PlanningTask unlimited = task;
  unlimited.memoryLimitBytes = unlimitedBytes;
  unlimited.control.effort = PlanningEffort::FirstAnswers;
  llvm::Expected<MeshChoice> loose = chooseOnce(unlimited);
  if (!loose)
    return loose.takeError();
  return loose->best ? std::optional(std::move(*loose)) : std::nullopt;
}

/// \p choice, or what small changes of a program find.
static llvm::Expected<MeshChoice> chooseByDescent(const PlanningTask &task, MeshChoice choice) {
  constexpr double share = 2 * littleTime; // of the time limit
  const double end = std::min(task.end(PlanningTask::Part::Search),
                              task.control.clock->seconds() + share * task.request.timeLimitSeconds);
  llvm::Expected<std::optional<MeshChoice>> start = startOfDescent(task, choice);
  if (!start)
    return start.takeError();
  if (!*start)
    return choice;
  MeshChoice found = std::move(**start);
  const Mesh mesh = found.best->mesh;
  llvm::Expected<AnsweredProgram> program =
      descend(task, mesh, found.problem, {std::move(found.answer), std::move(*found.best)}, end);
  if (!program)
    return program.takeError();
  if (program->candidate.cost.memory.total() > task.memoryLimitBytes) {
    choice.leastBytes = std::min(*choice.leastBytes, program->candidate.cost.memory.total());
    return choice;
  }
  const double seconds = program->candidate.seconds();
  if (choice.best && seconds >= choice.best->seconds())
    return choice;
  choice.unsharedSeconds = seconds - evaluate(found.problem.problem, program->answer).seconds;
  choice.problem = std::move(found.problem);
  choice.answer = std::move(program->answer);
  choice.best = std::move(program->candidate);
  choice.status =
      choice.lowerBoundSeconds >= seconds * (1 - sumRounding) ? SearchStatus::Optimal : SearchStatus::Feasible;
  return choice;
}

llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task) {
  const Stopwatch watch(*task.control.clock);
  llvm::Expected<MeshChoice> choice = chooseWithFewerCopies(task);
  if (!choice || !isWorthMore(task, *choice, watch.seconds()))
    return choice;
  choice = chooseByDp(task, std::move(*choice));
  return choice ? chooseByDescent(task, std::move(*choice)) : std::move(choice);
}

} // namespace apc
