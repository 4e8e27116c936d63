// The choice of the forward values that are kept for the backward pass.
#pragma once

#include "RecomputableOps.h"

#include "llvm/ADT/SetVector.h"

namespace apc {

/// Decides over storages: of those from which all that the backward pass reads can be made by ops that may be
/// recomputed, the ones that are kept have the fewest bytes, by a minimum cut, and are the nearest to the gradients
/// among equal ones.
///
///   p = x.W -> m = p > 0 -> z = Where(m, a, b), gradients read z:   m is kept, with a byte where z has 4
///
/// A value that gradients read and that is small beside the activations that it is made from is kept: a copy would cost
/// a pass over all of those. A mask is none of them. Where two streams join, as at the end of a residual branch,
/// recomputing could go on to the model's first op; so a copy takes part in at most two joins, and a value that would
/// need a third is never made again.
class KeptValues {
public:
  /// `forward` are the ops of the forward pass in order, `read` the results of theirs that the backward pass reads.
  KeptValues(llvm::ArrayRef<mlir::Operation *> forward, const RecomputedLayers &recomputed,
             const llvm::DenseSet<mlir::Value> &read);

  /// True for results of forward ops that are not kept: the backward pass reads a copy.
  bool isRecomputed(mlir::Value value) const { return recomputed.contains(ops.storageOf(value)); }

private:
  /// A storage with the storages that its op reads.
  struct Storage {
    mlir::Value value;
    int64_t bytes = 0;
    llvm::SmallVector<size_t, 2> sources;
    bool isFixed = false; ///< never recomputed
    bool isRead = false;  ///< by gradients
    /// Bytes of the largest storage of activations, of those that are fixed, that it is made from.
    int64_t largestOrigin = 0;
    bool isFromAttention = false; ///< an attention makes it, or recomputed ops make it from what one makes
  };

  void addStorages(llvm::ArrayRef<mlir::Operation *> forward, const llvm::DenseSet<mlir::Value> &read);
  void addOrigins(Storage &storage) const;
  bool isFixed(const Storage &storage) const;
  void choose();
  /// Fixes the storages that would take part in too many joins; false where there are none.
  bool limitJoins();

  RecomputableOps ops;
  std::vector<Storage> storages; ///< in the order of the forward pass
  std::vector<bool> isKept;      ///< by storage
  llvm::DenseSet<mlir::Value> recomputed;
};

} // namespace apc
