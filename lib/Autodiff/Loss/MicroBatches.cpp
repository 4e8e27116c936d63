// Weights of micro-batches, by the terms of the loss.
#include "MicroBatches.h"

#include "../NamedOp.h"
#include "BatchShares.h"
#include "Loss.h"
#include "Quotients.h"

#include "apc/IR/Apc.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/PlaceName.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

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
  LossWeigher(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches, const llvm::StringSet<> &trained)
      : main(main), loss(loss), microBatches(static_cast<double>(microBatches)), trained(trained),
        builder(main.getContext()) {
    builder.setInsertionPoint(main.front().getTerminator());
  }

  WeighedLoss run();
  WeighedLoss runHeld();

private:
  template <typename Op>
  mlir::Value make(llvm::StringRef suffix, mlir::Type type, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value constant(mlir::Type element, double value);
  mlir::Value scaled(mlir::Value value, double factor, llvm::StringRef suffix);
  mlir::Value asScalar(mlir::Value value);
  /// The sum of the weights of the labels that count; null where each label has weight 1.
  mlir::Value countLabels(mlir::Operation *op);
  /// `value`, of which all micro-batches together have the sum.
  mlir::Value weigh(const BatchShares &shares, mlir::Value value);
  mlir::Value weighTerms(const BatchShares &shares, mlir::Operation *op);
  mlir::Value timesWeight(mlir::Value value);
  mlir::Value weighQuotient(const BatchShares &shares, mlir::Operation *op);
  mlir::Value weighCounted(mlir::Operation *op);
  double nearOne(const BatchShares &shares, mlir::Value below) const;
  WeighedLoss byMaker(mlir::Operation *since);
  void replaceLoss(mlir::Value own);
  mlir::NamedAttribute toFloat() {
    return builder.getNamedAttr("to", builder.getI64IntegerAttr(dataType(builder.getF32Type())));
  }
  mlir::Value absent() { return NoneOp::create(builder, loss.getLoc()); }
  mlir::Type lossElement() const { return mlir::getElementTypeOrSelf(loss.getType()); }

  mlir::func::FuncOp main;
  mlir::Value loss;
  double microBatches;
  const llvm::StringSet<> &trained;
  mlir::OpBuilder builder;
  mlir::Value weight; ///< of quotients, once the first is weighed
  std::optional<double> leastWeight;
  bool isMixed = false; ///< quotients of the loss divide by different numbers
  llvm::DenseMap<mlir::Value, mlir::Value> weighed;
  llvm::StringMap<unsigned> numScaled;
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

mlir::Value LossWeigher::scaled(mlir::Value value, double factor, llvm::StringRef suffix) {
  unsigned used = numScaled[suffix]++; // names of ops are unique
  std::string name = used == 0 ? suffix.str() : (suffix + "." + llvm::Twine(used + 1)).str();
  return make<MulOp>(name, value.getType(), {value, constant(mlir::getElementTypeOrSelf(value), factor)});
}

/// One number in f32, without dims.
mlir::Value LossWeigher::asScalar(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  if (!type.getElementType().isF32())
    value = make<CastOp>("divisor.f32", type.clone(builder.getF32Type()), value, toFloat());
  if (type.getRank() == 0)
    return value;
  Tensor dims{{0}, builder.getI64Type(), {}, {}};
  return make<ReshapeOp>("divisor", mlir::RankedTensorType::get({}, builder.getF32Type()),
                         {value, ConstantOp::create(builder, loss.getLoc(), dims.toAttribute())},
                         builder.getNamedAttr("allowzero", builder.getI64IntegerAttr(1)));
}

mlir::Value LossWeigher::countLabels(mlir::Operation *op) {
  mlir::Value labels = labelsOf(op), weights = classWeightsOf(op);
  auto ignored = op->getAttrOfType<mlir::IntegerAttr>("ignore_index");
  auto type = llvm::cast<mlir::RankedTensorType>(labels.getType());
  mlir::Type bools = type.clone(builder.getI1Type()), floats = type.clone(builder.getF32Type());
  mlir::Value counted;
  if (ignored) {
    mlir::Value index = constant(type.getElementType(), static_cast<double>(ignored.getInt()));
    mlir::Value skipped = make<EqualOp>("ignored", bools, {labels, index});
    counted = make<NotOp>("counted", bools, skipped);
  }
  mlir::Value each;
  if (!isAbsent(weights)) {
    if (counted) // an index to ignore may be no class
      labels = make<WhereOp>("labels", type, {counted, labels, constant(type.getElementType(), 0)});
    each = make<GatherOp>("weights", type.clone(mlir::getElementTypeOrSelf(weights.getType())), {weights, labels});
    each = make<CastOp>("weights.f32", floats, each, toFloat());
  }
  if (counted)
    counted = make<CastOp>("counted.f32", floats, counted, toFloat());
  mlir::Value product = each && counted ? make<MulOp>("count", floats, {each, counted}) : each ? each : counted;
  return make<ReduceSumOp>("total", mlir::RankedTensorType::get({}, builder.getF32Type()), {product, absent()},
                           builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0)));
}

