// Ops that depend on the rank, written out for one rank.
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "llvm/ADT/TypeSwitch.h"

namespace apc {

namespace {

/// Builds the plain ops of one rank in place of `op`.
class RankResolver {
public:
  RankResolver(mlir::OpBuilder &builder, mlir::Operation *op, const Mesh &mesh, int64_t rank)
      : builder(builder), op(op), mesh(mesh), rank(rank) {}

  mlir::FailureOr<llvm::SmallVector<mlir::Value, 1>> resolve();

private:
  mlir::Value slice(const CoalescedCollective::Value &value, mlir::Value input, mlir::Type output);
  mlir::Value sliceInsideParts(const CoalescedCollective::Value &value, mlir::Value input, unsigned dim,
                               mlir::RankedTensorType type);
  mlir::Value mask(MaskPaddingOp mask);
  mlir::Value offset(ShardOffsetOp offset);
  mlir::Value keep(KeepOnFirstOp keep);
  mlir::Value splat(mlir::RankedTensorType type, mlir::Attribute element) {
    return ConstantOp::create(builder, op->getLoc(), mlir::DenseElementsAttr::get(type, element));
  }
  mlir::Value list(llvm::ArrayRef<int64_t> values) {
    auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI64Type());
    return ConstantOp::create(builder, op->getLoc(), mlir::DenseElementsAttr::get(type, values));
  }
  /// `count` elements from `begin` on of a dim, then `element` up to the size of `type`; all of it when nothing is
  /// left.
  mlir::Value window(mlir::Value input, unsigned dim, int64_t begin, int64_t count, mlir::RankedTensorType type,
                     mlir::TypedAttr element);

