// Weights and ties tell the products of linear layers, the loss those of the logits.
#include "apc/Cost/NarrowProducts.h"

#include "LocalSizes.h"

#include "apc/Graph/LossValues.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// Two tensors of 16 bits are multiplied, and others are added to the result. A convolution with a window has rows
/// and columns that stay whole.
bool isProduct(const OpGraph &graph, OpId op) {
  const FactorRule &rule = graph.ruleOf(op);
  if (rule.work != Work::Contraction || rule.attention || rule.steps > 1 || graph.op(op).atLoad ||
      rule.operands.size() < numMultiplied || rule.results.size() != 1)
    return false;
  const auto multiplied = llvm::ArrayRef(rule.operands).take_front(numMultiplied);
  const auto added = llvm::ArrayRef(rule.operands).drop_front(numMultiplied);
  constexpr unsigned halfBits = 16;
  return llvm::all_of(multiplied, [](const RuleTensor &operand) { return operand.elementBits == halfBits; }) &&
         llvm::all_of(added, [&](const RuleTensor &operand) { return isOfFactors(operand, rule.results); }) &&
         llvm::none_of(rule.factors, [](const Factor &factor) { return factor.whole; });
}

/// By op: a product of a weight, or one that is tied to such a product.
std::vector<bool> productsOfLayers(const OpGraph &graph, llvm::ArrayRef<bool> isOfLoss,
                                   const std::vector<bool> &isWeight) {
  auto isAny = [](llvm::ArrayRef<std::optional<ValueId>> values, llvm::function_ref<bool(ValueId)> holds) {
    return llvm::any_of(values, [&](std::optional<ValueId> value) { return value && holds(*value); });
  };
  std::vector<bool> isOfLayer(graph.ops.size());
  auto readsWeight = [&](const GraphOp &op) {
    return isAny(op.operands, [&](ValueId value) { return isWeight[value.index()]; });
  };
  for (size_t op = 0; op < graph.ops.size(); ++op)
    isOfLayer[op] = isProduct(graph, OpId(op)) && readsWeight(graph.ops[op]);
  for (const TiedOps &tie : graph.ties)
    if (isOfLayer[tie.front().index()])
      for (OpId op : tie)
        isOfLayer[op.index()] = isProduct(graph, op);
  for (auto [op, own] : llvm::enumerate(graph.ops)) {
    auto isScore = [&](ValueId value) { return isOfLoss[value.index()]; };
    if (isAny(own.operands, isScore) || isAny(own.results, isScore))
      isOfLayer[op] = false;
  }
  return isOfLayer;
}

} // namespace

void narrowProducts(OpGraph &graph) {
  const std::vector<bool> isWeight = graph.weights(), ofLoss = lossValues(graph);
  const llvm::SmallVector<bool> isOfLoss(ofLoss.begin(), ofLoss.end());
  const std::vector<bool> isOfLayer = productsOfLayers(graph, isOfLoss, isWeight);
  const std::vector<ValueId> storages = graph.storages();
  std::vector<bool> isNarrowed(graph.values.size());
  for (auto [index, op] : llvm::enumerate(graph.ops)) {
    if (!isOfLayer[index])
      continue;
    op.format = NumberFormat::F8;
    op.kernel.narrows.assign(op.operands.size(), Narrowing::None);
    for (auto [operand, narrowing] :
         llvm::zip(llvm::ArrayRef(op.operands).take_front(numMultiplied), op.kernel.narrows)) {
      if (!operand || isNarrowed[storages[operand->index()].index()])
        continue;
      isNarrowed[storages[operand->index()].index()] = true;
      narrowing = isWeight[operand->index()] ? Narrowing::EachStep : Narrowing::EachRun;
    }
  }
}

} // namespace apc
