// Whole tensors into pieces and back.
#include "Pieces.h"

#include "Boxes.h"

#include "apc/IR/RuleBuilder.h"
#include "apc/Interpret/Grid.h"

namespace apc {

llvm::Expected<ShardedShape> readShape(mlir::DictionaryAttr attributes, MeshAttr mesh, mlir::Type type,
                                       llvm::StringRef what) {
  if (!mesh) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    return ShardedShape{Sharding::replicated(static_cast<unsigned>(tensor.getRank())),
                        llvm::SmallVector<int64_t, 4>(tensor.getShape())};
  }
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(shardingAttribute) : ShardingAttr();
  auto shape = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(shapeAttribute) : mlir::DenseI64ArrayAttr();
  if (!sharding || !shape)
    return inputError("{0} does not say '{1}' and '{2}'", what, shardingAttribute, shapeAttribute);
  const Sharding &value = sharding.getValue();
  if (sharding.getMesh() != mesh || value.numDims() != shape.size() || value.isPartial())
    return inputError("{0}: {1} on {2} is no sharding of a whole tensor of {3} dims on {4}", what,
                      value.str(sharding.getMesh().getValue()), sharding.getMesh().getValue().str(), shape.size(),
                      mesh.getValue().str());
  return ShardedShape{value, llvm::SmallVector<int64_t, 4>(shape.asArrayRef())};
}

Tensor shardOf(const Tensor &whole, const Sharding &sharding, const Mesh &mesh, int64_t rank, int64_t padding) {
  assert(!sharding.isPartial() && "a whole tensor has no partial pieces");
  Tensor piece = poisoned(pieceDims(whole.dims, sharding, mesh), whole.element, padding);
  Sharding uncut = Sharding::replicated(static_cast<unsigned>(whole.dims.size()));
  forEachShared(boxOf(whole.dims, uncut, mesh, rank), whole.dims, boxOf(whole.dims, sharding, mesh, rank), piece.dims,
                [&](int64_t at, int64_t pieceAt) { copyElement(whole, at, piece, pieceAt); });
  return piece;
}

llvm::Expected<Tensor> assemble(llvm::ArrayRef<Tensor> pieces, llvm::ArrayRef<int64_t> dims, const Sharding &sharding,
                                const Mesh &mesh) {
  Tensor whole = poisoned(dims, pieces.front().element, 1);
  std::vector<int64_t> giver(static_cast<size_t>(whole.numElements()), -1);
  std::optional<std::pair<int64_t, int64_t>> differ; // position, rank
  Sharding uncut = Sharding::replicated(static_cast<unsigned>(dims.size()));
  for (auto [rank, piece] : llvm::enumerate(pieces))
    forEachShared(boxOf(dims, sharding, mesh, static_cast<int64_t>(rank)), piece.dims, boxOf(dims, uncut, mesh, 0),
                  dims, [&, rank = static_cast<int64_t>(rank)](int64_t at, int64_t wholeAt) {
                    int64_t &from = giver[static_cast<size_t>(wholeAt)];
                    if (from >= 0 && !isSameElement(whole, wholeAt, piece, at) && !differ)
                      differ = {wholeAt, rank};
                    if (from < 0)
                      copyElement(piece, at, whole, wholeAt);
                    from = from < 0 ? rank : from;
                  });
  if (differ)
    return noPlanError("ranks {0} and {1} hold element {2} of {3} and differ in it",
                       giver[static_cast<size_t>(differ->first)], differ->second, differ->first, printDims(dims));
  return whole;
}

} // namespace apc
