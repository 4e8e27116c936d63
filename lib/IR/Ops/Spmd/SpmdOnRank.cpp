// Ops that depend on the rank, written out for one rank.
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

namespace {

/// Builds the plain ops of one rank in place of `op`.
class RankResolver {
public:
  RankResolver(mlir::OpBuilder &builder, mlir::Operation *op, const Mesh &mesh, int64_t rank)
      : builder(builder), op(op), mesh(mesh), rank(rank) {}

  mlir::FailureOr<mlir::Value> resolve();

private:
  mlir::FailureOr<mlir::Value> slice();
  mlir::FailureOr<mlir::Value> mask(MaskPaddingOp mask);
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

mlir::FailureOr<mlir::Value> RankResolver::slice() {
  auto step = readStep(op, mesh);
  if (mlir::failed(step))
    return mlir::failure();
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  for (unsigned dim = 0; dim < step->shape.numDims(); ++dim) {
    if (step->from.dims[dim] == step->to.dims[dim])
      continue;
    int64_t size = step->shape.dims[dim], held = dimsOf(op->getOperand(0))[dim], wanted = type.getDimSize(dim);
    int64_t begin =
        dimSlice(size, step->to.dims[dim], mesh, rank).begin - dimSlice(size, step->from.dims[dim], mesh, rank).begin;
    return window(op->getOperand(0), dim, begin, std::min(held - begin, wanted), type,
                  neutralAttribute(Combiner::Sum, type.getElementType()));
  }
  return op->getOperand(0);
}

mlir::FailureOr<mlir::Value> RankResolver::mask(MaskPaddingOp mask) {
  auto axes = readAxes(mask, mask.getAxes(), mesh);
  auto combiner = parseCombiner(mask.getCombiner());
  auto type = llvm::cast<mlir::RankedTensorType>(mask.getType());
  auto dim = static_cast<unsigned>(mask.getDim());
  if (mlir::failed(axes))
    return mlir::failure();
  if (!combiner || dim >= type.getRank())
    return op->emitOpError("has no such combiner or dim"), mlir::failure();
  int64_t count = dimSlice(static_cast<int64_t>(mask.getSize()), *axes, mesh, rank).count;
  return window(mask.getInput(), dim, 0, count, type, neutralAttribute(*combiner, type.getElementType()));
}

mlir::FailureOr<mlir::Value> RankResolver::resolve() {
  if (llvm::isa<ShardSliceOp>(op))
    return slice();
  if (auto padded = llvm::dyn_cast<MaskPaddingOp>(op))
    return mask(padded);
  if (!llvm::isa<KeepOnFirstOp, ShardOffsetOp>(op))
    return op->emitOpError("does not depend on the rank alone"), mlir::failure();
  auto axes = readAxes(op, op->getAttrOfType<mlir::ArrayAttr>("axes"), mesh);
  if (mlir::failed(axes))
    return mlir::failure();
  auto type = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (auto offset = llvm::dyn_cast<ShardOffsetOp>(op)) {
    DimSlice held = dimSlice(static_cast<int64_t>(offset.getSize()), *axes, mesh, rank);
    if (type.getNumElements() == 2)
      return list({held.begin, held.begin + held.count});
    return splat(type, builder.getIntegerAttr(type.getElementType(), held.begin));
  }
  if (mesh.indexInGroup(rank, *axes) == 0)
    return op->getOperand(0);
  return splat(type, neutralAttribute(Combiner::Sum, type.getElementType()));
}

} // namespace

bool isResolvedByRank(mlir::Operation *op) {
  return llvm::isa<ShardSliceOp, MaskPaddingOp, KeepOnFirstOp, ShardOffsetOp>(op);
}

mlir::FailureOr<mlir::Value> resolveOnRank(mlir::OpBuilder &builder, mlir::Operation *op, const Mesh &mesh,
                                           int64_t rank) {
  return RankResolver(builder, op, mesh, rank).resolve();
}

} // namespace apc