  mlir::OpBuilder &builder;
  mlir::Operation *op;
  const Mesh &mesh;
  int64_t rank;
};

mlir::Value RankResolver::window(mlir::Value input, unsigned dim, int64_t begin, int64_t count,
                                 mlir::RankedTensorType type, mlir::TypedAttr element) {
  if (count <= 0)
    return splat(type, element);
  mlir::Value none;
  auto absent = [&] { return none ? none : none = NoneOp::create(builder, op->getLoc()).getOutput(); };
  llvm::SmallVector<int64_t> dims(dimsOf(input));
  auto axis = static_cast<int64_t>(dim);
  if (count != dims[dim]) {
    dims[dim] = count;
    input = SliceOp::create(builder, op->getLoc(), mlir::RankedTensorType::get(dims, type.getElementType()), input,
                            list({begin}), list({begin + count}), list({axis}), absent());
  }
  if (count == type.getDimSize(dim))
    return input;
  mlir::Value value = splat(mlir::RankedTensorType::get({}, type.getElementType()), element);
  return PadOp::create(builder, op->getLoc(), type, input, list({0, type.getDimSize(dim) - count}), value, list({axis}),
                       "constant", mlir::FloatAttr());
}

mlir::Value RankResolver::slice(const CoalescedCollective::Value &value, mlir::Value input, mlir::Type output) {
  auto type = llvm::cast<mlir::RankedTensorType>(output);
  for (unsigned dim = 0; dim < value.from.numDims(); ++dim) {
    if (value.from.dims[dim] == value.to.dims[dim])
      continue;
    if (!value.to.partsOf(dim).empty())
      return sliceInsideParts(value, input, dim, type);
    int64_t size = value.dims[dim], held = dimsOf(input)[dim], wanted = type.getDimSize(dim);
    int64_t begin =
        dimSlice(size, value.to.dims[dim], mesh, rank).begin - dimSlice(size, value.from.dims[dim], mesh, rank).begin;
    return window(input, dim, begin, std::min(held - begin, wanted), type,
                  neutralAttribute(Combiner::Sum, type.getElementType()));
  }
  return input;
}

/// A window of each part, joined.
mlir::Value RankResolver::sliceInsideParts(const CoalescedCollective::Value &value, mlir::Value input, unsigned dim,
                                           mlir::RankedTensorType type) {
  // The parts as the input has them: whole, or cut by the axes that it has before.
  Sharding before = value.from;
  setParts(before.parted, dim, value.to.partsOf(dim));
  auto held = dimRuns(value.dims[dim], before, dim, mesh, rank),
       wanted = dimRuns(value.dims[dim], value.to, dim, mesh, rank);
  llvm::SmallVector<mlir::Value> windows;
  for (auto [from, to] : llvm::zip_equal(held, wanted)) {
    llvm::SmallVector<int64_t> dims(type.getShape());
    dims[dim] = to.room;
    int64_t inPart = to.begin - from.begin;
    windows.push_back(window(input, dim, from.at + inPart, std::min(from.room - inPart, to.room),
                             mlir::RankedTensorType::get(dims, type.getElementType()),
                             neutralAttribute(Combiner::Sum, type.getElementType())));
  }
  return ConcatOp::create(builder, op->getLoc(), type, windows, static_cast<int64_t>(dim));
}

mlir::Value RankResolver::mask(MaskPaddingOp mask) {
  auto type = llvm::cast<mlir::RankedTensorType>(mask.getType());
  auto dim = static_cast<unsigned>(mask.getDim());
  mlir::TypedAttr neutral = neutralAttribute(mask.getCombiner().getValue(), type.getElementType());
  llvm::SmallVector<mlir::Value> windows;
  for (const DimRun &run : mask.getRuns(mesh, rank)) {
    llvm::SmallVector<int64_t> dims(type.getShape());
    dims[dim] = run.room;
    windows.push_back(window(mask.getInput(), dim, run.at, run.count, type.clone(dims), neutral));
  }
  return windows.size() == 1
             ? windows.front()
             : ConcatOp::create(builder, op->getLoc(), type, windows, static_cast<int64_t>(dim)).getResult();
}

mlir::Value RankResolver::offset(ShardOffsetOp offset) {
  auto type = llvm::cast<mlir::RankedTensorType>(offset.getType());
  DimSlice held = dimSlice(static_cast<int64_t>(offset.getSize()), offset.getAxes().getValue(), mesh, rank);
  if (type.getNumElements() == 2)
    return list({held.begin, held.begin + held.count});
  return splat(type, builder.getIntegerAttr(type.getElementType(), held.begin));
}

mlir::Value RankResolver::keep(KeepOnFirstOp keep) {
  if (mesh.indexInGroup(rank, keep.getAxes().getValue()) == 0)
    return keep.getInput();
  auto type = llvm::cast<mlir::RankedTensorType>(keep.getType());
  return splat(type, neutralAttribute(Combiner::Sum, type.getElementType()));
}

mlir::FailureOr<llvm::SmallVector<mlir::Value, 1>> RankResolver::resolve() {
  llvm::SmallVector<mlir::Value, 1> resolved;
  if (auto slices = llvm::dyn_cast<ShardSliceOp>(op)) {
    const CoalescedCollective &collective = slices.getCollective().getValue();
    for (auto [value, input, output] : llvm::zip_equal(collective.values, op->getOperands(), op->getResultTypes()))
      resolved.push_back(slice(value, input, output));
    return resolved;
  }
  mlir::Value value = llvm::TypeSwitch<mlir::Operation *, mlir::Value>(op)
                          .Case([&](MaskPaddingOp padded) { return mask(padded); })
                          .Case([&](ShardOffsetOp position) { return offset(position); })
                          .Case([&](KeepOnFirstOp addend) { return keep(addend); })
                          .Default(mlir::Value());
  if (!value)
    return op->emitOpError("does not depend on the rank alone"), mlir::failure();
  resolved.push_back(value);
  return resolved;
}

} // namespace

bool isResolvedByRank(mlir::Operation *op) {
  return llvm::isa<ShardSliceOp, MaskPaddingOp, KeepOnFirstOp, ShardOffsetOp>(op);
}

mlir::FailureOr<llvm::SmallVector<mlir::Value, 1>> resolveOnRank(mlir::OpBuilder &builder, mlir::Operation *op,
                                                                 const Mesh &mesh, int64_t rank) {
  return RankResolver(builder, op, mesh, rank).resolve();
}

} // namespace apc
