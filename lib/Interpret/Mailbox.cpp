// Pieces gathered until a value is whole.
#include "Mailbox.h"

#include "apc/Interpret/Grid.h"

namespace apc {

std::string printTransfer(const TransferKey &key) {
  return "'" + key.value + "' of " + (key.microBatch ? "micro-batch " + std::to_string(*key.microBatch) : "the step");
}

llvm::Error Mailbox::put(const TransferKey &key, const Sender &sender, int64_t rank, TensorRef piece) {
  int64_t numRanks = sender.mesh.numDevices();
  Parcel &parcel =
      parcels
          .try_emplace(key, Parcel{sender.stage, std::vector<TensorRef>(static_cast<size_t>(numRanks)), numRanks, {}})
          .first->second;
  if (parcel.stage != sender.stage)
    return noPlanError("{0} is sent by the stages {1} and {2}", printTransfer(key), parcel.stage, sender.stage);
  TensorRef &own = parcel.pieces[static_cast<size_t>(rank)];
  if (own || parcel.whole)
    return llvm::Error::success();
  own = std::move(piece);
  if (--parcel.numMissing > 0)
    return llvm::Error::success();
  std::vector<Tensor> pieces;
  for (const TensorRef &held : parcel.pieces)
    pieces.push_back(*held);
  llvm::Expected<Tensor> whole = assemble(pieces, sender.shape.dims, sender.shape.sharding, sender.mesh);
  if (!whole)
    return noPlanError("{0}: {1}", printTransfer(key), takeMessage(whole.takeError()).second);
  parcel.whole = std::move(*whole);
  parcel.pieces.clear();
  return llvm::Error::success();
}

const Tensor *Mailbox::find(const TransferKey &key) const {
  auto known = parcels.find(key);
  return known != parcels.end() && known->second.whole ? &*known->second.whole : nullptr;
}

std::string Mailbox::stateOf(const TransferKey &key) const {
  auto known = parcels.find(key);
  if (known == parcels.end())
    return "nothing of which has come";
  return llvm::formatv("of which {0} of {1} pieces have come",
                       static_cast<int64_t>(known->second.pieces.size()) - known->second.numMissing,
                       known->second.pieces.size())
      .str();
}

} // namespace apc
