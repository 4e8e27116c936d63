// Uses by pass, told by ties and by repeats.
#include "apc/Graph/PassUses.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

int64_t mostRepeats(const OpGraph &graph, llvm::ArrayRef<OpGraph::Use> users) {
  int64_t most = 1;
  for (OpGraph::Use use : users)
    most = std::max(most, graph.op(use.op).repeats);
  return most;
}

PassUses::PassUses(const OpGraph &graph, bool weightsAlone)
    : graph(graph), follows(graph.followers()), isFixed(graph.values.size(), false) {
  if (weightsAlone) {
    isFixed = graph.weights();
    isFixed.flip();
  }
}

PassUses::Split PassUses::split(llvm::ArrayRef<OpGraph::Use> users) const {
  Split split;
  int64_t most = mostRepeats(graph, users);
  for (OpGraph::Use use : users)
    (follows[use.op.index()] && graph.op(use.op).repeats == most ? split.backward : split.forward).push_back(use);
  return split;
}

bool PassUses::mayComeAgain(ValueId value, llvm::ArrayRef<OpGraph::Use> users) const {
  if (isFixed[value.index()])
    return false;
  Split passes = split(users);
  int64_t most = mostRepeats(graph, users);
  return !passes.backward.empty() &&
         llvm::any_of(passes.forward, [&](OpGraph::Use use) { return graph.op(use.op).repeats == most; });
}

} // namespace apc
