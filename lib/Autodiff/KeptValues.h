// The choice of the forward values that are kept for the backward pass.
#pragma once

#include "RecomputedLayers.h"

#include "apc/IR/Operator.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace apc {

/// Decides over storages: a value that only looks at another one is kept where that one is. A value may be recomputed
/// when its op draws no random numbers and all that the op reads is kept anyway or may be recomputed itself. Values
/// that are small beside what they are made from are kept. Where two streams join, as at the end of a residual branch,
/// recomputing could go on to the model's first op; so a copy takes part in at most two joins.
class KeptValues {
public:
  /// `forward` are the ops of the forward pass in order, `read` the results of theirs that the backward pass reads.
  KeptValues(llvm::ArrayRef<mlir::Operation *> forward, const RecomputedLayers &recomputed,
             const llvm::DenseSet<mlir::Value> &read);

  /// True for results of forward ops that are not kept: the backward pass reads a copy.
  bool isRecomputed(mlir::Value value) const;

private:
  /// The rule's part that decides.
  struct Traits {
    bool isView = false, isCheap = false, isAttention = false, isContraction = false;
  };
  /// Where a value that may be recomputed comes from.
  struct Origin {
    llvm::SmallSetVector<mlir::Value, 4> roots; ///< kept values
    unsigned joins = 0;
    bool hasAttention = false;
  };

  Traits traitsOf(mlir::Operation *op) const;
  /// The value in whose storage `value` lies.
  mlir::Value storageOf(mlir::Value value) const;
  bool isForward(mlir::Value value) const { return traits.contains(value.getDefiningOp()); }
  void findRegions(llvm::ArrayRef<mlir::Operation *> forward);
  void findCrossing();
  void findWeights(llvm::ArrayRef<mlir::Operation *> forward);
  void decide(mlir::Operation *op);
  /// None where something that the op reads is neither kept nor may be recomputed, or the op itself may not.
  std::optional<Origin> originOf(mlir::Operation *op) const;
  bool isSelected(mlir::Operation *op) const;
  bool mayRecompute(mlir::Operation *op) const;
  bool isSmall(mlir::Value value, const Origin &origin) const;

  RecomputePolicy policy;
  size_t numRecomputed;                              ///< layers, the first ones
  llvm::DenseMap<mlir::Operation *, size_t> layerOf; ///< ops of repeated layers
  llvm::DenseMap<mlir::Operation *, Traits> traits;
  llvm::DenseSet<mlir::Value> wanted;  ///< storages that the backward pass reads, or that leave a region
  llvm::DenseSet<mlir::Value> weights; ///< values that depend on parameters and constants alone
  /// With `Full` and `Mlp`: ops of which all may be recomputed, by their layer.
  llvm::DenseMap<mlir::Operation *, size_t> regionOf;
  llvm::DenseSet<mlir::Value> crossing;           ///< storages that leave their region
  llvm::DenseSet<mlir::Value> kept;               ///< storages
  llvm::DenseMap<mlir::Value, Origin> recomputed; ///< storages
};

} // namespace apc
