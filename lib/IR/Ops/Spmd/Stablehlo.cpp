// Collectives, and ops that depend on the rank, in StableHLO: groups are rows of `replica_groups`, and numbers of a
// rank are read from tables by `replica_id`.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "llvm/ADT/Sequence.h"

namespace apc {

namespace hlo {
namespace {

std::vector<int64_t> forEachRank(const Mesh &mesh, llvm::function_ref<int64_t(int64_t)> number) {
  std::vector<int64_t> table;
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank)
    table.push_back(number(rank));
  return table;
}

/// A dim that the ranks of a group hold in pieces, of one size, and whose parts are each cut on their own.
class Cut {
public:
  /// \p longer, \p shorter: the shardings in which the dim has the axes of the group and has them not.
  Cut(const CoalescedCollective::Value &value, const Sharding &longer, Sharding shorter, const AxisList &axes,
      const Mesh &mesh)
      : axes(axes), mesh(mesh), members(mesh.group(0, axes)) {
    while (dim + 1 < longer.numDims() && longer.dims[dim].size() <= shorter.dims[dim].size())
      ++dim;
    parts = {localSize(value.dims[dim], shorter.dims[dim], mesh)};
    if (!longer.partsOf(dim).empty()) {
      setParts(shorter.parted, dim, longer.partsOf(dim));
      parts = localParts(value.dims[dim], shorter, dim, mesh);
    }
    for (int64_t part : parts)
      room.push_back(localSize(part, axes, mesh));
  }

  unsigned getDim() const { return dim; }
  int64_t ways() const { return mesh.size(axes); }
  int64_t pieceSize() const {
    int64_t size = 0;
    for (int64_t held : room)
      size += held;
    return size;
  }

  /// The pieces of all ranks of the group, one behind the other, of a dim that is whole.
  Hlo apart(Hlo whole) const {
    if (isPlain())
      return whole;
    HloList pieces;
    for (int64_t index = 0; index < ways(); ++index) {
      int64_t begin = 0;
      for (auto [part, held] : llvm::zip_equal(parts, room)) {
        DimSlice slice = sliceOf(part, index);
        int64_t first = slice.count > 0 ? begin + slice.begin : 0; // no elements lie behind the dim
        pieces.push_back(pad(hlo::slice(whole, dim, first, first + slice.count), dim, 0, held - slice.count));
        begin += part;
      }
    }
    return concat(pieces, dim);
  }
  /// The whole dim, of the pieces of all ranks.
  Hlo joined(Hlo pieces) const {
    if (isPlain())
      return pieces;
    HloList runs;
    int64_t at = 0;
    for (auto [part, held] : llvm::zip_equal(parts, room)) {
      for (int64_t index = 0; index < ways(); ++index)
        if (DimSlice slice = sliceOf(part, index); slice.count > 0) {
          int64_t begin = index * pieceSize() + at;
          runs.push_back(hlo::slice(pieces, dim, begin, begin + slice.count));
        }
      at += held;
    }
    return concat(runs, dim);
  }
  /// The piece of this rank.
  Hlo own(Hlo whole) const {
    Hlo begin = whole.writer->ofRank(
        forEachRank(mesh, [&](int64_t rank) { return mesh.indexInGroup(rank, axes) * pieceSize(); }));
    return dynamicSlice(apart(whole), dim, begin, pieceSize());
  }

private:
  bool isPlain() const { return parts.size() == 1 && parts.front() == room.front() * ways(); }
  DimSlice sliceOf(int64_t part, int64_t index) const {
    return dimSlice(part, axes, mesh, members[static_cast<size_t>(index)]);
  }

