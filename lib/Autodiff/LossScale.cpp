// Scalars of the scale: what PyTorch's GradScaler does between backward pass and update.
#include "LossScale.h"

#include "NamedOp.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include <limits>

namespace apc {

namespace {

constexpr double firstScale = 65536, growth = 2;
constexpr double growthInterval = 2000; // good steps in a row

} // namespace

LossScale::LossScale(mlir::func::FuncOp main, LossScaling scaling)
    : main(main), builder(main.getContext()), real(mlir::RankedTensorType::get({}, builder.getF32Type())),
      whole(mlir::RankedTensorType::get({}, builder.getI64Type())),
      truth(mlir::RankedTensorType::get({}, builder.getI1Type())) {
  builder.setInsertionPoint(main.front().getTerminator());
  skipped = addState("loss_scale.skipped_steps", builder.getI64Type());
  if (scaling.fixed) {
    scale = number(*scaling.fixed);
    return;
  }
  exponent = addState("loss_scale.exponent", builder.getF32Type());
  goodSteps = addState("loss_scale.good_steps", builder.getF32Type());
  mlir::Value power = make<PowOp>("loss_scale.power", real, {number(growth), exponent});
  scale = make<MulOp>("loss_scale", real, {power, number(firstScale)});
}

template <typename Op>
mlir::Value LossScale::make(llvm::StringRef name, mlir::Type type, mlir::ValueRange operands) {
  return makeNamed<Op>(builder, name, type, operands);
}

mlir::Value LossScale::number(double value) {
  Tensor tensor{{}, builder.getF32Type(), {}, {value}};
  roundToElement(tensor);
  return ConstantOp::create(builder, main.getLoc(), tensor.toAttribute());
}

mlir::Value LossScale::addState(llvm::StringRef name, mlir::Type element) {
  auto type = mlir::RankedTensorType::get({}, element);
  return ParameterOp::create(builder, main.getLoc(), type, builder.getStringAttr(name),
                             builder.getStringAttr(zerosSource), nullptr, nullptr, nullptr)
      .getOutput();
}

mlir::Value LossScale::seed(mlir::Type lossType) {
  Tensor ones = zeros(lossType);
  ones.floats.assign(ones.floats.size(), 1);
  mlir::Value one = ConstantOp::create(builder, main.getLoc(), ones.toAttribute());
  return make<MulOp>("loss_scale.seed", lossType, {one, scale});
}

mlir::Value LossScale::countOf(mlir::Value step) {
  builder.setInsertionPoint(main.front().getTerminator());
  return make<SubOp>("loss_scale.count", whole, {step, skipped});
}

mlir::Value LossScale::unscaled(mlir::Value squares, mlir::Value ratio) {
  builder.setInsertionPoint(main.front().getTerminator());
  mlir::Value largest = number(std::numeric_limits<float>::max());
  finite = make<LessOrEqualOp>("loss_scale.finite", truth, {squares, largest});
  mlir::Value inverse = make<DivOp>("loss_scale.inverse", real, {ratio, scale});
  return make<WhereOp>("loss_scale.update", real, {finite, inverse, number(0)});
}

std::vector<LossScale::NextState> LossScale::nextStates() {
  assert(finite && "a step is finite or not before its states follow");
  Tensor one{{}, builder.getI64Type(), {1}, {}};
  mlir::Value increment = ConstantOp::create(builder, main.getLoc(), one.toAttribute());
  mlir::Value more = make<AddOp>("loss_scale.more_skipped", whole, {skipped, increment});
  std::vector<NextState> next = {
      {"loss_scale.skipped_steps", make<WhereOp>("loss_scale.next_skipped", whole, {finite, skipped, more})}};
  if (!exponent)
    return next;
  mlir::Value longer = make<AddOp>("loss_scale.run", real, {goodSteps, number(1)});
  mlir::Value grows = make<GreaterOrEqualOp>("loss_scale.grows", truth, {longer, number(growthInterval)});
  mlir::Value up = make<WhereOp>("loss_scale.rise", real, {grows, number(1), number(0)});
  mlir::Value change = make<WhereOp>("loss_scale.change", real, {finite, up, number(-1)});
  mlir::Value kept = make<WhereOp>("loss_scale.kept_run", real, {grows, number(0), longer});
  next.push_back({"loss_scale.exponent", make<AddOp>("loss_scale.next_exponent", real, {exponent, change})});
  next.push_back({"loss_scale.good_steps", make<WhereOp>("loss_scale.next_run", real, {finite, kept, number(0)})});
  return next;
}

} // namespace apc
