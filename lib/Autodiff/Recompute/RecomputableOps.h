// The forward ops that the policies of a step allow to recompute.
#pragma once

#include "RecomputePolicies.h"
#include "RecomputedLayers.h"

#include "apc/IR/Operator.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace apc {

/// Knows ops by their rules and by the layers that they stand in. A value that only looks at another one lies in the
/// storage of that one.
class RecomputableOps {
public:
  /// `forward` are the ops of the forward pass in order.
  RecomputableOps(llvm::ArrayRef<mlir::Operation *> forward, const RecomputedLayers &recomputed);

  bool isView(mlir::Operation *op) const { return traits.find(op)->second.isView; }
  bool isAttention(mlir::Operation *op) const { return traits.find(op)->second.isAttention; }
  /// Results of forward ops, no inputs, parameters and constants.
  bool isForward(mlir::Value value) const { return traits.contains(value.getDefiningOp()); }
  /// Floats that depend on inputs: no masks, numbers of tokens and positions, and nothing that parameters and constants
  /// alone make.
  bool isOfActivations(mlir::Value value) const;
  /// The value in whose storage `value` lies.
  mlir::Value storageOf(mlir::Value value) const;
  /// The storages of forward ops that `value` is read from, or looked at from.
  void addSources(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &storages) const;

  /// By the policy of the op's layer, or by either one outside of layers.
  bool mayRecompute(mlir::Operation *op) const;
  /// Of the op only what attentions are recomputed for may be made again, nothing else that a gradient reads.
  bool isForAttentionsAlone(mlir::Operation *op) const;
  /// Does the op stand in a layer, or a part of it, of which all may be recomputed?
  bool isInPart(mlir::Operation *op) const { return partOf.contains(op); }
  /// Is the storage read outside of the part of a layer in which it is made?
  bool leavesPart(mlir::Value storage) const { return leaving.contains(storage); }

private:
  /// The rule's part that decides.
  struct Traits {
    bool isView = false, isCheap = false, isAttention = false, isContraction = false;
  };
  struct Allowed {
    bool cheapOps = false, attentions = false;
  };

  void findWeights(llvm::ArrayRef<mlir::Operation *> forward);
  void findTraits(mlir::Operation *op);
  void findParts(llvm::ArrayRef<mlir::Operation *> forward);
  void findLeaving();
  RecomputePolicy policyOf(size_t layer) const { return layer < numFirst ? first : rest; }
  Allowed allowedOf(mlir::Operation *op) const;

  RecomputePolicy first, rest;
  size_t numFirst;                                   ///< layers that `first` holds for
  llvm::DenseMap<mlir::Operation *, size_t> layerOf; ///< ops of repeated layers
  llvm::DenseMap<mlir::Operation *, Traits> traits;
  llvm::DenseSet<mlir::Value> weights;              ///< values that depend on parameters and constants alone
  llvm::DenseMap<mlir::Operation *, size_t> partOf; ///< ops of parts of layers, by their layer
  llvm::DenseSet<mlir::Value> leaving;              ///< storages
};

} // namespace apc