  AxisList axes;
  const Mesh &mesh;
  std::vector<int64_t> members; ///< of the first group
  unsigned dim = 0;
  llvm::SmallVector<int64_t, 4> parts, room; ///< sizes of the parts before they are cut, and in a piece
};

/// The groups of ranks, each in the order of the mesh along `axes`.
mlir::NamedAttribute groupsAlong(const AxisList &axes, HloWriter &h) {
  std::vector<std::vector<int64_t>> rows;
  const Mesh &mesh = h.getMesh();
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank)
    if (mesh.indexInGroup(rank, axes) == 0)
      rows.push_back(mesh.group(rank, axes));
  return h.table("replica_groups", rows);
}

mlir::Type withDim(Hlo x, unsigned dim, int64_t size) {
  HloDims dims(x.dims());
  dims[dim] = size;
  return mlir::RankedTensorType::get(dims, x.element());
}

Hlo allReduce(Hlo x, const AxisList &axes, Combiner combiner) {
  HloWriter &h = *x.writer;
  return h.addReduction("stablehlo.all_reduce", {x}, x.type(), {groupsAlong(axes, h)}, hloCombination(combiner),
                        x.element());
}
Hlo reduceScatter(Hlo x, const Cut &cut, const AxisList &axes, Combiner combiner) {
  HloWriter &h = *x.writer;
  return h.addReduction("stablehlo.reduce_scatter", {cut.apart(x)}, withDim(x, cut.getDim(), cut.pieceSize()),
                        {groupsAlong(axes, h), h.number("scatter_dimension", cut.getDim())}, hloCombination(combiner),
                        x.element());
}

/// The greatest x of a group, or the lowest number where all are minus infinity: what is taken off before exponentials.
Hlo greatestOf(Hlo x, const AxisList &axes) {
  auto lowest = llvm::APFloat::getLargest(llvm::cast<mlir::FloatType>(x.element()).getFloatSemantics(), true);
  return hlo::max(allReduce(x, axes, Combiner::Max), filled(x, lowest.convertToDouble()));
}

/// A function of one value of a collective, for each of its values.
template <typename Op, auto write>
HloList collective(Op op, HloWriter &h) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  HloList results;
  for (auto [value, operand] : llvm::zip_equal(collective.values, op->getOperands()))
    results.push_back(write(collective, value, h(operand), h));
  return results;
}
using Value = CoalescedCollective::Value;

Hlo gathered(const CoalescedCollective &all, const Value &value, Hlo x, HloWriter &h) {
  Cut cut(value, value.from, value.to, all.axes, h.getMesh());
  mlir::Type type = withDim(x, cut.getDim(), cut.pieceSize() * cut.ways());
  return cut.joined(
      h.add("stablehlo.all_gather", {x}, type, {groupsAlong(all.axes, h), h.number("all_gather_dim", cut.getDim())}));
}
Hlo sliced(const CoalescedCollective &all, const Value &value, Hlo x, HloWriter &h) {
  return Cut(value, value.to, value.from, all.axes, h.getMesh()).own(x);
}
Hlo exchanged(const CoalescedCollective &all, const Value &value, Hlo x, HloWriter &h) {
  Cut joins(value, value.from, value.to, all.axes, h.getMesh()),
      cuts(value, value.to, value.from, all.axes, h.getMesh());
  x = cuts.apart(x);
  HloDims dims(x.dims());
  dims[cuts.getDim()] = cuts.pieceSize();
  dims[joins.getDim()] = joins.pieceSize() * joins.ways();
  mlir::Type type = mlir::RankedTensorType::get(dims, x.element());
  return joins.joined(h.add("stablehlo.all_to_all", {x}, type,
                            {groupsAlong(all.axes, h), h.number("split_dimension", cuts.getDim()),
                             h.number("concat_dimension", joins.getDim()), h.number("split_count", cuts.ways())}));
}
Hlo reduced(const CoalescedCollective &all, const Value &value, Hlo x, HloWriter &) {
  Combiner combiner = value.from.combiner;
  if (combiner != Combiner::LogSumExp)
    return allReduce(x, all.axes, combiner);
  Hlo greatest = greatestOf(x, all.axes);
  return greatest + log(allReduce(exp(x - greatest), all.axes, Combiner::Sum));
}
Hlo scattered(const CoalescedCollective &all, const Value &value, Hlo x, HloWriter &h) {
  Cut cut(value, value.to, value.from, all.axes, h.getMesh());
  Combiner combiner = value.from.combiner;
  if (combiner != Combiner::LogSumExp)
    return reduceScatter(x, cut, all.axes, combiner);
  Hlo greatest = greatestOf(x, all.axes);
  return cut.own(greatest) + log(reduceScatter(exp(x - greatest), cut, all.axes, Combiner::Sum));
}
Hlo permuted(const CoalescedCollective &all, const Value &value, Hlo x, HloWriter &h) {
  const Mesh &mesh = h.getMesh();
  std::vector<std::vector<int64_t>> pairs(static_cast<size_t>(mesh.numDevices()));
  for (int64_t first = 0; first < mesh.numDevices(); ++first) {
    if (mesh.indexInGroup(first, all.axes) != 0)
      continue;
    std::vector<PermutePeers> peers = permutePeers(all.axes, value.from, value.to, mesh, first);
    for (auto [rank, peer] : llvm::zip_equal(mesh.group(first, all.axes), peers))
      pairs[static_cast<size_t>(rank)] = {rank, peer.sendTo};
  }
  return h.add("stablehlo.collective_permute", {x}, x.type(), {h.table("source_target_pairs", pairs)});
}

