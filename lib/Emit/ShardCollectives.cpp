// Collectives of the shard dialect.
#include "ShardCollectives.h"

#include "apc/IR/CollectivePlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace apc {

namespace {

mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }

mlir::RankedTensorType withDim(mlir::RankedTensorType type, unsigned dim, int64_t size) {
  llvm::SmallVector<int64_t> dims(type.getShape());
  dims[dim] = size;
  return mlir::RankedTensorType::get(dims, type.getElementType());
}

mlir::shard::ReductionKind reductionOf(Combiner combiner) {
  using mlir::shard::ReductionKind;
  switch (combiner) {
  case Combiner::Sum:
    return ReductionKind::Sum;
  case Combiner::Max:
    return ReductionKind::Max;
  case Combiner::Min:
    return ReductionKind::Min;
  case Combiner::Product:
    return ReductionKind::Product;
  case Combiner::And:
    return ReductionKind::BitwiseAnd;
  case Combiner::Or:
    return ReductionKind::BitwiseOr;
  case Combiner::LogSumExp:
    llvm_unreachable("written as a maximum and a sum");
  }
  llvm_unreachable("every combiner has a kind");
}

} // namespace

llvm::SmallVector<int64_t> ShardCollectives::sizes(llvm::ArrayRef<AxisId> axes) const {
  return llvm::map_to_vector(axes, [&](AxisId axis) { return mesh.size(axis); });
}

mlir::DenseI16ArrayAttr ShardCollectives::gridAxes(llvm::ArrayRef<AxisId> axes) {
  return builder.getDenseI16ArrayAttr(
      llvm::map_to_vector(axes, [](AxisId axis) { return static_cast<int16_t>(axis.index()); }));
}

llvm::SmallVector<mlir::Value, 1> ShardCollectives::convert(mlir::Operation *op, mlir::ValueRange operands) {
  if (auto moved = llvm::dyn_cast<CollectiveInterface>(op)) {
    const CoalescedCollective &collective = moved.getCollective().getValue();
    llvm::SmallVector<mlir::Value, 1> results;
    for (auto [value, input, type] : llvm::zip_equal(collective.values, operands, op->getResultTypes()))
      results.push_back(convertValue(op->getLoc(), collective, value, input, llvm::cast<mlir::RankedTensorType>(type)));
    return results;
  }
  if (auto padded = llvm::dyn_cast<MaskPaddingOp>(op))
    return {mask(padded, operands[0])};
  if (auto addend = llvm::dyn_cast<KeepOnFirstOp>(op))
    return {keep(addend, operands[0])};
  if (auto position = llvm::dyn_cast<ShardOffsetOp>(op))
    return {offset(position)};
  op->emitOpError("has no form in the shard dialect");
  return {};
}

mlir::Value ShardCollectives::convertValue(mlir::Location loc, const CoalescedCollective &collective,
                                           const CoalescedCollective::Value &value, mlir::Value input,
                                           mlir::RankedTensorType result) {
  namespace shard = mlir::shard;
  if (isReduction(collective.kind) && value.from.combiner == Combiner::LogSumExp)
    return combineLogSums(loc, collective, value, input, result);
  auto grid = mlir::FlatSymbolRefAttr::get(builder.getContext(), gridName);
  auto reduction = shard::ReductionKindAttr::get(builder.getContext(), reductionOf(value.from.combiner));
  mlir::DenseI16ArrayAttr axes = gridAxes(collective.axes);
  llvm::SmallVector<int64_t> ways = sizes(collective.axes);
  unsigned fromDim = dimWithMore(value.from, value.to), toDim = dimWithMore(value.to, value.from);
  auto attribute = [&](unsigned dim) { return builder.getIndexAttr(dim); };
  /// The type of the pieces joined along `fromDim`, before they are trimmed.
  auto joined = [&](mlir::RankedTensorType type) {
    return withDim(type, fromDim, typeOf(input).getDimSize(fromDim) * mesh.size(collective.axes));
  };
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    input = shard::AllGatherOp::create(builder, loc, joined(result), grid, axes, input, attribute(fromDim));
    return afterJoin(value, input, fromDim, ways);
  case CollectiveKind::Slice:
    input = beforeCut(value, input, toDim, ways);
    return shard::AllSliceOp::create(builder, loc, result, grid, axes, input, attribute(toDim));
  case CollectiveKind::AllToAll:
    input = beforeCut(value, input, toDim, ways);
    input = shard::AllToAllOp::create(builder, loc, joined(result), grid, axes, input, attribute(toDim),
                                      attribute(fromDim));
    return afterJoin(value, input, fromDim, ways);
  case CollectiveKind::ReduceScatter:
    input = beforeCut(value, input, toDim, ways);
    return shard::ReduceScatterOp::create(builder, loc, result, grid, axes, input, reduction, attribute(toDim));
  case CollectiveKind::AllReduce:
    return shard::AllReduceOp::create(builder, loc, result, grid, axes, input, reduction);
  case CollectiveKind::Permute:
    return permute(loc, collective.axes, value, input);
  }
  llvm_unreachable("every collective has an op");
}

