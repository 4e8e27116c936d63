// The oracle: every assignment in lexicographic order, judged by `evaluate` itself.
#include "Deadline.h"

#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

namespace apc {

namespace {

/// Walks all assignments node by node, and leaves a branch as soon as two decided nodes are an impossible pair.
class Enumeration {
public:
  Enumeration(const Problem &problem, Deadline deadline)
      : problem(problem), deadline(deadline), edgesOf(problem.nodes.size()) {
    current.strategies.resize(problem.nodes.size());
    for (const Edge &edge : problem.edges)
      edgesOf[std::max(edge.from, edge.to).index()].push_back(&edge);
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
    SearchResult answer;
    if (found) {
      answer.status = stopped ? SearchStatus::Feasible : SearchStatus::Optimal;
      answer.assignment = best;
      answer.seconds = bestCost.seconds;
      answer.lowerBoundSeconds = stopped ? std::min(trivialLowerBound(problem), answer.seconds) : answer.seconds;
      answer.bytes = bestCost.bytes();
      return answer;
    }
    if (stopped)
      return noPlanError("exhaustive: the time limit came before any assignment within the memory limit; allow more "
                         "time or use the search 'dp'");
    answer.reason = fewestBytes ? llvm::formatv("every assignment needs at least {0} bytes of memory; the limit is {1}",
                                                *fewestBytes, *problem.memoryLimitBytes)
                                      .str()
                                : "every assignment takes an impossible pair";
    return answer;
  }

private:
  bool pairsPossible(size_t node) const {
    for (const Edge *edge : edgesOf[node])
      if (!problem.tableOf(*edge).possible(current[edge->from], current[edge->to]))
        return false;
    return true;
  }

  void judge() {
    if (++numJudged % 4096 == 0)
      stopped = deadline.expired();
    Evaluation cost = evaluate(problem, current);
    if (!fewestBytes || cost.bytes() < *fewestBytes)
      fewestBytes = cost.bytes();
    if (problem.memoryLimitBytes && cost.bytes() > *problem.memoryLimitBytes)
      return;
    if (found && cost.seconds >= bestCost.seconds)
      return;
    found = true;
    best = current;
    bestCost = cost;
  }

  const Problem &problem;
  Deadline deadline;
  /// The edges whose later node this is: its pairs are decided when this node is.
  std::vector<std::vector<const Edge *>> edgesOf;
  Assignment current;
  uint64_t numJudged = 0;
  bool stopped = false;
  bool found = false;
  Assignment best;
  Evaluation bestCost;
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
  Enumeration enumeration(problem, Deadline(options.timeLimitSeconds, options.stop));
  enumeration.walk(0);
  return enumeration.result();
}

} // namespace apc
