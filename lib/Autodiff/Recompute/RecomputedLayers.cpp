// Parts of layers, by the ways that lead to and from their attentions.
#include "RecomputedLayers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace apc {

size_t numLayers(llvm::ArrayRef<RepeatedRun> runs) {
  size_t count = 0;
  for (const RepeatedRun &run : runs)
    count += run.count;
  return count;
}

llvm::DenseMap<mlir::Operation *, size_t> layersByOp(llvm::ArrayRef<RepeatedRun> runs) {
  llvm::DenseMap<mlir::Operation *, size_t> layers;
  size_t layer = 0;
  for (const RepeatedRun &run : runs)
    for (size_t segment = 0; segment < run.count; ++segment, ++layer)
      for (size_t index = 0; index < run.period; ++index)
        layers[run.op(segment, index)] = layer;
  return layers;
}

AttentionBranches branchesOfAttentions(llvm::ArrayRef<mlir::Operation *> layer,
                                       llvm::function_ref<bool(mlir::Operation *)> isAttention,
                                       llvm::function_ref<bool(mlir::Operation *)> isContraction,
                                       llvm::function_ref<bool(mlir::Value)> isWeight) {
  if (llvm::none_of(layer, isAttention))
    return {};
  llvm::DenseSet<mlir::Operation *> leads, branch, joins; // to an attention; from it to its sum; that sum
  for (mlir::Operation *op : llvm::reverse(layer))
    if (isAttention(op) || llvm::any_of(op->getUsers(), [&](mlir::Operation *user) { return leads.contains(user); }))
      leads.insert(op);
  auto isOfBranch = [&](mlir::Value value) {
    return branch.contains(value.getDefiningOp()) && !joins.contains(value.getDefiningOp());
  };
  AttentionBranches found;
  for (mlir::Operation *op : layer) {
    if (isAttention(op) || llvm::any_of(op->getOperands(), isOfBranch)) {
      branch.insert(op);
      bool readsOther =
          llvm::any_of(op->getOperands(), [&](mlir::Value value) { return !isOfBranch(value) && !isWeight(value); });
      if (!isAttention(op) && !isContraction(op) && readsOther) {
        joins.insert(op);
        found.sums.push_back(op);
      }
    } else if (!leads.contains(op)) {
      found.behind.push_back(op);
    }
  }
  return found;
}

} // namespace apc
