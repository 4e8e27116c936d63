// Ops that depend on the rank, computed from the coordinates of the process.
#include "ShardCollectives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace apc {

namespace arith = mlir::arith;
namespace tensor = mlir::tensor;

mlir::Value ShardCollectives::index(mlir::Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

mlir::Value ShardCollectives::constant(mlir::Location loc, mlir::DenseElementsAttr value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type.getElementType());
  if (!integer || integer.isSignless())
    return arith::ConstantOp::create(builder, loc, value);
  auto signless = value.bitcast(mlir::IntegerType::get(builder.getContext(), integer.getWidth()));
  return tensor::BitcastOp::create(builder, loc, type, arith::ConstantOp::create(builder, loc, signless));
}

mlir::Value ShardCollectives::filled(mlir::Location loc, mlir::RankedTensorType type, mlir::Attribute element) {
  return constant(loc, mlir::DenseElementsAttr::get(type, element));
}

mlir::Value ShardCollectives::zeros(mlir::Location loc, mlir::RankedTensorType type) {
  if (type.getNumElements() == 0)
    return tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  return filled(loc, type, neutralAttribute(Combiner::Sum, type.getElementType()));
}

llvm::SmallVector<mlir::Value> ShardCollectives::coordinates(mlir::Location loc, llvm::ArrayRef<AxisId> axes) {
  if (axes.empty())
    return {};
  llvm::SmallVector<mlir::Type> types(axes.size(), builder.getIndexType());
  auto grid = mlir::FlatSymbolRefAttr::get(builder.getContext(), gridName);
  auto op = mlir::shard::ProcessMultiIndexOp::create(builder, loc, types, grid, gridAxes(axes));
  return {op.getResults().begin(), op.getResults().end()};
}

std::pair<mlir::Value, mlir::Value> ShardCollectives::slice(mlir::Location loc, int64_t size,
                                                            llvm::ArrayRef<AxisId> axes) {
  mlir::Value zero = index(loc, 0), begin = zero, count = index(loc, size);
  llvm::SmallVector<mlir::Value> here = coordinates(loc, axes);
  for (auto [axis, coordinate] : llvm::zip_equal(axes, here)) {
    size = (size + mesh.size(axis) - 1) / mesh.size(axis);
    mlir::Value piece = index(loc, size);
    mlir::Value offset = arith::MulIOp::create(builder, loc, coordinate, piece);
    begin = arith::AddIOp::create(builder, loc, begin, offset);
    mlir::Value left = arith::SubIOp::create(builder, loc, count, offset);
    count = arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, left, zero), piece);
  }
  return {begin, count};
}

mlir::Value ShardCollectives::mask(MaskPaddingOp op, mlir::Value input) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  if (type.getNumElements() == 0)
    return input;
  auto dim = static_cast<unsigned>(op.getDim());
  mlir::Location loc = op.getLoc();
  llvm::SmallVector<mlir::OpFoldResult> offsets(static_cast<size_t>(type.getRank()), builder.getIndexAttr(0)),
      strides(offsets.size(), builder.getIndexAttr(1)), counts;
  for (int64_t size : type.getShape())
    counts.push_back(builder.getIndexAttr(size));
  llvm::SmallVector<int64_t> dims(type.getShape());
  dims[dim] = mlir::ShapedType::kDynamic;
  auto kept = mlir::RankedTensorType::get(dims, type.getElementType());
  mlir::Value masked = filled(loc, type, neutralAttribute(op.getCombiner().getValue(), type.getElementType()));
  int64_t at = 0;
  for (int64_t size : op.getPartSizes()) {
    offsets[dim] = builder.getIndexAttr(at);
    counts[dim] = slice(loc, size, op.getAxes().getValue()).second;
    mlir::Value valid = tensor::ExtractSliceOp::create(builder, loc, kept, input, offsets, counts, strides);
    masked = tensor::InsertSliceOp::create(builder, loc, valid, masked, offsets, counts, strides);
    at += localSize(size, op.getAxes().getValue(), mesh);
  }
  return masked;
}

mlir::Value ShardCollectives::offset(ShardOffsetOp op) {
  mlir::Location loc = op.getLoc();
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  auto [begin, count] = slice(loc, static_cast<int64_t>(op.getSize()), op.getAxes().getValue());
  auto number = [&](mlir::Value value) -> mlir::Value {
    return arith::IndexCastOp::create(builder, loc, type.getElementType(), value);
  };
  if (type.getNumElements() != 2)
    return tensor::FromElementsOp::create(builder, loc, type, number(begin));
  mlir::Value end = arith::AddIOp::create(builder, loc, begin, count);
  return tensor::FromElementsOp::create(builder, loc, type, mlir::ValueRange{number(begin), number(end)});
}

mlir::Value ShardCollectives::keep(KeepOnFirstOp op, mlir::Value input) {
  mlir::Location loc = op.getLoc();
  mlir::Value isFirst = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  mlir::Value zero = index(loc, 0);
  for (mlir::Value coordinate : coordinates(loc, op.getAxes().getValue())) {
    mlir::Value here = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, coordinate, zero);
    isFirst = arith::AndIOp::create(builder, loc, isFirst, here);
  }
  return arith::SelectOp::create(builder, loc, isFirst, input,
                                 zeros(loc, llvm::cast<mlir::RankedTensorType>(op.getType())));
}

} // namespace apc