/// The power of two next to 1 / `count`, which every type holds exactly.
double powerNear(double count) { return std::exp2(-std::round(std::log2(count))); }

mlir::Value LossWeigher::weighCounted(mlir::Operation *op) {
  double factor = powerNear(microBatches * static_cast<double>(numElements(labelsOf(op))));
  if (!weight)
    weight = scaled(countLabels(op), factor, "share");
  mlir::Operation *sum = builder.clone(*op);
  sum->setAttr("reduction", builder.getStringAttr("sum"));
  return scaled(sum->getResult(0), factor, "weighed");
}

/// The factor by which the whole denominator, where it is a sum, is not far from 1.
double LossWeigher::nearOne(const BatchShares &shares, mlir::Value below) const {
  while (shares.of(below) == BatchShare::Sum) {
    mlir::Operation *op = below.getDefiningOp();
    llvm::ArrayRef<unsigned> terms = shares.termsOf(op);
    if (terms.empty() && op->getNumOperands() == 0)
      return 1; // a number that was made from the batch
    if (terms.empty())
      return powerNear(microBatches * static_cast<double>(numElements(op->getOperand(0))));
    below = op->getOperand(terms.front());
  }
  return 1;
}

mlir::Value LossWeigher::weighQuotient(const BatchShares &shares, mlir::Operation *op) {
  mlir::Value above = op->getOperand(0), below = op->getOperand(1);
  std::optional<Clamped> clamped = clampOf(below);
  if (clamped)
    below = clamped->value;
  double factor = nearOne(shares, below);
  if (!weight) {
    weight = asScalar(weigh(shares, below));
    if (factor != 1)
      weight = scaled(weight, factor, "share");
    if (clamped)
      leastWeight = clamped->least * factor;
  }
  return factor == 1 ? weigh(shares, above) : scaled(weigh(shares, above), factor, "weighed");
}

/// `value`, which is the same for all micro-batches, beside quotients that have the weight.
mlir::Value LossWeigher::timesWeight(mlir::Value value) {
  mlir::Type element = mlir::getElementTypeOrSelf(value);
  mlir::Value own = weight;
  if (!element.isF32())
    own = make<CastLikeOp>("share.cast", mlir::RankedTensorType::get({}, element), {weight, value});
  return make<MulOp>("weighed.same", value.getType(), {value, own});
}

/// `op` on terms that are each weighed, quotients first.
mlir::Value LossWeigher::weighTerms(const BatchShares &shares, mlir::Operation *op) {
  llvm::SmallVector<mlir::Value> operands(op->getOperands());
  llvm::SmallVector<unsigned> same;
  for (unsigned index : shares.termsOf(op)) {
    bool isBesideQuotient = shares.dividerOf(op) && !isMixed && shares.of(operands[index]) == BatchShare::Same;
    isBesideQuotient ? same.push_back(index) : void(operands[index] = weigh(shares, operands[index]));
  }
  for (unsigned index : same)
    operands[index] = timesWeight(operands[index]);
  mlir::Operation *own = builder.clone(*op);
  own->setOperands(operands);
  return own->getResult(0);
}

