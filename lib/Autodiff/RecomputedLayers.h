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

/// The ops of a layer, which are given in order, behind its attention and the sum that the attention's branch ends in:
/// of x + Attention(norm(x)).W = h, h + Gelu(norm(h).U).V those of the second part. None without an attention, and none
/// that an attention of the layer is made from.
std::vector<mlir::Operation *> opsBehindAttention(llvm::ArrayRef<mlir::Operation *> layer,
                                                  llvm::function_ref<bool(mlir::Operation *)> isAttention,
                                                  llvm::function_ref<bool(mlir::Operation *)> isContraction,
                                                  llvm::function_ref<bool(mlir::Value)> isWeight);

} // namespace apc