HloList masked(MaskPaddingOp op, HloWriter &h) {
  Hlo x = h(op.getInput());
  const Mesh &mesh = h.getMesh();
  auto dim = static_cast<unsigned>(op.getDim());
  mlir::Attribute neutral = neutralAttribute(op.getCombiner().getValue(), x.element());
  Hlo filling = h.constant(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, x.element()), neutral));
  Hlo places = iota(h, h.i64(), {x.size(dim)}, 0), isHeld;
  for (auto [index, first] : llvm::enumerate(op.getRuns(mesh, 0))) {
    Hlo end = h.ofRank(forEachRank(mesh, [&, index = index](int64_t rank) {
      DimRun run = op.getRuns(mesh, rank)[index];
      return run.at + run.count;
    }));
    Hlo isInRun = compare(places, "GE", static_cast<double>(first.at)) & compare(places, "LT", end);
    isHeld = isHeld ? isHeld | isInRun : isInRun;
  }
  HloDims beside(x.numDims(), 1);
  beside[dim] = x.size(dim);
  return select(reshape(isHeld, beside), x, filling);
}

HloList keptOnFirst(KeepOnFirstOp op, HloWriter &h) {
  Hlo x = h(op.getInput());
  const Mesh &mesh = h.getMesh();
  Hlo index =
      h.ofRank(forEachRank(mesh, [&](int64_t rank) { return mesh.indexInGroup(rank, op.getAxes().getValue()); }));
  return select(compare(index, "EQ", 0), x, filled(x, 0));
}

HloList offset(ShardOffsetOp op, HloWriter &h) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  const Mesh &mesh = h.getMesh();
  auto held = [&](int64_t rank) {
    return dimSlice(static_cast<int64_t>(op.getSize()), op.getAxes().getValue(), mesh, rank);
  };
  Hlo begin = h.ofRank(forEachRank(mesh, [&](int64_t rank) { return held(rank).begin; }));
  if (type.getNumElements() == 1)
    return convert(reshape(begin, type.getShape()), type.getElementType());
  Hlo end = h.ofRank(forEachRank(mesh, [&](int64_t rank) { return held(rank).begin + held(rank).count; }));
  return convert(concat({reshape(begin, {1}), reshape(end, {1})}, 0), type.getElementType());
}

constexpr HloLowering rows[] = {
    hloRow<AllGatherOp, collective<AllGatherOp, gathered>>(),
    hloRow<ShardSliceOp, collective<ShardSliceOp, sliced>>(),
    hloRow<AllToAllOp, collective<AllToAllOp, exchanged>>(),
    hloRow<AllReduceOp, collective<AllReduceOp, reduced>>(),
    hloRow<ReduceScatterOp, collective<ReduceScatterOp, scattered>>(),
    hloRow<PermuteOp, collective<PermuteOp, permuted>>(),
    hloRow<MaskPaddingOp, masked>(),
    hloRow<KeepOnFirstOp, keptOnFirst>(),
    hloRow<ShardOffsetOp, offset>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloSpmd();
llvm::ArrayRef<HloLowering> hloSpmd() { return hlo::rows; }

} // namespace apc
