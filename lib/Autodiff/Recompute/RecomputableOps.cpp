// Ops by their rules, their layers and the policies of these.
#include "RecomputableOps.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Random.h"

namespace apc {

/// Parameters and constants, which stay for the whole step.
static bool staysForStep(mlir::Value value) {
  return llvm::isa_and_present<ParameterOp, ConstantOp, NoneOp>(value.getDefiningOp());
}

void RecomputableOps::findTraits(mlir::Operation *op) {
  Traits &own = traits[op];
  mlir::FailureOr<FactorRule> rule = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(rule))
    return;
  // Rows of a table that is cut are gathered by communication.
  bool isSparse = llvm::any_of(rule->operands, [](const RuleTensor &tensor) { return tensor.sparse; });
  bool readsWeight = llvm::any_of(op->getOperands(), [&](mlir::Value operand) { return weights.contains(operand); });
  own = {.isView = rule->work == Work::View,
         .isCheap = rule->work != Work::Contraction && !isSparse && !isRandom(op),
         .isAttention = rule->attention || (rule->work == Work::Contraction && !readsWeight),
         .isContraction = rule->work == Work::Contraction};
}

bool RecomputableOps::isOfActivations(mlir::Value value) const {
  return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value.getType())) && !weights.contains(value);
}

mlir::Value RecomputableOps::storageOf(mlir::Value value) const {
  for (;;) {
    auto found = traits.find(value.getDefiningOp());
    bool looks = found != traits.end() && found->second.isView && found->first->getNumOperands() > 0 &&
                 llvm::cast<mlir::OpResult>(value).getResultNumber() == 0;
    if (!looks)
      return value;
    value = value.getDefiningOp()->getOperand(0);
  }
}

void RecomputableOps::addSources(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &storages) const {
  mlir::Value storage = storageOf(value);
  for (; value != storage; value = value.getDefiningOp()->getOperand(0))
    for (mlir::Value operand : value.getDefiningOp()->getOperands().drop_front())
      addSources(operand, storages);
  if (isForward(storage))
    storages.push_back(storage);
}

void RecomputableOps::findWeights(llvm::ArrayRef<mlir::Operation *> forward) {
  auto isWeight = [&](mlir::Value value) { return staysForStep(value) || weights.contains(value); };
  for (mlir::Operation *op : forward) {
    for (mlir::Value operand : op->getOperands())
      if (llvm::isa_and_present<ParameterOp>(operand.getDefiningOp()))
        weights.insert(operand);
    if (op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), isWeight))
      weights.insert(op->getResults().begin(), op->getResults().end());
  }
}

void RecomputableOps::findParts(llvm::ArrayRef<mlir::Operation *> forward) {
  std::vector<std::vector<mlir::Operation *>> layers;
  for (mlir::Operation *op : forward)
    if (auto layer = layerOf.find(op); layer != layerOf.end()) {
      layers.resize(std::max(layers.size(), layer->second + 1));
      layers[layer->second].push_back(op);
    }
  auto isContraction = [&](mlir::Operation *op) { return traits.find(op)->second.isContraction; };
  auto isWeight = [&](mlir::Value value) { return staysForStep(value) || weights.contains(value); };
  for (auto [number, layer] : llvm::enumerate(layers)) {
    LayerPart part = recomputableBy(policyOf(number)).part;
    if (part == LayerPart::None)
      continue;
    if (part != LayerPart::Whole) {
      AttentionBranches branches =
          branchesOfAttentions(layer, [&](mlir::Operation *op) { return isAttention(op); }, isContraction, isWeight);
      if (part == LayerPart::BehindAttention)
        layer = std::move(branches.behind);
      else
        for (mlir::Operation *sum : branches.sums)
          for (mlir::Value result : sum->getResults())
            leaving.insert(storageOf(result));
    }
    for (mlir::Operation *op : layer)
      partOf[op] = number;
  }
}

void RecomputableOps::findLeaving() {
  for (auto [op, part] : partOf)
    for (mlir::Value result : op->getResults())
      for (mlir::Operation *user : result.getUsers()) {
        bool isBackward = !traits.contains(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>();
        auto found = partOf.find(user);
        if (!isBackward && (found == partOf.end() || found->second != part))
          leaving.insert(storageOf(result));
      }
}

RecomputableOps::Allowed RecomputableOps::allowedOf(mlir::Operation *op) const {
  auto layer = layerOf.find(op);
  if (layer != layerOf.end()) {
    const Recomputable &row = recomputableBy(policyOf(layer->second));
    return {row.cheapOps, row.attentions};
  }
  const Recomputable &one = recomputableBy(first), &other = recomputableBy(rest);
  return {one.cheapOps || other.cheapOps, one.attentions || other.attentions};
}

bool RecomputableOps::mayRecompute(mlir::Operation *op) const {
  if (isInPart(op))
    return !isRandom(op);
  const Traits &own = traits.find(op)->second;
  Allowed allowed = allowedOf(op);
  return (own.isCheap && (allowed.cheapOps || allowed.attentions)) || (own.isAttention && allowed.attentions);
}

bool RecomputableOps::isForAttentionsAlone(mlir::Operation *op) const {
  return !isInPart(op) && !allowedOf(op).cheapOps;
}

RecomputableOps::RecomputableOps(llvm::ArrayRef<mlir::Operation *> forward, const RecomputedLayers &recomputed)
    : first(recomputed.policy), rest(recomputed.rest), numFirst(recomputed.count),
      layerOf(layersByOp(recomputed.runs)) {
  findWeights(forward);
  for (mlir::Operation *op : forward)
    findTraits(op);
  findParts(forward);
  findLeaving();
}

} // namespace apc
