// Searches of all meshes, side by side, by sums and by weights.
#include "SearchedMeshes.h"

#include "apc/Schedule/ScheduleStep.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

/// The weightings of seconds that bound every program; the sum of them where nothing is hidden.
std::vector<TimeWeights> weightsFor(const PlanningTask &task) {
  if (!task.graph.overlaps)
    return {TimeWeights()};
  return boundingWeights(overlapRates(task.pool.device));
}

void settleTimes(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches) {
  for (const std::unique_ptr<MeshSearch> &search : searches)
    search->settleTime();
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

/// An answer for each mesh: first for those with a trivial bound \p nearness times the least or below, then for those
/// that may still hold something faster. Meshes of thousands of devices on one axis, which no factor can use, go that
/// way.
void searchFirstOnAll(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches, unsigned numThreads,
                      std::optional<double> known, double nearness) {
  forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->setBound(); });
  double least = searches.front()->lowerBoundSeconds();
  for (const std::unique_ptr<MeshSearch> &search : searches)
    least = std::min(least, search->lowerBoundSeconds());
  std::vector<MeshSearch *> promising, others;
  for (const std::unique_ptr<MeshSearch> &search : searches)
    (search->lowerBoundSeconds() <= nearness * least ? promising : others).push_back(search.get());
  forEach(promising.size(), numThreads, [&](size_t index) { promising[index]->runFirst(known); });
  settleTimes(searches);
  std::optional<double> cutoff = fastest(searches, known);
  forEach(others.size(), numThreads, [&](size_t index) { others[index]->runFirst(cutoff); });
  settleTimes(searches);
}

/// The mesh with the fastest answer.
size_t fastestMesh(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches) {
  size_t best = 0;
  for (size_t index = 1; index < searches.size(); ++index)
    if (std::optional<double> seconds = searches[index]->seconds();
        seconds && (!searches[best]->seconds() || *seconds < *searches[best]->seconds()))
      best = index;
  return best;
}

/// Meshes in the order of their bounds: one whose bound is below the best plan is searched in any case, so the least
/// bound comes first, and what it gives leaves out others.
std::vector<size_t> byBound(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches) {
  std::vector<size_t> order(searches.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::stable_sort(
      order, [&](size_t a, size_t b) { return searches[a]->lowerBoundSeconds() < searches[b]->lowerBoundSeconds(); });
  return order;
}

/// Two phases: an answer for each mesh; then, side by side, what raises the bounds of all that may still hold something
/// faster; and at last the rest of the work, in pairs of meshes, each against what all others have by then. Which mesh
/// is cut off by what does not depend on threads. \p known: a plan that takes so long is at hand.
void searchInPhases(llvm::ArrayRef<std::unique_ptr<MeshSearch>> searches, const SecondPhase &phase,
                    const PlanningTask &task, std::optional<double> known) {
  constexpr size_t width = 2;
  const PlanningEffort effort = task.control.effort;
  const unsigned numThreads = task.control.numThreads;
  searchFirstOnAll(searches, numThreads, known, takesAny(task.request) ? 1 : 1.25);
  if (!goesToTheEnd(effort, searches[fastestMesh(searches)]->isByFirstSums()))
    return;
  auto onAll = [&](llvm::ArrayRef<size_t> indices,
                   llvm::function_ref<void(MeshSearch &, std::optional<double>)> search) {
    size_t best = fastestMesh(searches);
    std::optional<double> cutoff = fastest(searches, known);
    forEach(indices.size(), numThreads,
            [&](size_t place) { search(*searches[indices[place]], indices[place] == best ? known : cutoff); });
    settleTimes(searches);
  };
  if (phase.raise)
    onAll(byBound(searches),
          [&](MeshSearch &search, std::optional<double> cutoff) { search.raiseBound(phase, cutoff); });
  std::vector<size_t> order = byBound(searches);
  unsigned share = std::max<size_t>(1, numThreads / width);
  for (llvm::ArrayRef<size_t> left = order; !left.empty(); left = left.drop_front(std::min(width, left.size())))
    onAll(left.take_front(width),
          [&](MeshSearch &search, std::optional<double> cutoff) { search.runSecond(phase, cutoff, share); });
}

/// A mesh and one of its answers.
struct FastestAnswer {
  const SearchedMesh *mesh;
  const MeshAnswer *answer;
};

/// The first of the fastest answers.
std::optional<FastestAnswer> fastestAnswer(llvm::ArrayRef<SearchedMesh> meshes) {
  std::optional<FastestAnswer> best;
  for (const SearchedMesh &mesh : meshes)
    for (const MeshAnswer &answer : mesh.answers)
      if (answer.candidate && (!best || answer.candidate->seconds() < best->answer->candidate->seconds()))
        best = FastestAnswer{&mesh, &answer};
  return best;
}

/// Searches the meshes that may hold something faster than \p known.
void searchAll(const PlanningTask &task, llvm::MutableArrayRef<SearchedMesh> meshes, std::optional<TimeWeights> weights,
               std::optional<double> known) {
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
    unsigned share = std::max<size_t>(1, numThreads / open.size());
    searches[index] =
        std::make_unique<MeshSearch>(task, open[index]->mesh, open[index]->planning, weights, begin, share);
  });
  std::optional<SecondPhase> phase = secondPhaseOf(task.search);
  if (phase) {
    searchInPhases(searches, *phase, task, known);
  } else {
    forEach(searches.size(), numThreads, [&](size_t index) { searches[index]->runAtOnce(); });
    settleTimes(searches);
  }
  for (auto [mesh, search] : llvm::zip_equal(open, searches)) {
    MeshAnswer &answer = mesh->answers.emplace_back(search->take());
    mesh->unlimitedBoundSeconds = std::max(mesh->unlimitedBoundSeconds, answer.unlimitedBoundSeconds);
    mesh->isInfeasible = answer.failure.empty() && answer.result.status == SearchStatus::Infeasible;
    if (!answer.failure.empty()) // out of time with nothing in hand: others may still give a plan
      answer.candidate.reset();
    else
      mesh->lowerBoundSeconds = std::max(mesh->lowerBoundSeconds, answer.result.lowerBoundSeconds);
  }
}

