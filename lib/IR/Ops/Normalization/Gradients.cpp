// Gradients of normalisations.
#include "../Attributes.h"
#include "../ForwardAttributes.h"
#include "GradientParts.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

namespace {

using Attributes = llvm::SmallVector<mlir::NamedAttribute, 6>;

Attributes layerAttributes(GradientBuilder &g, int64_t axis, double epsilon, bool isCentred) {
  return {g.attribute("axis", axis),
          g.attribute("epsilon", g.getBuilder().getF32FloatAttr(static_cast<float>(epsilon))),
          g.attribute("centred", static_cast<int64_t>(isCentred))};
}

/// The sum that a layer normalises, operand 0 and the addends: a result of the forward op, or added again.
mlir::Value normalisedOf(GradientBuilder &g, const LayerNormalization &layer) {
  if (layer.sumResult != 0 && !isAbsent(g.result(layer.sumResult)))
    return g.result(layer.sumResult);
  mlir::Value sum = g.operand(0);
  for (unsigned addend : layer.addends)
    if (!isAbsent(g.operand(addend)))
      sum = g.add(sum, g.operand(addend));
  return sum;
}

/// A layer normalisation going backward: `x`, which it normalises from the dim `axis` on.
struct LayerBack {
  GradientBuilder &g;
  const LayerNormalization &layer;
  int64_t axis;
  mlir::Value x;

  Attributes attributes() const { return layerAttributes(g, axis, layer.epsilon, layer.isCentred); }
  /// Neither scaled nor shifted.
  mlir::Value normalisedAs(mlir::Value like) const {
    mlir::Value none = g.absent();
    llvm::SmallVector<mlir::NamedAttribute, 2> own = {g.attribute("axis", axis),
                                                      g.attribute("centred", static_cast<int64_t>(layer.isCentred))};
    return normalisedBy(g, x, g.make<LayerStatisticsOp>({x, none, none}, own), like, attributes());
  }
  /// Has the scale dims in front of those that are normalised?
  bool scalesRows() const {
    return static_cast<int64_t>(dimsOf(g.operand(layer.scale)).size() + axis) > static_cast<int64_t>(dimsOf(x).size());
  }

  mlir::Value ofScale(mlir::Value gradient) const;
  mlir::Value ofNormalised(mlir::Value gradient) const;
  mlir::Value ofStatistics() const;
};

mlir::Value LayerBack::ofScale(mlir::Value gradient) const {
  mlir::Value scale = g.operand(layer.scale);
  return g.sumTo(scalesRows() ? g.mul(gradient, normalisedAs(gradient))
                              : g.make<LayerNormalizationScaleGradOp>({gradient, x}, attributes()),
                 scale);
}

/// Of x, by way of the result.
mlir::Value LayerBack::ofNormalised(mlir::Value gradient) const {
  mlir::Value scale = g.operand(layer.scale);
  if (scalesRows())
    return g.make<LayerNormalizationGradOp>({g.mul(gradient, scale), x, oneAs(g, gradient)}, attributes());
  return g.make<LayerNormalizationGradOp>({gradient, x, scale}, attributes());
}

/// Of x, by way of statistics of n elements: 1 / n for the mean, and for r = 1 / deviation, with x normalised to xh,
/// - r^2 xh / n. Null where none arrives.
mlir::Value LayerBack::ofStatistics() const {
  mlir::Value sum;
  const double size = static_cast<double>(mergedSize(dimsOf(x).drop_front(axis)));
  for (unsigned index = 1; index < g.getForward()->getNumResults(); ++index) {
    const bool isMean = index == layer.meanResult;
    if (!g.incoming(index) || index == layer.sumResult || (isMean && !layer.isCentred)) // means of zero
      continue;
    mlir::Value own = g.castTo(g.incoming(index), x);
    if (!isMean) {
      mlir::Value inverse = g.castTo(g.result(index), x);
      own = g.neg(g.mul(g.mul(own, g.mul(inverse, inverse)), normalisedAs(x)));
    }
    own = g.div(own, g.scalar(size, own));
    sum = sum ? g.add(sum, own) : own;
  }
  return sum ? g.make<ExpandOp>({sum, g.integers(dimsOf(x))}) : sum;
}

} // namespace

mlir::Value oneAs(GradientBuilder &g, mlir::Value like) {
  Tensor one = zeros(mlir::RankedTensorType::get({1}, mlir::getElementTypeOrSelf(like)));
  one.floats = {1};
  return g.make<ConstantOp>({}, g.attribute("value", one.toAttribute()));
}

mlir::Value normalisedBy(GradientBuilder &g, mlir::Value x, mlir::Value statistics, mlir::Value like,
                         llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::Value none = g.absent();
  mlir::Operation *normal = g.create<LayerNormalizeOp>({x, statistics, oneAs(g, like), none, none, none}, attributes);
  normal->getResult(1).setType(mlir::NoneType::get(g.getContext()));
  return normal->getResult(0);
}