mlir::Value LossWeigher::weigh(const BatchShares &shares, mlir::Value value) {
  if (mlir::Value known = weighed.lookup(value))
    return known;
  mlir::Operation *op = value.getDefiningOp();
  auto made = [&] {
    switch (shares.of(value)) {
    case BatchShare::Sum:
      return value;
    case BatchShare::Terms:
    case BatchShare::Mixed:
      return weighTerms(shares, op);
    case BatchShare::Quotient:
      if (isMixed)
        return scaled(value, 1 / microBatches, "weighed");
      if (countsLabels(op))
        return weighCounted(op);
      return shares.termsOf(op).empty() ? weighQuotient(shares, op) : weighTerms(shares, op);
    default:
      return scaled(value, 1 / microBatches, "weighed");
    }
  };
  return weighed[value] = made();
}

/// Of a loss that does not follow from those of micro-batches.
WeighedLoss LossWeigher::byMaker(mlir::Operation *since) {
  mlir::Operation *maker = makerOf(loss);
  std::string text = placeName(since).str();
  if (llvm::isa_and_nonnull<ReduceSumOp>(maker))
    return {loss, {}, {}, std::move(text)};
  mlir::Value part = constant(lossElement(), 1 / microBatches);
  return {make<MulOp>("weighed", loss.getType(), {loss, part}), {}, part, std::move(text)};
}

/// Ops that have been made again for `own` are erased.
void LossWeigher::replaceLoss(mlir::Value own) {
  main.front().getTerminator()->setOperand(0, own);
  llvm::SmallVector<mlir::Operation *> unread{loss.getDefiningOp()};
  while (!unread.empty()) {
    mlir::Operation *op = unread.pop_back_val();
    if (!op || !op->use_empty())
      continue;
    llvm::SmallVector<mlir::Value> operands(op->getOperands());
    op->erase();
    for (mlir::Value operand : llvm::SetVector<mlir::Value>(operands.begin(), operands.end()))
      unread.push_back(operand.getDefiningOp());
  }
}

WeighedLoss LossWeigher::run() {
  mlir::Operation *maker = makerOf(loss);
  bool isPlain = llvm::isa_and_nonnull<CrossEntropyOp, SoftmaxCrossEntropyLossOp, NegativeLogLikelihoodLossOp>(maker);
  auto reduction = isPlain ? maker->getAttrOfType<mlir::StringAttr>("reduction") : mlir::StringAttr();
  if (isPlain && reduction && reduction.getValue() == "mean" && !countsLabels(maker)) // needs no look at the model
    return {scaled(loss, 1 / microBatches, "weighed"), {}};
  BatchShares shares(main, trained);
  BatchShare share = shares.of(loss);
  if (share == BatchShare::Unknown || share == BatchShare::Rows)
    return byMaker(shares.unknownSince(loss) ? shares.unknownSince(loss) : maker);
  isMixed = share == BatchShare::Mixed;
  std::string since = isMixed ? placeName(shares.unknownSince(loss)).str() : "";
  mlir::Value own = weigh(shares, loss);
  if (isMixed || share == BatchShare::Terms || share == BatchShare::Quotient)
    replaceLoss(own);
  return {own, weight, {}, std::move(since), leastWeight};
}

WeighedLoss LossWeigher::runHeld() {
  mlir::Operation *maker = makerOf(loss);
  BatchShares shares(main, trained);
  BatchShare share = shares.of(loss);
  if (share == BatchShare::Sum)
    return {loss, {}};
  if (countsLabels(maker)) {
    double all = microBatches * static_cast<double>(numElements(labelsOf(maker)));
    mlir::Value part = scaled(countLabels(maker), 1 / all, "share"), own = part;
    if (!lossElement().isF32())
      own = make<CastLikeOp>("share.cast", mlir::RankedTensorType::get({}, lossElement()), {part, loss});
    return {make<MulOp>("weighed", loss.getType(), {loss, own}), part, own};
  }
  if (share != BatchShare::Mean && share != BatchShare::Same && maker)
    return byMaker(shares.unknownSince(loss) ? shares.unknownSince(loss) : maker);
  mlir::Value part = constant(lossElement(), 1 / microBatches);
  return {make<MulOp>("weighed", loss.getType(), {loss, part}), {}, part};
}

} // namespace

WeighedLoss weighLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches,
                      const llvm::StringSet<> &trained) {
  return LossWeigher(main, loss, microBatches, trained).run();
}

WeighedLoss weighHeldLoss(mlir::func::FuncOp main, mlir::Value loss, int64_t microBatches) {
  return LossWeigher(main, loss, microBatches, /*trained=*/{}).runHeld();
}

} // namespace apc
