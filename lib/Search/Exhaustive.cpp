// The oracle: every assignment in lexicographic order, judged by `evaluate`.
#include "Deadline.h"
#include "Incumbent.h"
#include "Reduce/Incidences.h"

#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

namespace apc {

namespace {

/// Walks all assignments node by node, and leaves a branch as soon as two decided nodes are an impossible pair.
class Enumeration {
public:
  Enumeration(const Problem &problem, Deadline deadline)
      : problem(problem), deadline(deadline), incidences(incidencesOf(problem)), incumbent(problem) {
    current.strategies.resize(problem.nodes.size());
  }

  void walk(size_t node) {
    if (stopped)
      return;
    if (node == problem.nodes.size())
      return judge();
    size_t numStrategies = problem.tableOf(NodeId(node)).costs.size();
    for (size_t strategy = 0; strategy < numStrategies; ++strategy) {
      current.strategies[node] = static_cast<uint32_t>(strategy);
      if (pairsPossible(node))
        walk(node + 1);
    }
  }

  llvm::Expected<SearchResult> result() const {
    if (incumbent.exists())
      return incumbent.result(stopped ? trivialLowerBound(problem) : incumbent.seconds());
    if (stopped)
      return noPlanError("exhaustive: the time limit came before any assignment within the memory limit; allow more "
                         "time or use the search 'dp'");
    return fewestBytes ? aboveMemoryLimit(problem, *fewestBytes)
                       : infeasible("every assignment takes an impossible pair");
  }

private:
  /// Are the pairs of a node with all nodes before it possible?
  bool pairsPossible(size_t node) const {
    for (const Incidence &end : incidences[node])
      if (end.other < node && !end.possible(current.strategies[node], current.strategies[end.other]))
        return false;
    return true;
  }

  void judge() {
    constexpr unsigned together = 4096;
    if (++numJudged % together == 0) {
      constexpr double perNode = 10; // nanoseconds
      deadline.spend(perNode * together * static_cast<double>(problem.nodes.size()));
      stopped = deadline.expired();
    }
    Evaluation cost = evaluate(problem, current);
    if (!fewestBytes || cost.bytes() < *fewestBytes)
      fewestBytes = cost.bytes();
    if (problem.memoryLimitBytes && cost.bytes() > *problem.memoryLimitBytes)
      return;
    if (!incumbent.exists() || cost.seconds < incumbent.seconds())
      incumbent.offer(current);
  }

  const Problem &problem;
  Deadline deadline;
  Incidences incidences;
  Assignment current;
  uint64_t numJudged = 0;
  bool stopped = false;
  Incumbent incumbent;
  std::optional<int64_t> fewestBytes;
};

} // namespace

llvm::Expected<SearchResult> searchExhaustive(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  uint64_t numAssignments = 1;
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    numAssignments = llvm::SaturatingMultiply<uint64_t>(numAssignments, problem.tableOf(NodeId(node)).costs.size());
  if (numAssignments > options.maxAssignments)
    return inputError("exhaustive: the problem has more than {0} assignments, the most that are tried; use the search "
                      "'dp'",
                      options.maxAssignments);
  Enumeration enumeration(problem, Deadline(options));
  enumeration.walk(0);
  return enumeration.result();
}

} // namespace apc
