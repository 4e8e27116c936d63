// Shardings of arrivals, taken from their readers one after the other.
#include "LightArrivals.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

bool isArrival(const OpGraph &graph, const GraphOp &op) {
  return op.isTransfer && op.operands.empty() && op.results.size() == 1 && op.results[0] &&
         graph.value(*op.results[0]).role == ValueRole::Input;
}

/// The arrivals of one program, each of which may become lighter.
class Arrivals {
public:
  Arrivals(const PlanningTask &task, Candidate candidate)
      : task(task), uses(task.graph.uses()), best(std::move(candidate)) {}

  Candidate lighten() {
    for (auto [index, op] : llvm::enumerate(task.graph.ops))
      if (isArrival(task.graph, op))
        lighten(OpId(index));
    return std::move(best);
  }

private:
  int64_t bytesOf(OpId arrival, const Strategy &strategy) const {
    const OpGraph &graph = task.graph;
    return localShape(graph.value(*graph.op(arrival).results[0]).shape,
                      resultSharding(graph.ruleOf(arrival), strategy, 0), best.mesh)
        .bytes();
  }

  /// Those under which some reader finds the value as it needs it, the fewest bytes first.
  std::vector<Strategy> lighterStrategies(OpId arrival) const {
    const OpGraph &graph = task.graph;
    std::vector<Sharding> wanted;
    for (OpGraph::Use reader : uses[graph.op(arrival).results[0]->index()])
      wanted.push_back(operandSharding(graph.ruleOf(reader.op), best.strategies[reader.op.index()], reader.operand));
    const FactorRule &rule = graph.ruleOf(arrival);
    const int64_t bytes = bytesOf(arrival, best.strategies[arrival.index()]);
    std::vector<Strategy> found;
    for (Strategy &strategy : enumerateStrategies(rule, best.mesh))
      if (llvm::is_contained(wanted, resultSharding(rule, strategy, 0)) && bytesOf(arrival, strategy) < bytes &&
          task.offers(arrival, strategy, best.mesh))
        found.push_back(std::move(strategy));
    llvm::stable_sort(found,
                      [&](const Strategy &a, const Strategy &b) { return bytesOf(arrival, a) < bytesOf(arrival, b); });
    return found;
  }

  void lighten(OpId arrival) {
    for (Strategy &strategy : lighterStrategies(arrival)) {
      std::vector<Strategy> strategies = best.strategies;
      strategies[arrival.index()] = std::move(strategy);
      llvm::Expected<Candidate> lighter = costCandidate(task, best.mesh, std::move(strategies), best.hubs);
      if (!lighter) { // an arrival that is tied to others
        llvm::consumeError(lighter.takeError());
        continue;
      }
      const int64_t most = std::max(task.memoryLimitBytes, best.cost.memory.total());
      if (lighter->seconds() <= best.seconds() && lighter->cost.memory.total() <= most) {
        best = std::move(*lighter);
        return;
      }
    }
  }

  const PlanningTask &task;
  std::vector<std::vector<OpGraph::Use>> uses; ///< by value
  Candidate best;
};

} // namespace

Candidate withLightArrivals(const PlanningTask &task, Candidate candidate) {
  return Arrivals(task, std::move(candidate)).lighten();
}

} // namespace apc
