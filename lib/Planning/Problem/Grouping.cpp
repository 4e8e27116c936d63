// The users of a value that share its hub, and what their copy counts.
#include "Grouping.h"

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

/// Is it certain that a copy at the hub of these users lives at an op? See `countedCopies`.
static bool isCertainToWait(const OpGraph &graph, OpId here, llvm::ArrayRef<OpGraph::Use> users, WantAlike wantAlike) {
  if (graph.othersInFlight() > 0 || !(users.front().op < here && here < users.back().op))
    return false;
  std::set<OpId> alone;
  for (OpGraph::Use own : users) {
    if (own.op == here)
      return false;
    bool hasOther = llvm::any_of(
        users, [&](OpGraph::Use other) { return (own.op < here) != (other.op < here) && wantAlike(own, other); });
    if (!hasOther)
      alone.insert(own.op);
  }
  return alone.size() <= 1;
}

int64_t countedCopies(const OpGraph &graph, bool isWeight, std::optional<Moment> moment,
                      llvm::ArrayRef<OpGraph::Use> users, WantAlike wantAlike) {
  if (moment && moment->isCertain)
    return isCertainToWait(graph, moment->op, users, wantAlike) ? 1 : 0;
  bool waits = !moment || (users.front().op < moment->op && moment->op < users.back().op);
  bool isOfCopies = graph.copies > 1 && mostRepeats(graph, users) == graph.microBatches();
  int64_t ofCopies = isOfCopies ? graph.copies : 1;
  return !waits ? 0 : ofCopies * (isWeight ? 1 : 1 + graph.othersInFlight());
}

void countOriginalsOnce(const OpGraph &graph, int64_t devices, std::optional<Moment> moment,
                        llvm::ArrayRef<std::optional<NodeTableId>> hubTables, Problem &problem) {
  const bool isCertain = moment && moment->isCertain;
  const int64_t least = isCertain ? 0 : 1; // a likely copy takes something, so that it loses ties
  // The original of a parameter stays, and that of a value that is made of parameters may be made again.
  std::vector<bool> isWeight = graph.weights();
  std::vector<ValueId> storages = graph.storages();
  auto hasNoPieces = [&](size_t index) {
    return isCertain ? traitsOf(graph.value(storages[index]).role).staysForStep : bool(isWeight[index]);
  };
  std::vector<int64_t> times = graph.timesHeld();
  std::set<NodeTableId> met;
  for (auto [index, table] : llvm::enumerate(hubTables)) {
    if (!table || hasNoPieces(index) || !met.insert(*table).second)
      continue;
    int64_t pieces = times[index] * (1 + graph.othersInFlight()) * (graph.values[index].shape.bytes() / devices);
    for (StrategyCost &cost : problem.nodeTables[table->index()].costs)
      if (cost.persistentBytes > 0)
        cost.persistentBytes = std::max(least, cost.persistentBytes - pieces);
  }
}

} // namespace apc
