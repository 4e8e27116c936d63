// Groups of ops and of users that stand for one node of a problem.
#include "Grouping.h"

#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::vector<std::vector<OpId>> groupTies(const OpGraph &graph) {
  std::vector<const TiedOps *> tieOf(graph.ops.size());
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie)
      tieOf[op.index()] = &tie;
  std::vector<std::vector<OpId>> groups;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const TiedOps *tie = tieOf[index];
    if (!tie)
      groups.push_back({OpId(index)});
    else if (tie->front() == OpId(index))
      groups.push_back(*tie);
  }
  return groups;
}

std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users) {
  int64_t most = mostRepeats(graph, users);
  std::vector<OpGraph::Use> sharing;
  llvm::copy_if(users, std::back_inserter(sharing), [&](OpGraph::Use use) { return graph.op(use.op).repeats == most; });
  return sharing;
}

} // namespace apc
