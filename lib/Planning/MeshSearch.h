// The search of one mesh, in one or two phases, under one weighting of seconds.
#pragma once

#include "Task.h"

#include "apc/Search/Phases.h"
#include "apc/Search/SearchEnd.h"
#include "apc/Support/Error.h"

#include <chrono>
#include <tuple>

namespace apc {

/// The answer of one mesh.
struct MeshAnswer {
  std::optional<Candidate> candidate;
  Problem problem; ///< as it was searched last
  SearchResult result;
  std::string failure; ///< an error of the search or of the cost
  Fault fault = Fault::Internal;
  SearchEnd end = SearchEnd::Finished; ///< of the last search
  std::optional<int64_t> leastBytes;   ///< of the programs that were costed

  void note(std::optional<int64_t> bytes) {
    if (bytes)
      leastBytes = std::min(leastBytes.value_or(*bytes), *bytes);
  }
};

/// Everything about one mesh that is being searched.
class MeshSearch {
public:
  /// Without \p weights the search minimises the sum of all seconds. Progress is told with the name of the mesh and the
  /// seconds since \p begin. All references are kept.
  MeshSearch(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning,
             std::optional<TimeWeights> weights, std::chrono::steady_clock::time_point begin);

  void runAtOnce();
  /// A bound that takes no search.
  void setBound();
  /// An answer at once, as good as it comes, unless the bound says that this mesh has nothing faster than \p
  /// cutoffSeconds.
  void runFirst(std::optional<double> cutoffSeconds);
  /// The rest of the work, unless the bound says that this mesh has nothing faster than \p cutoffSeconds, or too little
  /// to look for.
  void runSecond(const SecondPhase &phase, std::optional<double> cutoffSeconds, unsigned numThreads = 1);

  /// Of an answer that fits, weighed.
  std::optional<double> seconds() const {
    return answer.candidate ? std::optional(answer.result.seconds) : std::nullopt;
  }
  double lowerBoundSeconds() const { return answer.failure.empty() ? answer.result.lowerBoundSeconds : 0; }

  MeshAnswer take();

private:
  /// One way to search a problem.
  using Run = llvm::function_ref<llvm::Expected<SearchResult>(const Problem &)>;

  bool isProvenWithin(std::optional<double> cutoffSeconds) const;
  void run(Run search);
  bool searchOnce(Run search, bool isFirst);
  void keep(Candidate candidate);
  void fail(llvm::Error error) { std::tie(answer.fault, answer.failure) = takeMessage(std::move(error)); }

  const PlanningTask &task;
  const Mesh &mesh;
  const PlanningProblem &planning;
  bool isSum;
  SearchOptions options;
  Problem problem;
  SharedWork shared;
  MeshAnswer answer;
  std::optional<InitialAnswer> first; ///< under the limit that the user gave
};

} // namespace apc