/// m + log(sum(exp(x - m))) over the devices, with m the greatest x, or the lowest finite number above it where all are
/// minus infinity.
mlir::Value ShardCollectives::combineLogSums(mlir::Location loc, const CoalescedCollective &collective,
                                             const CoalescedCollective::Value &value, mlir::Value input,
                                             mlir::RankedTensorType result) {
  namespace arith = mlir::arith;
  namespace math = mlir::math;
  mlir::RankedTensorType type = typeOf(input);
  CoalescedCollective whole = collective, cut = collective;
  whole.kind = CollectiveKind::AllReduce;
  cut.kind = CollectiveKind::Slice;
  CoalescedCollective::Value most = value, sum = value;
  most.from.combiner = Combiner::Max;
  sum.from.combiner = Combiner::Sum;
  auto element = llvm::cast<mlir::FloatType>(type.getElementType());
  auto lowest = builder.getFloatAttr(element, llvm::APFloat::getLargest(element.getFloatSemantics(), true));
  mlir::Value greatest = convertValue(loc, whole, most, input, type);
  greatest = arith::MaximumFOp::create(builder, loc, greatest, filled(loc, type, lowest));
  mlir::Value shares = math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, input, greatest));
  mlir::Value sums = convertValue(loc, collective, sum, shares, result);
  if (collective.kind == CollectiveKind::ReduceScatter)
    greatest = convertValue(loc, cut, value, greatest, result);
  return arith::AddFOp::create(builder, loc, greatest, math::LogOp::create(builder, loc, sums));
}

mlir::Value ShardCollectives::beforeCut(const CoalescedCollective::Value &value, mlir::Value input, unsigned dim,
                                        llvm::ArrayRef<int64_t> ways) {
  if (value.to.partsOf(dim).empty())
    return padDim(input, dim, ways);
  return interleaveParts(input, dim, ways, partsBetween(value, value.from, value.to, dim, mesh));
}

mlir::Value ShardCollectives::afterJoin(const CoalescedCollective::Value &value, mlir::Value input, unsigned dim,
                                        llvm::ArrayRef<int64_t> ways) {
  if (value.from.partsOf(dim).empty())
    return trimDim(input, dim, ways, localSize(value.dims[dim], value.to.dims[dim], mesh));
  return separateParts(input, dim, ways, partsBetween(value, value.to, value.from, dim, mesh));
}

/// Each process looks its peers up in tables over its coordinates along the group's axes.
mlir::Value ShardCollectives::permute(mlir::Location loc, const AxisList &group,
                                      const CoalescedCollective::Value &value, mlir::Value input) {
  std::vector<PermutePeers> peers = permutePeers(group, value.from, value.to, mesh, 0);
  llvm::SmallVector<mlir::Value> here = coordinates(loc, group);
  auto tableType = mlir::RankedTensorType::get(sizes(group), builder.getIndexType());
  auto lookUp = [&](auto peerOf) {
    llvm::SmallVector<mlir::Value> peer;
    for (AxisId axis : group) {
      auto values = llvm::map_to_vector(peers, [&](const PermutePeers &entry) {
        return llvm::APInt(64, static_cast<uint64_t>(mesh.coordinates(peerOf(entry))[axis.index()]));
      });
      auto table = mlir::arith::ConstantOp::create(builder, loc, mlir::DenseElementsAttr::get(tableType, values));
      peer.push_back(mlir::tensor::ExtractOp::create(builder, loc, table, here));
    }
    return peer;
  };
  auto grid = mlir::FlatSymbolRefAttr::get(builder.getContext(), gridName);
  mlir::DenseI16ArrayAttr axes = gridAxes(group);
  auto isDynamic = builder.getDenseI64ArrayAttr(llvm::SmallVector<int64_t>(group.size(), mlir::ShapedType::kDynamic));
  auto sent = mlir::shard::SendOp::create(builder, loc, input.getType(), grid, axes, input, isDynamic,
                                          lookUp([](const PermutePeers &entry) { return entry.sendTo; }));
  return mlir::shard::RecvOp::create(builder, loc, input.getType(), grid, axes, sent, isDynamic,
                                     lookUp([](const PermutePeers &entry) { return entry.receiveFrom; }));
}

mlir::Value ShardCollectives::resizeDim(mlir::Value input, unsigned dim, int64_t size) {
  mlir::RankedTensorType type = typeOf(input);
  int64_t held = type.getDimSize(dim);
  if (held == size)
    return input;
  auto asIndices = [&](llvm::ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values,
                               [&](int64_t value) -> mlir::OpFoldResult { return builder.getIndexAttr(value); });
  };
  mlir::Location loc = input.getLoc();
  mlir::RankedTensorType part = withDim(type, dim, std::min(held, size)), resized = withDim(type, dim, size);
  // Slices of nothing have no valid offset.
  if (part.getNumElements() == 0)
    return zeros(loc, resized);
  llvm::SmallVector<int64_t> zero(static_cast<size_t>(type.getRank()), 0), one(zero.size(), 1);
  auto offsets = asIndices(zero), counts = asIndices(part.getShape()), strides = asIndices(one);
  if (size < held)
    return mlir::tensor::ExtractSliceOp::create(builder, loc, part, input, offsets, counts, strides);
  return mlir::tensor::InsertSliceOp::create(builder, loc, input, zeros(loc, resized), offsets, counts, strides);
}

