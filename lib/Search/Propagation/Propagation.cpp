// Sharding propagation: pinned nodes keep their strategies, and all other nodes follow along edges.
#include "../Deadline.h"
#include "../Incumbent.h"
#include "../Local/Repair.h"
#include "../Reduce/Domains.h"
#include "PinPaths.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <set>
#include <tuple>

namespace apc {

namespace {

/// The problem of some nodes and the edges between them; `nodes` in ascending order.
Problem inducedProblem(const Problem &problem, llvm::ArrayRef<uint32_t> nodes) {
  Problem part{problem.nodeTables, problem.pairTables, {}, {}, std::nullopt};
  std::vector<uint32_t> position(problem.nodes.size(), nobody);
  for (uint32_t node : nodes) {
    position[node] = static_cast<uint32_t>(part.nodes.size());
    part.nodes.push_back(problem.nodes[node]);
  }
  for (const Edge &edge : problem.edges)
    if (position[edge.from.index()] != nobody && position[edge.to.index()] != nobody)
      part.edges.push_back({NodeId(position[edge.from.index()]), NodeId(position[edge.to.index()]), edge.table});
  return part;
}

class Propagation {
public:
  Propagation(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), domains(problem), isDecided(problem.nodes.size()),
        isWaiting(problem.nodes.size()), distance(problem.nodes.size()) {
    assignment.strategies.resize(problem.nodes.size());
  }

  llvm::Expected<SearchResult> run() {
    if (std::optional<uint32_t> empty = domains.makeConsistent()) {
      std::string reason = contradiction(problem, domains, *empty);
      if (reason.empty())
        return infeasible("node '" + problem.nodes[*empty].name + "' has only impossible pairs");
      return inputError("propagation: {0}; change one of the two", reason);
    }
    if (llvm::Error error = decidePinned())
      return error;
    if (llvm::Error error = flow())
      return error;
    if (llvm::Error error = decideIslands())
      return error;
    return answer();
  }

private:
  /// Pinned nodes that still have several strategies take the ones that are cheapest together.
  llvm::Error decidePinned() {
    std::vector<uint32_t> pinned;
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      if (!problem.nodes[node].pin.empty())
        pinned.push_back(node);
    if (llvm::Error error = decideByDp(pinned))
      return error;
    for (uint32_t node : pinned)
      reach(node);
    return llvm::Error::success();
  }

  /// Decides `nodes` together by `dp`. A node whose strategy is then impossible, because of earlier decisions, takes
  /// the cheapest possible strategy.
  llvm::Error decideByDp(llvm::ArrayRef<uint32_t> nodes) {
    bool isOpen = llvm::any_of(nodes, [&](uint32_t node) { return domains.of(node).count() > 1; });
    std::vector<uint32_t> wanted(nodes.size(), 0);
    if (isOpen) {
      llvm::Expected<SearchResult> result = searchDp(inducedProblem(problem, nodes), options);
      if (!result)
        return result.takeError();
      if (result->hasAnswer())
        wanted = result->assignment.strategies;
    }
    for (auto [node, strategy] : llvm::zip_equal(nodes, wanted)) {
      bool isTaken = domains.of(node).test(strategy) && domains.decide(node, strategy);
      if (isTaken)
        assignment.strategies[node] = strategy;
      else if (llvm::Error error = decide(node))
        return error;
      isDecided[node] = true;
    }
    return llvm::Error::success();
  }

  /// Puts the undecided neighbours of a decided node into the queue.
  void reach(uint32_t node) {
    for (const Incidence &end : domains.incidences(node)) {
      if (isDecided[end.other] || isWaiting[end.other])
        continue;
      isWaiting[end.other] = true;
      const Node &other = problem.nodes[end.other];
      distance[end.other] = distance[node] + (other.isHub ? 0 : 1);
      queue.insert({other.isHub ? 0 : other.priority + 1, distance[end.other], end.other});
    }
  }

  llvm::Error flow() {
    while (!queue.empty()) {
      uint32_t node = std::get<2>(*queue.begin());
      queue.erase(queue.begin());
      if (llvm::Error error = decide(node))
        return error;
      isDecided[node] = true;
      reach(node);
    }
    return llvm::Error::success();
  }

  /// Seconds of redistribution to decided neighbours, then own seconds, then the index.
  using Cost = std::tuple<double, double, uint32_t>;

  llvm::Error decide(uint32_t node) {
    const std::vector<StrategyCost> &own = problem.tableOf(NodeId(node)).costs;
    std::vector<Cost> costs;
    for (unsigned strategy : domains.of(node).set_bits()) {
      double moves = 0;
      for (const Incidence &end : domains.incidences(node))
        if (isDecided[end.other])
          moves += end.at(strategy, assignment.strategies[end.other]).value_or(0);
      costs.emplace_back(moves, own[strategy].seconds, strategy);
    }
    llvm::sort(costs);
    for (const Cost &cost : costs)
      if (domains.decide(node, std::get<2>(cost))) {
        assignment.strategies[node] = std::get<2>(cost);
        return llvm::Error::success();
      }
    std::string reason = contradiction(problem, domains, node);
    if (reason.empty())
      return noPlanError(
          "propagation: the decisions around '{0}' leave it no strategy; the search 'dp' decides all nodes "
          "together",
          problem.nodes[node].name);
    return inputError("propagation: {0}; change one of the two", reason);
  }

  llvm::Error decideIslands() {
    std::vector<uint32_t> rest;
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      if (!isDecided[node])
        rest.push_back(node);
    return rest.empty() ? llvm::Error::success() : decideByDp(rest);
  }

  /// Nodes were decided before their later neighbours, so they may have a better strategy now.
  llvm::Expected<SearchResult> answer() {
    Deadline deadline(options);
    assignment = withLeastBytes(problem, repaired(problem, assignment, deadline));
    Incumbent incumbent(problem);
    Evaluation cost = incumbent.offer(assignment);
    if (!incumbent.exists())
      return noPlanError(
          "propagation: the strategies that follow from the pins need {0} on a device, the limit is {1}; the "
          "search 'dp' looks for strategies that fit under the same pins",
          formatBytes(static_cast<double>(cost.bytes())),
          formatBytes(static_cast<double>(problem.memoryLimitBytes.value_or(0))));
    SearchResult result = incumbent.result(trivialLowerBound(problem));
    result.notes = disagreements(problem, result.assignment, domains);
    return result;
  }

  const Problem &problem;
  const SearchOptions &options;
  Domains domains;
  std::vector<bool> isDecided, isWaiting;
  std::vector<unsigned> distance;                           ///< edges from the pin, but for those to hubs
  std::set<std::tuple<unsigned, unsigned, uint32_t>> queue; ///< (0 for a hub, else priority + 1; distance; node)
  Assignment assignment;
};

} // namespace

llvm::Expected<SearchResult> searchPropagation(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  if (llvm::all_of(problem.nodes, [](const Node &node) { return node.pin.empty(); }))
    return searchDp(problem, options);
  return Propagation(problem, options).run();
}

} // namespace apc