/// Calls \p take with shares for \p count weightings, multiples of an eighth that add up to 1.
void forEachMixture(size_t count, llvm::function_ref<void(llvm::ArrayRef<double>)> take) {
  constexpr unsigned steps = 8;
  std::vector<unsigned> parts(count, 0);
  std::vector<double> shares(count);
  for (bool isLast = false; !isLast;) {
    unsigned sum = 0;
    for (auto [share, part] : llvm::zip_equal(shares, parts)) {
      sum += part;
      share = static_cast<double>(part) / steps;
    }
    if (sum == steps)
      take(shares);
    size_t digit = 0;
    for (; digit < count && parts[digit] == steps; ++digit)
      parts[digit] = 0;
    isLast = digit == count;
    if (!isLast)
      ++parts[digit];
  }
}

/// The seconds of each answer that fits, by each weighting.
std::vector<std::vector<double>> weighedSeconds(llvm::ArrayRef<SearchedMesh> meshes,
                                                llvm::ArrayRef<TimeWeights> weights) {
  auto fits = [](const MeshAnswer &answer) { return answer.candidate.has_value(); };
  std::vector<std::vector<double>> seconds;
  for (const SearchedMesh &mesh : meshes) {
    if (llvm::none_of(mesh.answers, fits))
      continue;
    std::vector<Problem> problems;
    for (const TimeWeights &each : weights)
      problems.push_back(mesh.planning->weighed(each));
    for (const MeshAnswer &answer : llvm::make_filter_range(mesh.answers, fits)) {
      std::vector<double> &own = seconds.emplace_back();
      for (const Problem &problem : problems)
        own.push_back(evaluate(problem, answer.result.assignment).seconds);
    }
  }
  return seconds;
}