void differentiateSoftmax(GradientBuilder &g, SoftmaxKind kind) {
  auto attributes = forwardAttributes(g, {"axis", "opset_version"});
  llvm::SmallVector<mlir::Value, 2> operands = {g.incoming(), g.result()};
  g.give(0, kind == SoftmaxKind::Log ? g.make<LogSoftmaxGradOp>(operands, attributes)
                                     : g.make<SoftmaxGradOp>(operands, attributes));
}

void differentiateSoftmaxBy(GradientBuilder &g, bool isLog) {
  llvm::ArrayRef<int64_t> dims = dimsOf(g.operand(0)), kept = dimsOf(g.operand(1));
  auto axis = static_cast<int64_t>(std::mismatch(dims.begin(), dims.end(), kept.begin()).first - dims.begin());
  if (axis == static_cast<int64_t>(dims.size()))
    axis = 0; // of dims of 1 alone any will do
  mlir::Value y = isLog ? g.absent() : g.result();
  mlir::Operation *sum = g.create<SoftmaxGradSumOp>({g.incoming(), y}, g.attribute("axis", axis));
  if (isTakenInPass(g.operand(1)))
    sum->setAttr(passAttribute, g.getBuilder().getUnitAttr());
  g.give(0, g.make<SoftmaxGradByOp>({g.incoming(), g.result(), sum->getResult(0)}, g.attribute("log", int64_t(isLog))));
}

void differentiateLayer(GradientBuilder &g, const LayerNormalization &layer) {
  mlir::Value sum = layer.sumResult != 0 ? g.incoming(layer.sumResult) : mlir::Value();
  auto add = [&](mlir::Value gradient) { sum = sum && gradient ? g.add(sum, gradient) : gradient ? gradient : sum; };
  auto isOfRows = [&](unsigned index) { return g.incoming(index) && (index == 0 || index != layer.sumResult); };
  if (llvm::any_of(llvm::seq(g.getForward()->getNumResults()), isOfRows)) {
    const auto numDims = static_cast<int64_t>(dimsOf(g.operand(0)).size());
    const LayerBack back{g, layer, layer.axis < 0 ? layer.axis + numDims : layer.axis, normalisedOf(g, layer)};
    if (mlir::Value gradient = g.incoming(0)) {
      if (g.wants(layer.scale))
        g.give(layer.scale, back.ofScale(gradient));
      if (layer.bias && g.wants(*layer.bias))
        g.give(*layer.bias, g.sumTo(gradient, g.operand(*layer.bias)));
      add(back.ofNormalised(gradient));
    }
    add(back.ofStatistics());
  }
  llvm::SmallVector<unsigned, 3> summands = {0};
  summands.append(layer.addends);
  for (unsigned summand : summands)
    if (sum && g.wants(summand))
      g.give(summand, g.sumTo(sum, g.operand(summand)));
}

bool differentiateFrozenBatch(GradientBuilder &g, const llvm::APFloat &epsilon) {
  mlir::Value x = g.operand(0), scale = g.operand(1), mean = g.operand(3), variance = g.operand(4);
  if (dimsOf(x).size() < 2)
    return false;
  if (g.wants(1))
    g.give(1,
           g.castTo(g.make<BatchScaleGradOp>({g.incoming(), x, mean, variance}, epsilonAttribute(g, epsilon)), scale));
  if (g.wants(2))
    g.give(2, sumOfChannels(g, g.incoming(), g.operand(2)));
  if (g.wants(0)) {
    mlir::Value deviation = g.make<SqrtOp>({g.add(variance, g.scalar(epsilon.convertToDouble(), variance))});
    mlir::Value slope = g.div(g.castTo(scale, x), g.castTo(deviation, x));
    g.give(0, g.mul(g.incoming(), alongChannels(g, slope, dimsOf(x).size())));
  }
  return true;
}

void differentiateBatch(GradientBuilder &g, const llvm::APFloat &epsilon) {
  mlir::Value x = g.operand(0), scale = g.operand(1), mean = g.operand(3), variance = g.operand(4);
  mlir::NamedAttribute own = epsilonAttribute(g, epsilon);
  mlir::Value ofScale = g.castTo(g.make<BatchScaleGradOp>({g.incoming(), x, mean, variance}, own), scale);
  mlir::Value ofBias = sumOfChannels(g, g.incoming(), g.operand(2));
  g.give(1, ofScale);
  g.give(2, ofBias);
  if (g.wants(0))
    g.give(0, g.make<BatchNormalizeGradOp>({g.incoming(), x, scale, mean, variance, ofScale, ofBias}, own));
}

} // namespace apc
