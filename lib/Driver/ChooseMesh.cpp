// Searches every logical mesh, side by side, and keeps the best answer and the bound over all.
#include "Candidate.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>

namespace apc {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The answer of one mesh.
struct MeshAnswer {
  std::optional<Candidate> candidate;
  SearchResult result;
  std::string failure; ///< an error of the search or of the price
  Fault fault = Fault::Internal;
  double problemSeconds = 0, searchSeconds = 0;
};

/// Searches one mesh. The search's memory is a sum per op; the program's is by liveness. Where the program needs more
/// than the limit, the search's limit is lowered by what is too much and the search run again.
MeshAnswer searchMesh(const PlanningTask &task, const Mesh &mesh) {
  MeshAnswer answer;
  Clock::time_point begin = Clock::now();
  CostModel model(task.cluster, mesh);
  PlanningProblem planning = buildProblem(task.graph, model);
  answer.problemSeconds = secondsSince(begin);
  planning.problem.memoryLimitBytes = task.memoryLimitBytes;
  SearchOptions options = task.options.searchOptions;
  options.numThreads = 1;
  constexpr unsigned maxRounds = 6;
  for (unsigned round = 0; round < maxRounds; ++round) {
    begin = Clock::now();
    llvm::Expected<SearchResult> result = task.search.run(planning.problem, options);
    answer.searchSeconds += secondsSince(begin);
    if (!result) {
      std::tie(answer.fault, answer.failure) = takeMessage(result.takeError());
      return answer;
    }
    double bound = round == 0 ? result->lowerBoundSeconds : answer.result.lowerBoundSeconds;
    answer.result = std::move(*result);
    answer.result.lowerBoundSeconds = bound;
    if (answer.result.status == SearchStatus::Infeasible)
      return answer;
    llvm::Expected<Candidate> candidate = price(task, mesh, planning.decode(answer.result.assignment));
    if (!candidate) {
      std::tie(answer.fault, answer.failure) = takeMessage(candidate.takeError());
      return answer;
    }
    int64_t excess = candidate->price.memory.total() - task.memoryLimitBytes;
    if (excess <= 0) {
      answer.candidate = std::move(*candidate);
      return answer;
    }
    *planning.problem.memoryLimitBytes = answer.result.bytes - excess;
    answer.result.status = SearchStatus::Infeasible;
    answer.result.reason = "live activations exceed the memory limit in every assignment that was tried";
  }
  return answer;
}

} // namespace

llvm::Expected<Candidate> price(const PlanningTask &task, const Mesh &mesh, std::vector<Strategy> strategies) {
  llvm::Expected<ProgramPrice> price = priceProgram(task.graph, strategies, CostModel(task.cluster, mesh));
  if (!price)
    return price.takeError();
  return Candidate{mesh, std::move(strategies), std::move(*price)};
}

llvm::Expected<MeshChoice> chooseMesh(const PlanningTask &task) {
  std::vector<Mesh> meshes = logicalMeshes(Mesh::fromLevels(task.cluster.levelSizes()), task.options.maxAxes);
  std::vector<MeshAnswer> answers(meshes.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t index = next++; index < meshes.size(); index = next++)
      answers[index] = searchMesh(task, meshes[index]);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < task.options.searchOptions.numThreads; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();

  MeshChoice choice;
  std::optional<double> bound;
  bool allOptimal = true;
  for (auto [mesh, answer] : llvm::zip_equal(meshes, answers)) {
    choice.problemSeconds += answer.problemSeconds;
    choice.searchSeconds += answer.searchSeconds;
    if (!answer.failure.empty() && answer.fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(answer.fault,
                                            llvm::formatv("search on mesh {0}: {1}", mesh.str(), answer.failure).str());
    if (!answer.failure.empty()) {
      // Out of time with nothing in hand and nothing proven: other meshes and the baselines may still give a plan.
      choice.reason = answer.failure;
      allOptimal = false;
      bound = 0;
      continue;
    }
    if (!answer.candidate) {
      choice.reason = answer.result.reason;
      continue;
    }
    allOptimal &= answer.result.status == SearchStatus::Optimal;
    bound = std::min(bound.value_or(answer.result.lowerBoundSeconds), answer.result.lowerBoundSeconds);
    if (choice.best && choice.objectiveSeconds <= answer.result.seconds)
      continue;
    choice.objectiveSeconds = answer.result.seconds;
    choice.best = std::move(answer.candidate);
  }
  if (!choice.best)
    return choice;
  choice.lowerBoundSeconds = *bound;
  choice.status = allOptimal && *bound >= choice.objectiveSeconds ? SearchStatus::Optimal : SearchStatus::Feasible;
  return choice;
}

} // namespace apc
