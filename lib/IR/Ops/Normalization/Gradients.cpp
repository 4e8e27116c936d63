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

/// True when the gradient of a result that is a statistic arrives.
bool asksStatistics(GradientBuilder &g, const LayerNormalization &layer) {
  for (unsigned index = 1; index < g.getForward()->getNumResults(); ++index)
    if (g.incoming(index) && index != layer.sumResult)
      return true;
  return false;
}

} // namespace

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

bool differentiateLayer(GradientBuilder &g, const LayerNormalization &layer) {
  size_t numDims = dimsOf(g.operand(0)).size();
  int64_t axis = layer.axis < 0 ? layer.axis + static_cast<int64_t>(numDims) : layer.axis;
  mlir::Value scale = g.operand(layer.scale), gradient = g.incoming(0);
  if (asksStatistics(g, layer))
    return g.refuse("the loss depends on its statistics, and on its normalised result is accepted");
  if (static_cast<int64_t>(dimsOf(scale).size()) > static_cast<int64_t>(numDims) - axis)
    return g.refuse("its scale has " + llvm::Twine(dimsOf(scale).size()) + " dims, and at most the " +
                    llvm::Twine(static_cast<int64_t>(numDims) - axis) + " that are normalised are accepted");
  mlir::Value ofSum = layer.sumResult != 0 ? g.incoming(layer.sumResult) : mlir::Value();
  if (gradient) {
    Attributes attributes = layerAttributes(g, axis, layer.epsilon, layer.isCentred);
    mlir::Value x = normalisedOf(g, layer);
    if (g.wants(layer.scale))
      g.give(layer.scale, g.sumTo(g.make<LayerNormalizationScaleGradOp>({gradient, x}, attributes), scale));
    if (layer.bias && g.wants(*layer.bias))
      g.give(*layer.bias, g.sumTo(gradient, g.operand(*layer.bias)));
    mlir::Value ofData = g.make<LayerNormalizationGradOp>({gradient, x, scale}, attributes);
    ofSum = ofSum ? g.add(ofSum, ofData) : ofData;
  }
  llvm::SmallVector<unsigned, 3> summands = {0};
  summands.append(layer.addends);
  for (unsigned summand : summands)
    if (g.wants(summand))
      g.give(summand, g.sumTo(ofSum, g.operand(summand)));
  return true;
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
