// Softmaxes, attentions and normalisations as ops that devices can share along the dims that they reduce.
#include "TakeApart.h"
#include "../Attributes.h"
#include "../MakeOp.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

#include "llvm/ADT/TypeSwitch.h"

namespace apc {

namespace {

/// The layer that an op normalises, by index of operand; none for other ops.
std::optional<LayerNormalization> layerOf(mlir::Operation *op) {
  using Layer = std::optional<LayerNormalization>;
  auto axis = intAttribute(op, "axis", -1);
  return llvm::TypeSwitch<mlir::Operation *, Layer>(op)
      .Case([&](LayerNormalizationOp) { return LayerNormalization{.axis = axis, .bias = 2}; })
      .Case<RMSNormalizationOp, SimplifiedLayerNormalizationOp>(
          [&](auto) { return LayerNormalization{.axis = axis, .isCentred = false}; })
      .Case([](SkipLayerNormalizationOp) {
        return LayerNormalization{.scale = 2, .bias = 3, .addends = {1, 4}, .sumResult = 3};
      })
      .Case([](SkipSimplifiedLayerNormalizationOp) {
        return LayerNormalization{.isCentred = false, .scale = 2, .addends = {1, 3}, .sumResult = 3};
      })
      .Default([](mlir::Operation *) { return Layer(); });
}

/// Statistics and scales are those of the normalised dims alone, and no statistic is read.
bool isTakenApart(mlir::Operation *op, const LayerNormalization &layer) {
  size_t numDims = dimsOf(op->getOperand(0)).size(), first = layer.axis < 0 ? layer.axis + numDims : layer.axis;
  for (unsigned index = 1; index < op->getNumResults(); ++index)
    if (index != layer.sumResult && !op->getResult(index).use_empty())
      return false;
  return dimsOf(op->getOperand(layer.scale)).size() <= numDims - first;
}

/// Says that `statistics` are taken in the pass of `reader`, whose factors are those of the dims of operand 0.
void joinPass(mlir::OpBuilder &builder, mlir::Operation *statistics, mlir::Operation *reader) {
  auto own = llvm::cast<OperatorInterface>(statistics).getRule(),
       other = llvm::cast<OperatorInterface>(reader).getRule();
  assert(mlir::succeeded(own) && mlir::succeeded(other) && "the parts of an operator are well formed");
  llvm::SmallVector<llvm::StringRef, 6> names(own->numFactors());
  for (auto [mine, theirs] : llvm::zip_equal(own->operands[0].dims, other->operands[0].dims))
    for (auto [factor, leading] : llvm::zip_equal(mine, theirs))
      names[factor.index()] = other->factor(leading).name;
  statistics->setAttr(passAttribute, builder.getUnitAttr());
  statistics->setAttr(factorsAttribute, builder.getStrArrayAttr(names));
}

} // namespace

mlir::Operation *createLayerParts(mlir::OpBuilder &builder, llvm::StringRef name, const LayerParts &parts) {
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes = {
      builder.getNamedAttr("axis", builder.getI64IntegerAttr(parts.axis)),
      builder.getNamedAttr("centred", builder.getI64IntegerAttr(parts.isCentred))};
  mlir::Value statistics =
      makeOp<LayerStatisticsOp>(builder, name + ".statistics", {parts.x, parts.skip, parts.bias}, attributes);
  if (parts.epsilon)
    attributes.push_back(builder.getNamedAttr("epsilon", parts.epsilon));
  mlir::OperationState state(mlir::NameLoc::get(builder.getStringAttr(name)), LayerNormalizeOp::getOperationName());
  state.addOperands({parts.x, statistics, parts.scale, parts.shift, parts.skip, parts.bias});
  state.addAttributes(attributes);
  mlir::Type sum = parts.givesSum ? parts.x.getType() : builder.getNoneType(),
             element = mlir::getElementTypeOrSelf(parts.scale);
  state.addTypes({mlir::RankedTensorType::get(dimsOf(parts.x), element), sum});
  mlir::Operation *made = builder.create(state);
  joinPass(builder, statistics.getDefiningOp(), made);
  return made;
}

namespace {

mlir::Operation *takeLayerApart(mlir::OpBuilder &builder, mlir::Operation *op, const LayerNormalization &layer) {
  mlir::Value none = NoneOp::create(builder, op->getLoc());
  auto addend = [&](size_t index) {
    return index < layer.addends.size() ? op->getOperand(layer.addends[index]) : none;
  };
  LayerParts parts{op->getOperand(0), op->getOperand(layer.scale), layer.bias ? op->getOperand(*layer.bias) : none,
                   addend(0), addend(1)};
  parts.axis = layer.axis;
  parts.isCentred = layer.isCentred;
  parts.epsilon = op->getAttrOfType<mlir::FloatAttr>("epsilon");
  parts.givesSum = layer.sumResult != 0 && !isAbsent(op->getResult(layer.sumResult));
  mlir::Operation *made = createLayerParts(builder, placeName(op), parts);
  made->setAttr(valuesAttribute,
                builder.getArrayAttr({valueName(op, 0), valueName(op, parts.givesSum ? layer.sumResult : ~0U)}));
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  if (parts.givesSum)
    op->getResult(layer.sumResult).replaceAllUsesWith(made->getResult(1));
  return made;
}

mlir::Operation *takeSoftmaxApart(mlir::OpBuilder &builder, mlir::Operation *op, unsigned dim) {
  mlir::Operation *made =
      createSoftmax(builder, placeName(op), op->getOperand(0), dim, llvm::isa<LogSoftmaxOp>(op)).getDefiningOp();
  made->setAttr(valuesAttribute, builder.getArrayAttr({valueName(op, 0)}));
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  joinPass(builder, made->getOperand(1).getDefiningOp(), made);
  return made;
}

} // namespace

std::optional<unsigned> softmaxDim(mlir::Operation *op) {
  if (!llvm::isa<SoftmaxOp, LogSoftmaxOp>(op))
    return std::nullopt;
  auto numDims = static_cast<int64_t>(dimsOf(op->getOperand(0)).size());
  bool flattens = intAttribute(op, "opset_version", 23) < 13;
  int64_t axis = intAttribute(op, "axis", flattens ? 1 : -1), dim = axis < 0 ? axis + numDims : axis;
  return dim < numDims && (!flattens || dim + 1 == numDims) ? std::optional(static_cast<unsigned>(dim)) : std::nullopt;
}

bool mayTakeApart(mlir::Operation *op) {
  std::optional<LayerNormalization> layer = layerOf(op);
  return maySplitKeys(op) || isOtherNormalization(op) || softmaxDim(op) || (layer && isTakenApart(op, *layer));
}

bool isTakenInPass(mlir::Value statistics) {
  mlir::Operation *op = statistics.getDefiningOp();
  return op && op->hasAttr(passAttribute);
}

mlir::Operation *takeApart(mlir::OpBuilder &builder, mlir::Operation *op) {
  if (!mayTakeApart(op))
    return nullptr;
  if (maySplitKeys(op))
    return splitKeys(builder, op);
  std::optional<unsigned> dim = softmaxDim(op);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  mlir::Operation *made = isOtherNormalization(op) ? takeOtherApart(builder, op)
                          : dim                    ? takeSoftmaxApart(builder, op, *dim)
                                                   : takeLayerApart(builder, op, *layerOf(op));
  op->erase();
  return made;
}

} // namespace apc
