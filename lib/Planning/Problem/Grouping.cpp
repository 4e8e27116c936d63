// The users of a value that share its hub, and what their copy counts.
#include "Grouping.h"

#include "Moments.h"

#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace apc {

std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users) {
  int64_t most = mostRepeats(graph, users);
  std::vector<OpGraph::Use> sharing;
  llvm::copy_if(users, std::back_inserter(sharing), [&](OpGraph::Use use) { return graph.op(use.op).repeats == most; });
  return sharing;
}

int64_t countedCopies(const OpGraph &graph, bool isWeight, std::optional<Moment> moment,
                      llvm::ArrayRef<OpGraph::Use> users) {
  bool waits = !moment || (!moment->isCertain && users.front().op < moment->op && moment->op < users.back().op);
  bool isOfCopies = graph.copies > 1 && mostRepeats(graph, users) == graph.microBatches();
  int64_t ofCopies = isOfCopies ? graph.copies : 1;
  return !waits ? 0 : ofCopies * (isWeight ? 1 : 1 + graph.othersInFlight());
}

void countOriginalsOnce(const OpGraph &graph, int64_t devices, std::optional<Moment> moment,
                        llvm::ArrayRef<std::optional<NodeTableId>> hubTables, Problem &problem) {
  std::vector<bool> isWeight = graph.weights();
  std::vector<int64_t> times = graph.timesHeld(), others = othersHolding(graph, moment);
  std::set<NodeTableId> met;
  for (auto [index, table] : llvm::enumerate(hubTables)) {
    if (!table || isWeight[index] || !met.insert(*table).second)
      continue;
    int64_t pieces = times[index] * (1 + others[index]) * (graph.values[index].shape.bytes() / devices);
    for (StrategyCost &cost : problem.nodeTables[table->index()].costs)
      if (cost.persistentBytes > 0)
        cost.persistentBytes = std::max<int64_t>(1, cost.persistentBytes - pieces);
  }
}

} // namespace apc
