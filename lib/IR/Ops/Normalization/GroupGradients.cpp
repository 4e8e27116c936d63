// Gradients of groups of channels, of either layout, with an addend and an activation.
#include "../Attributes.h"
#include "GradientParts.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

using mlir::Value;

Value reshaped(GradientBuilder &g, Value value, llvm::ArrayRef<int64_t> dims) {
  if (dimsOf(value) == dims)
    return value;
  return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", int64_t(1)));
}

Value alongChannels(GradientBuilder &g, Value parameters, size_t numDims) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(parameters));
  dims.resize(numDims - 1, 1);
  return reshaped(g, parameters, dims);
}

Value sumOfChannels(GradientBuilder &g, Value value, Value like) {
  llvm::SmallVector<int64_t, 4> axes;
  for (size_t dim = 0; dim < dimsOf(value).size(); ++dim)
    if (dim != 1)
      axes.push_back(static_cast<int64_t>(dim));
  Value sum = g.make<ReduceSumOp>({value, g.integers(axes)}, g.attribute("keepdims", int64_t(0)));
  return g.castTo(sum, like);
}

mlir::NamedAttribute epsilonAttribute(GradientBuilder &g, const llvm::APFloat &epsilon) {
  return g.attribute("epsilon", g.getBuilder().getF32FloatAttr(epsilon.convertToFloat()));
}

namespace {

/// [N, C, D1, D2], seen as [N, groups, C / groups * D1 * D2] and normalised from dim 2 on.
class Groups {
public:
  Groups(GradientBuilder &g, Value x, int64_t count, const llvm::APFloat &epsilon)
      : g(g), x(x), epsilon(epsilon),
        grouped(reshaped(g, x, {dimsOf(x)[0], count, mergedSize(dimsOf(x).drop_front(1)) / count})) {}

  /// `x` normalised, before scale and bias.
  Value normal() {
    Tensor one = zeros(mlir::RankedTensorType::get({1}, mlir::getElementTypeOrSelf(x)));
    one.floats = {1};
    Value ones = g.make<ConstantOp>({}, g.attribute("value", one.toAttribute()));
    mlir::Operation *layer = g.create<LayerNormalizationOp>(
        {grouped, ones, g.absent()}, {g.attribute("axis", int64_t(2)), epsilonAttribute(g, epsilon)});
    for (unsigned index : {1U, 2U})
      layer->getResult(index).setType(mlir::NoneType::get(g.getContext()));
    return reshaped(g, layer->getResult(0), dimsOf(x));
  }

  /// The gradient of `x`, where `arriving` comes back to the result.
  Value ofData(Value arriving, Value scale) {
    Value scaled = g.mul(arriving, alongChannels(g, g.castTo(scale, x), dimsOf(x).size()));
    Value gradient = g.make<LayerNormalizationGradOp>(
        {reshaped(g, scaled, dimsOf(grouped)), grouped, g.absent()},
        {g.attribute("axis", int64_t(2)), epsilonAttribute(g, epsilon), g.attribute("centred", int64_t(1))});
    return reshaped(g, gradient, dimsOf(x));
  }

private:
  GradientBuilder &g;
  Value x;
  llvm::APFloat epsilon;
  Value grouped;
};

/// GroupNorm and SkipGroupNorm: operands X, gamma, beta, and skip and bias of the second.
class RuntimeGroups {
public:
  explicit RuntimeGroups(GradientBuilder &g)
      : g(g), op(g.getForward()), numDims(dimsOf(g.operand(0)).size()),
        isLast(intAttribute(op, "channels_last", 1) != 0), hasSkip(op->getNumOperands() > skipIndex) {}

  void give(const llvm::APFloat &epsilon) {
    Value summed = sum(), scale = g.operand(1), ofSum;
    if (Value arriving = g.incoming()) {
      arriving = channelsFirst(arriving);
      Groups groups(g, summed, intAttribute(op, "groups", 1), epsilon);
      bool isActive = intAttribute(op, "activation", 0) != 0;
      Value normal = isActive || g.wants(1) ? groups.normal() : Value();
      if (isActive)
        arriving = g.make<SwishGradOp>({arriving, g.add(g.mul(normal, along(scale)), along(g.operand(2)))});
      if (g.wants(1))
        g.give(1, sumOfChannels(g, g.mul(arriving, normal), scale));
      if (g.wants(2))
        g.give(2, sumOfChannels(g, arriving, g.operand(2)));
      if (g.wants(0) || wants(skipIndex) || wants(biasIndex))
        ofSum = groups.ofData(arriving, scale);
    }
    if (op->getNumResults() > 1 && g.incoming(1)) {
      Value arriving = channelsFirst(g.incoming(1));
      ofSum = ofSum ? g.add(ofSum, arriving) : arriving;
    }
    if (ofSum)
      giveSummands(ofSum);
  }

private:
  static constexpr unsigned skipIndex = 3, biasIndex = 4;