mlir::Value ShardCollectives::splitDim(mlir::Value input, unsigned dim, int64_t outer) {
  mlir::RankedTensorType type = typeOf(input);
  llvm::SmallVector<int64_t> dims(type.getShape());
  dims.insert(dims.begin() + dim, outer);
  dims[dim + 1] /= outer;
  llvm::SmallVector<mlir::ReassociationIndices> groups;
  for (int64_t from = 0, to = 0; from < type.getRank(); ++from) {
    groups.push_back({to++});
    if (from == static_cast<int64_t>(dim))
      groups.back().push_back(to++);
  }
  return mlir::tensor::ExpandShapeOp::create(builder, input.getLoc(),
                                             mlir::RankedTensorType::get(dims, type.getElementType()), input, groups);
}

mlir::Value ShardCollectives::joinDim(mlir::Value input, unsigned dim) {
  mlir::RankedTensorType type = typeOf(input);
  llvm::SmallVector<int64_t> dims(type.getShape());
  dims[dim] *= dims[dim + 1];
  dims.erase(dims.begin() + dim + 1);
  llvm::SmallVector<mlir::ReassociationIndices> groups;
  for (int64_t from = 0; from < type.getRank(); ++from)
    if (from == static_cast<int64_t>(dim) + 1)
      groups.back().push_back(from);
    else
      groups.push_back({from});
  return mlir::tensor::CollapseShapeOp::create(builder, input.getLoc(),
                                               mlir::RankedTensorType::get(dims, type.getElementType()), input, groups);
}

mlir::Value ShardCollectives::padDim(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways) {
  int64_t size = typeOf(input).getDimSize(dim), all = 1;
  for (int64_t way : ways)
    all *= way;
  if (ways.empty() || size % all == 0)
    return input;
  int64_t piece = (size + ways[0] - 1) / ways[0];
  input = resizeDim(input, dim, piece * ways[0]);
  if (ways.size() == 1 || piece % (all / ways[0]) == 0)
    return input;
  return joinDim(padDim(splitDim(input, dim, ways[0]), dim + 1, ways.drop_front()), dim);
}

mlir::Value ShardCollectives::trimDim(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways, int64_t size) {
  if (ways.empty() || typeOf(input).getDimSize(dim) == size)
    return input;
  int64_t piece = (size + ways[0] - 1) / ways[0];
  if (ways.size() > 1 && typeOf(input).getDimSize(dim) != piece * ways[0])
    input = joinDim(trimDim(splitDim(input, dim, ways[0]), dim + 1, ways.drop_front(), piece), dim);
  return resizeDim(input, dim, size);
}

mlir::Value ShardCollectives::sliceDim(mlir::Value input, unsigned dim, int64_t begin, int64_t count) {
  mlir::RankedTensorType part = withDim(typeOf(input), dim, count);
  auto asIndex = [&](int64_t value) -> mlir::OpFoldResult { return builder.getIndexAttr(value); };
  llvm::SmallVector<mlir::OpFoldResult> offsets(static_cast<size_t>(part.getRank()), asIndex(0));
  llvm::SmallVector<mlir::OpFoldResult> strides(offsets.size(), asIndex(1));
  offsets[dim] = asIndex(begin);
  return mlir::tensor::ExtractSliceOp::create(builder, input.getLoc(), part, input, offsets,
                                              llvm::map_to_vector(part.getShape(), asIndex), strides);
}

mlir::Value ShardCollectives::interleaveParts(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways,
                                              llvm::ArrayRef<int64_t> parts) {
  int64_t all = 1, begin = 0;
  for (int64_t way : ways)
    all *= way;
  llvm::SmallVector<mlir::Value> pieces;
  for (int64_t size : parts) {
    pieces.push_back(splitDim(padDim(sliceDim(input, dim, begin, size), dim, ways), dim, all));
    begin += size;
  }
  mlir::Value joined = mlir::tensor::ConcatOp::create(builder, input.getLoc(), dim + 1, pieces);
  return joinDim(joined, dim);
}

mlir::Value ShardCollectives::separateParts(mlir::Value input, unsigned dim, llvm::ArrayRef<int64_t> ways,
                                            llvm::ArrayRef<int64_t> parts) {
  int64_t all = 1, begin = 0;
  for (int64_t way : ways)
    all *= way;
  mlir::Value split = splitDim(input, dim, all);
  llvm::SmallVector<mlir::Value> pieces;
  for (int64_t size : parts) {
    int64_t held = size;
    for (int64_t way : ways)
      held = (held + way - 1) / way;
    pieces.push_back(trimDim(joinDim(sliceDim(split, dim + 1, begin, held), dim), dim, ways, size));
    begin += held;
  }
  return mlir::tensor::ConcatOp::create(builder, input.getLoc(), dim, pieces);
}

} // namespace apc