/// The mixture of weightings that may prove most of the answers at hand: the one whose least weighed answer weighs
/// most. None where it proves little more than the bound does.
std::optional<TimeWeights> nextWeights(const PlanningTask &task, llvm::ArrayRef<SearchedMesh> meshes,
                                       llvm::ArrayRef<TimeWeights> weights) {
  constexpr double enough = 0.01;
  std::optional<FastestAnswer> best = fastestAnswer(meshes);
  if (!best || task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search))
    return std::nullopt;
  double seconds = best->answer->candidate->seconds(), bound = boundOf(meshes).value_or(0);
  if (bound >= seconds * (1 - std::max(task.request.gapTolerance, enough)))
    return std::nullopt;
  std::vector<std::vector<double>> weighed = weighedSeconds(meshes, weights);
  double most = bound * (1 + enough / 2);
  std::optional<TimeWeights> next;
  forEachMixture(weights.size(), [&](llvm::ArrayRef<double> shares) {
    double least = seconds;
    for (const std::vector<double> &own : weighed)
      least = std::min(least, std::inner_product(own.begin(), own.end(), shares.begin(), 0.0));
    if (least > most) {
      most = least;
      next = TimeWeights::mixed(weights, shares);
    }
  });
  return next;
}

} // namespace

double leastSecondsOf(const PlanningTask &task, const PlanningProblem &planning, const Mesh &mesh) {
  if (!task.graph.overlaps)
    return trivialLowerBound(planning.problem);
  double most = 0;
  for (const TimeWeights &weights : weightsFor(task))
    most = std::max(most, trivialLowerBound(planning.weighed(weights)));
  return most;
}

bool isByFirstSums(llvm::ArrayRef<SearchedMesh> meshes) {
  std::optional<FastestAnswer> best = fastestAnswer(meshes);
  return best && best->answer->isByFirstSums;
}

std::optional<double> boundOf(llvm::ArrayRef<SearchedMesh> meshes) {
  std::optional<double> bound;
  for (const SearchedMesh &mesh : meshes)
    if (!mesh.isInfeasible)
      bound = std::min(bound.value_or(mesh.lowerBoundSeconds), mesh.lowerBoundSeconds);
  return bound;
}

std::vector<SearchedMesh> buildProblems(const PlanningTask &task, llvm::ArrayRef<Mesh> meshes) {
  std::vector<SearchedMesh> built;
  for (const Mesh &mesh : meshes)
    built.push_back({mesh, nullptr});
  // Where a plan is at hand, none is better than one that comes too late.
  auto isOver = [&] {
    return (task.knownSeconds || task.control.knownSeconds) && task.isOutOfTime(PlanningTask::Part::Search);
  };
  constexpr size_t together = 4;
  for (size_t first = 0; first < meshes.size(); first += together) {
    if (first != 0 && task.isOutOfTime(PlanningTask::Part::Search))
      break;
    const size_t count = std::min(together, meshes.size() - first);
    forEach(count, task.control.numThreads, *task.control.clock,
            [&](size_t place, const std::shared_ptr<WorkClock> &clock) {
              const Mesh &mesh = meshes[first + place];
              SearchedMesh &own = built[first + place];
              auto planning = problemUntil(isOver, task, mesh, startingMoment(task.graph));
              if (!planning)
                return;
              own.planning = std::make_shared<const PlanningProblem>(std::move(*planning));
              clock->spend(buildingWork(*own.planning));
              if (task.graph.overlaps)
                own.lowerBoundSeconds = leastSecondsOf(task, *own.planning, mesh);
            });
  }
  return built;
}

std::optional<double> fastestSeconds(llvm::ArrayRef<SearchedMesh> meshes) {
  std::optional<FastestAnswer> best = fastestAnswer(meshes);
  return best ? std::optional(best->answer->candidate->seconds()) : std::nullopt;
}

void searchMeshes(const PlanningTask &task, llvm::MutableArrayRef<SearchedMesh> meshes,
                  llvm::ArrayRef<SearchedMesh> others) {
  auto known = [&] {
    std::optional<double> least = task.knownSeconds;
    for (llvm::ArrayRef<SearchedMesh> searched : {others, llvm::ArrayRef<SearchedMesh>(meshes)})
      if (std::optional<double> seconds = fastestSeconds(searched))
        least = std::min(*seconds, least.value_or(*seconds));
    return least;
  };
  if (!task.graph.overlaps)
    return searchAll(task, meshes, std::nullopt, known());
  std::vector<TimeWeights> weights = weightsFor(task);
  searchAll(task, meshes, weights.front(), known());
  constexpr unsigned mostMixtures = 3;
  for (unsigned round = 0; round < mostMixtures && weights.size() > 1; ++round) {
    std::optional<TimeWeights> next = nextWeights(task, meshes, weights);
    if (!next)
      return;
    searchAll(task, meshes, next, known());
  }
}

} // namespace apc