  bool wants(unsigned operand) const { return hasSkip && g.wants(operand); }
  Value along(Value parameters) { return alongChannels(g, g.castTo(parameters, g.operand(0)), numDims); }

  /// Channels as dim 1, and where the operands have them.
  Value channelsFirst(Value value) { return isLast ? turned(value, numDims - 1, 1) : value; }
  Value asGiven(Value value) { return isLast ? turned(value, 1, numDims - 1) : value; }
  Value turned(Value value, size_t from, size_t to) {
    llvm::SmallVector<int64_t, 4> order;
    for (size_t dim = 0; dim < numDims; ++dim)
      if (dim != from)
        order.push_back(static_cast<int64_t>(dim));
    order.insert(order.begin() + static_cast<ptrdiff_t>(to), static_cast<int64_t>(from));
    return g.make<TransposeOp>({value}, g.attribute("perm", llvm::ArrayRef<int64_t>(order)));
  }

  /// The skip as [N, C, 1, 1] or with the dims of X, channels first.
  Value skip() {
    Value given = g.operand(skipIndex);
    llvm::SmallVector<int64_t, 4> dims(dimsOf(given));
    if (dims.size() == numDims)
      return channelsFirst(given);
    dims.resize(numDims, 1);
    return reshaped(g, given, dims);
  }

  Value sum() {
    if (hasSkip && !isAbsent(g.result(1)))
      return channelsFirst(g.result(1));
    Value x = channelsFirst(g.operand(0));
    if (!hasSkip)
      return x;
    x = g.add(x, skip());
    return isAbsent(g.operand(biasIndex)) ? x : g.add(x, along(g.operand(biasIndex)));
  }

  void giveSummands(Value ofSum) {
    if (g.wants(0))
      g.give(0, asGiven(ofSum));
    if (wants(skipIndex)) {
      Value given = g.operand(skipIndex), own = g.sumTo(ofSum, skip());
      g.give(skipIndex, dimsOf(given).size() == numDims ? asGiven(own) : reshaped(g, own, dimsOf(given)));
    }
    if (wants(biasIndex))
      g.give(biasIndex, sumOfChannels(g, ofSum, g.operand(biasIndex)));
  }

  GradientBuilder &g;
  mlir::Operation *op;
  size_t numDims;
  bool isLast, hasSkip;
};

/// Parameters with an element for each channel, made of such as have one for each group: before opset 21.
Value ofChannels(GradientBuilder &g, Value parameters, int64_t channels) {
  int64_t groups = dimsOf(parameters)[0];
  if (groups == channels)
    return parameters;
  Value column = reshaped(g, parameters, {groups, 1});
  return reshaped(g, g.make<ExpandOp>({column, g.integers({groups, channels / groups})}), {channels});
}

/// The gradient of such parameters, where that of the result comes multiplied by what they were.
Value sumOfParameter(GradientBuilder &g, Value value, Value like) {
  Value sums = sumOfChannels(g, value, like);
  int64_t channels = dimsOf(sums)[0], groups = dimsOf(like)[0];
  if (groups == channels)
    return sums;
  Value apart = reshaped(g, sums, {groups, channels / groups});
  return g.make<ReduceSumOp>({apart, g.integers({1})}, g.attribute("keepdims", int64_t(0)));
}

} // namespace

bool differentiateGroups(GradientBuilder &g, std::optional<int64_t> count, const llvm::APFloat &epsilon) {
  Value x = g.operand(0), scale = g.operand(1);
  int64_t channels = dimsOf(x)[1], numGroups = count.value_or(channels);
  if (numGroups < 1)
    return false;
  Groups groups(g, x, numGroups, epsilon);
  if (g.wants(1))
    g.give(1, sumOfParameter(g, g.mul(g.incoming(), groups.normal()), scale));
  if (g.wants(2))
    g.give(2, sumOfParameter(g, g.incoming(), g.operand(2)));
  if (g.wants(0))
    g.give(0, groups.ofData(g.incoming(), ofChannels(g, scale, channels)));
  return true;
}

bool GroupNormOp::differentiate(GradientBuilder &g) {
  RuntimeGroups(g).give(getEpsilon());
  return true;
}

bool SkipGroupNormOp::differentiate(GradientBuilder &g) {
  RuntimeGroups(g).give(getEpsilon());
  return true;
}

} // namespace apc
