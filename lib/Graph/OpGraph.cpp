// The planner's view of a model.
#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

int64_t InFlight::othersHolding(bool atBackward, bool atWeights, bool inWeights) const {
  const int64_t others = microBatches - 1;
  if (!waiting)
    return atBackward || atWeights ? others : 0;
  const WaitingAt &most = waiting->beside(inWeights);
  return std::min(others, (atBackward ? most.backward : 0) + (atWeights ? most.weights : 0));
}

std::vector<std::vector<OpGraph::Use>> OpGraph::uses() const {
  std::vector<size_t> numUses(values.size());
  for (const GraphOp &op : ops)
    for (std::optional<ValueId> value : op.operands)
      if (value)
        ++numUses[value->index()];
  std::vector<std::vector<Use>> users(values.size());
  for (auto [own, number] : llvm::zip_equal(users, numUses))
    own.reserve(number);
  for (size_t op = 0; op < ops.size(); ++op)
    for (auto [operand, value] : llvm::enumerate(ops[op].operands))
      if (value)
        users[value->index()].push_back({OpId(op), static_cast<unsigned>(operand)});
  return users;
}

bool OpGraph::isView(ValueId id) const {
  OpId producer = value(id).producer;
  const GraphOp &own = op(producer);
  bool looksOtherwise =
      ruleOf(producer).work == Work::View || own.atLoad || own.kernel.isReadThrough || own.kernel.isMadeByReaders;
  return looksOtherwise && !own.operands.empty() && own.operands[0];
}

bool OpGraph::isMadeByReaders(ValueId id) const { return op(value(id).producer).kernel.isMadeByReaders; }

std::vector<ValueId> OpGraph::storages() const {
  std::vector<ValueId> storages;
  for (size_t index = 0; index < values.size(); ++index) {
    ValueId id(index);
    storages.push_back(isView(id) ? storages[op(values[index].producer).operands[0]->index()] : id);
  }
  return storages;
}

std::vector<bool> OpGraph::followers() const {
  std::vector<bool> follows(ops.size(), false);
  for (const TiedOps &tie : ties)
    for (OpId op : llvm::ArrayRef<OpId>(tie).drop_front())
      follows[op.index()] = !ops[op.index()].inPass || tie.front() < op;
  return follows;
}

std::vector<bool> OpGraph::replaced() const {
  std::vector<bool> isReplaced(values.size());
  for (const GraphValue &value : values)
    if (value.replaces)
      isReplaced[value.replaces->index()] = true;
  return isReplaced;
}

bool OpGraph::isUpdate(OpId id) const {
  return llvm::any_of(op(id).results, [&](std::optional<ValueId> result) { return result && value(*result).replaces; });
}

std::vector<bool> OpGraph::weights() const {
  std::vector<bool> isWeight(values.size());
  for (const GraphOp &op : ops) {
    bool fromWeights = !op.operands.empty() && llvm::all_of(op.operands, [&](std::optional<ValueId> operand) {
      return !operand || isWeight[operand->index()];
    });
    for (std::optional<ValueId> result : op.results)
      if (result)
        isWeight[result->index()] = value(*result).role == ValueRole::Parameter || fromWeights;
  }
  return isWeight;
}

std::vector<bool> OpGraph::keptForBackward() const {
  std::vector<bool> follows = followers(), kept(values.size(), false);
  std::vector<ValueId> storage = storages();
  for (size_t op = 0; op < ops.size(); ++op)
    for (std::optional<ValueId> operand : ops[op].operands)
      if (operand && follows[op] && !follows[value(*operand).producer.index()]) {
        ValueId root = storage[operand->index()];
        kept[root.index()] = kept[root.index()] || (!isMadeByReaders(root) && !traitsOf(value(root).role).staysForStep);
      }
  return kept;
}

/// Without a reduction, and with no more bytes of results than of operands.
static bool takesPlaceOfOperands(const FactorRule &rule) {
  int64_t read = 0, made = 0;
  for (unsigned index = 0; index < rule.operands.size(); ++index)
    read += rule.operands[index].absent ? 0 : rule.operandShape(index).bytes();
  for (unsigned index = 0; index < rule.results.size(); ++index)
    made += rule.results[index].absent ? 0 : rule.resultShape(index).bytes();
  bool reduces = false;
  for (unsigned factor = 0; factor < rule.numFactors(); ++factor)
    reduces |= rule.isReduction(FactorId(factor));
  return !reduces && made <= read;
}

bool OpGraph::isTrainingStep() const {
  return llvm::any_of(values, [](const GraphValue &value) { return value.replaces.has_value(); }) ||
         llvm::any_of(ops, [](const GraphOp &op) { return op.isTransfer; });
}

int64_t OpGraph::microBatches() const {
  auto often = llvm::find_if(ops, [](const GraphOp &op) { return op.repeats > 1; });
  return often == ops.end() ? 1 : often->repeats;
}

std::vector<int64_t> OpGraph::timesHeld() const {
  std::vector<int64_t> times(values.size(), 1);
  if (copies == 1)
    return times;
  const int64_t runs = microBatches();
  auto count = [&](ValueId id) {
    if (!traitsOf(value(id).role).staysForStep && !isAccumulated(id))
      times[id.index()] = copies;
  };
  for (const GraphOp &own : ops)
    if (own.repeats == runs) {
      for (std::optional<ValueId> result : own.results)
        if (result)
          count(*result);
      for (std::optional<ValueId> operand : own.operands) // an input of each run
        if (operand && op(value(*operand).producer).operands.empty())
          count(*operand);
    }
  return times;
}

std::vector<bool> OpGraph::opsAtLoad() const {
  std::vector<bool> atLoad;
  const std::vector<bool> changes = replaced();
  auto isLoaded = [&](ValueId id) {
    bool isConstant = value(id).role == ValueRole::Parameter && !changes[id.index()];
    return (isConstant && !op(value(id).producer).isTransfer) || atLoad[value(id).producer.index()];
  };
  for (size_t index = 0; index < ops.size(); ++index) {
    const GraphOp &own = ops[index];
    bool readsSome = llvm::any_of(own.operands, [](std::optional<ValueId> operand) { return operand.has_value(); });
    bool readsLoaded =
        llvm::all_of(own.operands, [&](std::optional<ValueId> operand) { return !operand || isLoaded(*operand); });
    atLoad.push_back(readsSome && readsLoaded && !own.results.empty() && takesPlaceOfOperands(ruleOf(OpId(index))));
  }
  return atLoad;
}

} // namespace apc
