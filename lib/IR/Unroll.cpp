// Values taken apart along a dim, and put together again.
#include "apc/IR/Unroll.h"

#include "Ops/MakeOp.h"
#include "apc/IR/Kernels/Tensor.h"
#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

namespace {

mlir::Value integerList(mlir::OpBuilder &builder, const llvm::Twine &name, llvm::ArrayRef<int64_t> values) {
  Tensor list{{static_cast<int64_t>(values.size())}, builder.getI64Type(), {values.begin(), values.end()}, {}};
  return ConstantOp::create(builder, mlir::NameLoc::get(builder.getStringAttr(name)), list.toAttribute());
}

/// Equal parts of extent 1 along `axis`.
mlir::ResultRange splitEvenly(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::Value value, int64_t axis,
                              int64_t count) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(value));
  dims[static_cast<size_t>(axis)] = 1;
  auto type = mlir::RankedTensorType::get(dims, llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType());
  mlir::Value sizes = integerList(builder, name + ".sizes", llvm::SmallVector<int64_t>(static_cast<size_t>(count), 1));
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name + ".split")), SplitOp::getOperationName());
  state.addOperands({value, sizes});
  state.addAttribute("axis", builder.getI64IntegerAttr(axis));
  state.addTypes(llvm::SmallVector<mlir::Type>(static_cast<size_t>(count), type));
  return builder.create(state)->getResults();
}

} // namespace

llvm::SmallVector<mlir::Value> takeApart(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::Value value,
                                         int64_t axis) {
  int64_t count = dimsOf(value)[static_cast<size_t>(axis)];
  llvm::SmallVector<mlir::Value> parts = {value};
  if (count != 1)
    parts = splitEvenly(builder, name, value, axis, count);
  mlir::Value axes = integerList(builder, name + ".axes", {axis});
  for (mlir::Value &part : parts)
    part = makeOp<SqueezeOp>(builder, name + ".element", {part, axes});
  return parts;
}

mlir::Value putTogether(mlir::OpBuilder &builder, const llvm::Twine &name, mlir::ValueRange values, int64_t axis) {
  mlir::Value axes = integerList(builder, name + ".axes", {axis});
  llvm::SmallVector<mlir::Value> parts;
  for (mlir::Value value : values)
    parts.push_back(makeOp<UnsqueezeOp>(builder, name + ".element", {value, axes}));
  if (parts.size() == 1)
    return parts.front();
  return makeOp<ConcatOp>(builder, name, parts, {builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis))});
}

llvm::SmallVector<mlir::Value> countUp(mlir::OpBuilder &builder, const llvm::Twine &name, int64_t count) {
  llvm::SmallVector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    numbers[static_cast<size_t>(i)] = i;
  return takeApart(builder, name, integerList(builder, name, numbers), 0);
}

} // namespace apc
