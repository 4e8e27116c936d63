// The repeated layers of a forward pass, and those of them that are recomputed.
#pragma once

#include "apc/Autodiff/Recompute.h"
#include "apc/IR/Program/Repetition.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// A policy, the number of layers, the first ones, that it holds for, and the policy of the other layers:
/// {runs of 96 layers, Full, 26, Norms}.
struct RecomputedLayers {
  std::vector<RepeatedRun> runs;
  RecomputePolicy policy = RecomputePolicy::None;
  size_t count = 0;
  RecomputePolicy rest = RecomputePolicy::None;
};

/// Segments of all runs.
size_t numLayers(llvm::ArrayRef<RepeatedRun> runs);

/// The number of each op's layer, in the order of the function.
llvm::DenseMap<mlir::Operation *, size_t> layersByOp(llvm::ArrayRef<RepeatedRun> runs);

/// The branches of a layer's attentions. Of x + Attention(norm(x)).W = h, h + Gelu(norm(h).U).V:
struct AttentionBranches {
  std::vector<mlir::Operation *> sums;   ///< in which they end: h
  std::vector<mlir::Operation *> behind; ///< all behind these: norm(h) and so on
};
/// None without an attention. `behind` has nothing that an attention of the layer, whose ops are given in order, is
/// made from.
AttentionBranches branchesOfAttentions(llvm::ArrayRef<mlir::Operation *> layer,
                                       llvm::function_ref<bool(mlir::Operation *)> isAttention,
                                       llvm::function_ref<bool(mlir::Operation *)> isContraction,
                                       llvm::function_ref<bool(mlir::Value)> isWeight);

} // namespace apc
