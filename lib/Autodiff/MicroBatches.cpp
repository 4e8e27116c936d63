// Weights of micro-batches, by the op that makes the loss.
#include "MicroBatches.h"

#include "NamedOp.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

/// The op that computes `loss`, seen through views of its one element.
mlir::Operation *makerOf(mlir::Value loss) {
  mlir::Operation *op = loss.getDefiningOp();
  while (op && op->getNumOperands() > 0) {
    auto interface = llvm::dyn_cast<OperatorInterface>(op);
    mlir::FailureOr<FactorRule> rule = interface ? interface.getRule() : mlir::FailureOr<FactorRule>();
    mlir::Operation *before = op->getOperand(0).getDefiningOp();
    if (mlir::failed(rule) || rule->work != Work::View || !before)
      break;
    op = before;
  }
  return op;
}

class LossWeigher {
public:
  LossWeigher(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches)
      : loss(loss), microBatches(static_cast<double>(microBatches)), builder(main.getContext()) {
    builder.setInsertionPoint(main.front().getTerminator());
  }

  WeighedLoss run();

private:
  template <typename Op>
  mlir::Value make(llvm::StringRef suffix, mlir::Type type, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value constant(mlir::Type element, double value);
  /// The sum of the weights of the labels that count; null where each label has weight 1.
  mlir::Value countLabels(mlir::Operation *op);
  mlir::Value absent() { return NoneOp::create(builder, loss.getLoc()); }
  mlir::Type lossElement() const { return mlir::getElementTypeOrSelf(loss.getType()); }

  mlir::Value loss;
  double microBatches;
  mlir::OpBuilder builder;
};

template <typename Op>
mlir::Value LossWeigher::make(llvm::StringRef suffix, mlir::Type type, mlir::ValueRange operands,
                              llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return makeNamed<Op>(builder, "loss." + suffix, type, operands, attributes);
}

mlir::Value LossWeigher::constant(mlir::Type element, double value) {
  Tensor tensor = zeros(mlir::RankedTensorType::get({}, element));
  if (tensor.isFloat())
    tensor.floats[0] = value;
  else
    tensor.ints[0] = static_cast<int64_t>(value);
  roundToElement(tensor);
  return ConstantOp::create(builder, loss.getLoc(), tensor.toAttribute());
}

/// Behind the scores; a cross entropy reads their logarithmic sums first.
static mlir::Value labelsOf(mlir::Operation *op) { return op->getOperand(llvm::isa<CrossEntropyOp>(op) ? 2 : 1); }

mlir::Value LossWeigher::countLabels(mlir::Operation *op) {
  mlir::Value labels = labelsOf(op), weights = op->getOperand(llvm::isa<CrossEntropyOp>(op) ? 3 : 2);
  auto ignored = op->getAttrOfType<mlir::IntegerAttr>("ignore_index");
  auto type = llvm::cast<mlir::RankedTensorType>(labels.getType());
  mlir::Type bools = type.clone(builder.getI1Type()), floats = type.clone(builder.getF32Type());
  mlir::Value counted;
  if (ignored) {
    mlir::Value index = constant(type.getElementType(), static_cast<double>(ignored.getInt()));
    mlir::Value skipped = make<EqualOp>("ignored", bools, {labels, index});
    counted = make<NotOp>("counted", bools, skipped);
  }
  constexpr int64_t onnxFloat = 1; // f32, by ONNX's numbers of types
  auto toFloat = builder.getNamedAttr("to", builder.getI64IntegerAttr(onnxFloat));
  mlir::Value each;
  if (!isAbsent(weights)) {
    if (counted) // an index to ignore may be no class
      labels = make<WhereOp>("labels", type, {counted, labels, constant(type.getElementType(), 0)});
    each = make<GatherOp>("weights", type.clone(mlir::getElementTypeOrSelf(weights.getType())), {weights, labels});
    each = make<CastOp>("weights.f32", floats, each, toFloat);
  }
  if (counted)
    counted = make<CastOp>("counted.f32", floats, counted, toFloat);
  if (!each && !counted)
    return {};
  mlir::Value product = each && counted ? make<MulOp>("count", floats, {each, counted}) : each ? each : counted;
  return make<ReduceSumOp>("total", mlir::RankedTensorType::get({}, builder.getF32Type()), {product, absent()},
                           builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0)));
}

WeighedLoss LossWeigher::run() {
  mlir::Operation *op = makerOf(loss);
  auto reduction = op ? op->getAttrOfType<mlir::StringAttr>("reduction") : mlir::StringAttr();
  if (op && llvm::isa<CrossEntropyOp, SoftmaxCrossEntropyLossOp, NegativeLogLikelihoodLossOp>(op)) {
    bool isSum = reduction && reduction.getValue() == "sum";
    if (isSum)
      return {loss, {}, {}};
    if (mlir::Value count = countLabels(op)) {
      auto labels = llvm::cast<mlir::RankedTensorType>(labelsOf(op).getType());
      double all = microBatches * static_cast<double>(labels.getNumElements());
      mlir::Value share = make<MulOp>("share", count.getType(), {count, constant(builder.getF32Type(), 1 / all)});
      mlir::Value own = share;
      if (!lossElement().isF32())
        own = make<CastLikeOp>("share.cast", mlir::RankedTensorType::get({}, lossElement()), {share, loss});
      return {make<MulOp>("weighed", loss.getType(), {loss, own}), share, own};
    }
  }
  if (op && llvm::isa<ReduceSumOp>(op))
    return {loss, {}, {}};
  mlir::Value part = constant(lossElement(), 1 / microBatches);
  return {make<MulOp>("weighed", loss.getType(), {loss, part}), {}, part};
}

} // namespace

WeighedLoss weighLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches) {
  return LossWeigher(main, loss, microBatches).run();
}

} // namespace apc
