// Values on their way between the stages of a pipeline.
#pragma once

#include "Pieces.h"
#include "RankRun.h"

namespace apc {

/// A value of one micro-batch, or, without one, of the step.
struct TransferKey {
  std::string value;
  std::optional<int64_t> microBatch;

  friend auto operator<=>(const TransferKey &, const TransferKey &) = default;
};

/// "'h' of micro-batch 2", "'norm' of the step"
std::string printTransfer(const TransferKey &key);

/// Values are sent in pieces, one from each rank of a stage, and are there when all pieces are.
class Mailbox {
public:
  /// The ranks that hold the pieces of a value.
  struct Sender {
    unsigned stage;
    const Mesh &mesh;
    ShardedShape shape;
  };

  /// Takes the piece of `rank` of the sender. A value that is there stays: a rank may send it again. Errors (a failed
  /// check): another stage sends the value, too, or two pieces that hold the same element differ in it.
  llvm::Error put(const TransferKey &key, const Sender &sender, int64_t rank, TensorRef piece);
  /// The whole value; null where pieces are missing.
  const Tensor *find(const TransferKey &key) const;
  /// "nothing of which has come", "of which 1 of 2 pieces have come"
  std::string stateOf(const TransferKey &key) const;

private:
  struct Parcel {
    unsigned stage;
    std::vector<TensorRef> pieces; ///< by rank; null where they have not come
    int64_t numMissing;
    std::optional<Tensor> whole;
  };

  std::map<TransferKey, Parcel> parcels;
};

} // namespace apc
