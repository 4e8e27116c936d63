// Shares of kernels, op by op, joined by name.
#include "apc/Graph/FewestMoves.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

static KernelShare fewerOf(KernelShare own, const KernelShare &other) {
  own.isReadThrough |= other.isReadThrough;
  own.isMadeByReaders |= other.isMadeByReaders;
  own.joins |= other.joins;
  own.isOfList |= other.isOfList;
  if (llvm::is_contained(other.inside, true))
    own.inside.resize(other.inside.size()); // the same operands and results
  for (size_t value = 0; value < own.inside.size() && !other.inside.empty(); ++value)
    own.inside[value] = own.inside[value] || other.inside[value];
  return own;
}

OpGraph withFewerMoves(OpGraph graph, const OpGraph &other) {
  llvm::StringMap<const GraphOp *> byName;
  for (const GraphOp &op : other.ops)
    byName[op.name] = &op;
  for (GraphOp &op : graph.ops)
    if (const GraphOp *same = byName.lookup(op.name))
      op.kernel = fewerOf(std::move(op.kernel), same->kernel);
  return graph;
}

} // namespace apc
