// Storages in the order of the forward pass, each kept, recomputed or neither.
#include "KeptValues.h"

#include "apc/IR/Apc.h"
#include "apc/IR/Random.h"

namespace apc {

namespace {

constexpr unsigned mostJoins = 2;
/// A value with so many times fewer bytes than what it is made from saves little and costs a pass over all of that.
constexpr int64_t smallRatio = 8;

bool isConstant(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && llvm::isa<ConstantOp, NoneOp>(op);
}

/// Parameters and constants, which stay for the whole step.
bool staysForStep(mlir::Value value) {
  return isConstant(value) || llvm::isa_and_present<ParameterOp>(value.getDefiningOp());
}

} // namespace

KeptValues::Traits KeptValues::traitsOf(mlir::Operation *op) const {
  mlir::FailureOr<FactorRule> rule = llvm::cast<OperatorInterface>(op).getRule();
  if (mlir::failed(rule))
    return {};
  // Rows of a table that is cut are gathered by communication.
  bool isSparse = llvm::any_of(rule->operands, [](const RuleTensor &tensor) { return tensor.sparse; });
  bool readsWeight = llvm::any_of(op->getOperands(), [&](mlir::Value operand) { return weights.contains(operand); });
  return {.isView = rule->work == Work::View,
          .isCheap = rule->work != Work::Contraction && !isSparse && !isRandom(op),
          .isAttention = rule->attention || (rule->work == Work::Contraction && !readsWeight),
          .isContraction = rule->work == Work::Contraction};
}

mlir::Value KeptValues::storageOf(mlir::Value value) const {
  for (;;) {
    auto found = traits.find(value.getDefiningOp());
    bool looks = found != traits.end() && found->second.isView && found->first->getNumOperands() > 0 &&
                 llvm::cast<mlir::OpResult>(value).getResultNumber() == 0;
    if (!looks)
      return value;
    value = value.getDefiningOp()->getOperand(0);
  }
}

bool KeptValues::isRecomputed(mlir::Value value) const { return recomputed.contains(storageOf(value)); }

void KeptValues::findWeights(llvm::ArrayRef<mlir::Operation *> forward) {
  auto isWeight = [&](mlir::Value value) { return staysForStep(value) || weights.contains(value); };
  for (mlir::Operation *op : forward) {
    for (mlir::Value operand : op->getOperands())
      if (llvm::isa_and_present<ParameterOp>(operand.getDefiningOp()))
        weights.insert(operand);
    if (op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), isWeight))
      weights.insert(op->getResults().begin(), op->getResults().end());
  }
}

/// The recomputed layers, or the parts of them.
void KeptValues::findRegions(llvm::ArrayRef<mlir::Operation *> forward) {
  if (policy != RecomputePolicy::Full && policy != RecomputePolicy::Mlp)
    return;
  std::vector<std::vector<mlir::Operation *>> layers(numRecomputed);
  for (mlir::Operation *op : forward)
    if (auto layer = layerOf.find(op); layer != layerOf.end() && layer->second < numRecomputed)
      layers[layer->second].push_back(op);
  for (auto [number, layer] : llvm::enumerate(layers)) {
    auto isAttention = [&](mlir::Operation *op) { return traits.find(op)->second.isAttention; };
    auto isContraction = [&](mlir::Operation *op) { return traits.find(op)->second.isContraction; };
    auto isWeight = [&](mlir::Value value) { return staysForStep(value) || weights.contains(value); };
    if (policy == RecomputePolicy::Mlp)
      layer = opsBehindAttention(layer, isAttention, isContraction, isWeight);
    for (mlir::Operation *op : layer)
      regionOf[op] = number;
  }
}

/// Values that leave a region are kept, whoever reads them.
void KeptValues::findCrossing() {
  for (auto [op, region] : regionOf)
    for (mlir::Value result : op->getResults())
      for (mlir::Operation *user : result.getUsers()) {
        bool isBackward = !traits.contains(user) && !user->hasTrait<mlir::OpTrait::IsTerminator>();
        auto found = regionOf.find(user);
        if (!isBackward && (found == regionOf.end() || found->second != region))
          crossing.insert(storageOf(result));
      }
  wanted.insert(crossing.begin(), crossing.end());
}

/// Does the policy hold for the op? Outside of layers it does where it does for any layer, or where there are none.
bool KeptValues::isSelected(mlir::Operation *op) const {
  auto layer = layerOf.find(op);
  return layer == layerOf.end() || layer->second < numRecomputed;
}

bool KeptValues::mayRecompute(mlir::Operation *op) const {
  const Traits &own = traits.find(op)->second;
  return policy != RecomputePolicy::Mlp && isSelected(op) &&
         (own.isCheap || (own.isAttention && policy == RecomputePolicy::Attention));
}

std::optional<KeptValues::Origin> KeptValues::originOf(mlir::Operation *op) const {
  if (!mayRecompute(op))
    return std::nullopt;
  Origin origin;
  size_t most = 0;
  for (mlir::Value operand : op->getOperands()) {
    mlir::Value storage = storageOf(operand);
    if (!isForward(storage))
      continue;
    auto found = recomputed.find(storage);
    if (found == recomputed.end() && !kept.contains(storage))
      return std::nullopt;
    if (found == recomputed.end()) {
      origin.roots.insert(storage);
      most = std::max<size_t>(most, 1);
      continue;
    }
    origin.roots.insert(found->second.roots.begin(), found->second.roots.end());
    most = std::max(most, found->second.roots.size());
    origin.joins = std::max(origin.joins, found->second.joins);
    origin.hasAttention |= found->second.hasAttention;
  }
  origin.joins += origin.roots.size() > most;
  origin.hasAttention |= traits.find(op)->second.isAttention;
  return origin.joins > mostJoins ? std::nullopt : std::optional(std::move(origin));
}

bool KeptValues::isSmall(mlir::Value value, const Origin &origin) const {
  int64_t largest = 0;
  for (mlir::Value root : origin.roots)
    largest = std::max(largest, shapeOf(root)->bytes());
  return shapeOf(value)->bytes() <= largest / smallRatio;
}

void KeptValues::decide(mlir::Operation *op) {
  if (traits.find(op)->second.isView)
    return;
  bool isInRegion = regionOf.contains(op);
  std::optional<Origin> origin = isInRegion && !isRandom(op) ? Origin() : originOf(op);
  for (mlir::Value result : op->getResults()) {
    bool isWanted = wanted.contains(result);
    bool stays = !origin || crossing.contains(result) ||
                 (isWanted && !isInRegion &&
                  (isSmall(result, *origin) || (policy == RecomputePolicy::Attention && !origin->hasAttention)));
    if (!stays && !isAbsent(result))
      recomputed[result] = *origin;
    else if (isWanted)
      kept.insert(result);
  }
}

KeptValues::KeptValues(llvm::ArrayRef<mlir::Operation *> forward, const RecomputedLayers &recomputed,
                       const llvm::DenseSet<mlir::Value> &read)
    : policy(recomputed.policy), numRecomputed(recomputed.count), layerOf(layersByOp(recomputed.runs)) {
  findWeights(forward);
  for (mlir::Operation *op : forward)
    traits[op] = traitsOf(op);
  for (mlir::Value value : read)
    wanted.insert(storageOf(value));
  findRegions(forward);
  findCrossing();
  for (mlir::Operation *op : forward)
    decide(op);
}

} // namespace apc
