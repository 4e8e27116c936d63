// The users of a value that share its hub.
#include "Grouping.h"

#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::vector<OpGraph::Use> sharingUses(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users) {
  int64_t most = mostRepeats(graph, users);
  std::vector<OpGraph::Use> sharing;
  llvm::copy_if(users, std::back_inserter(sharing), [&](OpGraph::Use use) { return graph.op(use.op).repeats == most; });
  return sharing;
}

} // namespace apc
