// Stages of ZeRO as conditions on the shardings around the update of a parameter.
#include "apc/Planning/StorageLimit.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

constexpr int64_t gatheringStage = 3; // from it on parameters may be gathered for their use

StorageLimit::StorageLimit(const OpGraph &graph, std::optional<int64_t> stage)
    : graph(&graph), stage(stage.value_or(gatheringStage)) {
  if (this->stage >= gatheringStage)
    return;
  updates.resize(graph.values.size());
  for (const GraphValue &value : graph.values)
    if (value.replaces && graph.value(*value.replaces).role == ValueRole::Parameter)
      updates[value.replaces->index()] = value.producer;
}

bool StorageLimit::isUpdate(OpGraph::Use use) const {
  std::optional<ValueId> read = graph->op(use.op).operands[use.operand];
  return read && updates[read->index()] == use.op;
}

std::optional<OpId> StorageLimit::sumReadBy(OpId update) const {
  for (std::optional<ValueId> operand : graph->op(update).operands)
    if (operand && graph->isAccumulated(*operand))
      return graph->value(*operand).producer;
  return std::nullopt;
}

bool StorageLimit::allows(OpGraph::Use use, const Sharding &rest, const Sharding &wanted, bool isFree,
                          const Sharding *gradients) const {
  if (!isFree)
    return false;
  if (!isUpdate(use))
    return true;
  if (stage == 0 && !(wanted == rest))
    return false;
  return stage >= 2 || !gradients || gradients->dims == rest.dims;
}

bool StorageLimit::allowsAll(llvm::ArrayRef<Strategy> strategies, llvm::ArrayRef<GraphMove> moves) const {
  auto resultOf = [&](ValueId value) {
    OpId op = graph->value(value).producer;
    return resultSharding(graph->ruleOf(op), strategies[op.index()], graph->value(value).resultIndex);
  };
  for (const GraphMove &move : moves)
    if (move.redistribution.seconds > 0 && llvm::any_of(move.values, [&](ValueId value) { return concerns(value); }))
      return false;
  for (size_t value = 0; value < updates.size(); ++value) {
    if (!updates[value])
      continue;
    OpId update = *updates[value];
    std::optional<OpId> sum = sumReadBy(update);
    std::optional<Sharding> gradients;
    if (sum)
      gradients = resultSharding(graph->ruleOf(*sum), strategies[sum->index()], 0);
    for (auto [operand, read] : llvm::enumerate(graph->op(update).operands))
      if (read == ValueId(value) &&
          !allows({update, static_cast<unsigned>(operand)}, resultOf(ValueId(value)),
                  operandSharding(graph->ruleOf(update), strategies[update.index()], static_cast<unsigned>(operand)),
                  /*isFree=*/true, gradients ? &*gradients : nullptr))
        return false;
  }
  return true;
}

} // namespace apc
