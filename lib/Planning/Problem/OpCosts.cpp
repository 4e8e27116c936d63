// Bytes by what lives while an op runs, and what stays behind it.
#include "OpCosts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <map>

namespace apc {

bool OpCosts::producesResident(const GraphOp &op) const {
  return op.results.size() == 1 && op.results[0] && traitsOf(graph.value(*op.results[0]).role).staysForStep;
}

OpStorage OpCosts::storageOf(const GraphOp &op) const {
  llvm::SmallVector<ValueId, 8> met; // by number
  auto numberOf = [&](std::optional<ValueId> value) -> std::optional<unsigned> {
    if (!value || traitsOf(graph.value(storages[value->index()]).role).staysForStep)
      return std::nullopt;
    auto *known = llvm::find(met, storages[value->index()]);
    auto number = static_cast<unsigned>(known - met.begin());
    if (number == met.size())
      met.push_back(storages[value->index()]);
    return number;
  };
  OpStorage storage;
  llvm::transform(op.operands, std::back_inserter(storage.operands), numberOf);
  llvm::transform(op.results, std::back_inserter(storage.results), numberOf);
  return storage;
}

OpKey OpCosts::keyOf(OpId id) const {
  const GraphOp &op = graph.op(id);
  OpKey key{op.rule, op.format, producesResident(op), op.atLoad, storageOf(op)};
  key.isBeside = countsBeside(id);
  key.leadingFactors = op.leadingFactors;
  for (std::optional<ValueId> value : llvm::concat<const std::optional<ValueId>>(op.results, op.operands)) {
    key.held.push_back(value ? holdOf(*value) : Hold::None);
    key.times.push_back(value ? times[value->index()] : 0);
  }
  for (std::optional<ValueId> result : op.results) {
    key.held.push_back(result ? inFlight[result->index()] : Hold::None);
    key.times.push_back(result ? others[result->index()] : 0);
  }
  for (std::optional<ValueId> result : op.results)
    key.replaces.push_back(result && graph.value(*result).replaces);
  key.repeats = op.repeats;
  key.kernel = op.kernel;
  key.inPass.push_back(op.inPass);
  for (std::optional<ValueId> value : op.operands)
    key.inPass.push_back(value && graph.op(graph.value(*value).producer).inPass);
  return key;
}

int64_t OpCosts::heldBytes(Hold hold, ValueId result, const Sharding &made) const {
  int64_t devices = model.getMesh().numDevices();
  switch (hold) {
  case Hold::None:
    return 0;
  case Hold::Least:
    return times[result.index()] * ((least[result.index()] + devices - 1) / devices);
  case Hold::Made:
    return times[result.index()] * model.localBytes(graph.value(result).shape, made);
  }
  llvm_unreachable("every hold has bytes");
}

StrategyCost OpCosts::cost(OpId id, const Strategy &strategy) const {
  StrategyCost cost = bytes(id, strategy);
  cost.seconds = costOfOp(graph, id, strategy, model).seconds();
  return cost;
}

StrategyCost OpCosts::bytes(OpId id, const Strategy &strategy) const {
  const GraphOp &op = graph.op(id);
  const FactorRule &rule = graph.ruleOf(id);
  StrategyCost cost;
  auto localBytes = [&](ValueId value, const Sharding &sharding) {
    return times[value.index()] * model.localBytes(graph.value(value).shape, sharding);
  };
  if (producesResident(op)) {
    cost.persistentBytes = localBytes(*op.results[0], resultSharding(rule, strategy, 0));
    return cost;
  }
  OpStorage storage = storageOf(op);
  std::map<unsigned, int64_t> largest;
  auto count = [&](std::optional<unsigned> number, ValueId value, const Sharding &sharding) {
    if (number && holdOf(value) == Hold::None && !graph.value(value).replaces)
      largest[*number] = std::max(largest[*number], localBytes(value, sharding));
  };
  for (auto [index, result] : llvm::enumerate(op.results)) {
    if (!result)
      continue;
    Sharding made = resultSharding(rule, strategy, static_cast<unsigned>(index));
    cost.persistentBytes += heldBytes(holds[result->index()], *result, made) +
                            others[result->index()] * heldBytes(inFlight[result->index()], *result, made);
    count(storage.results[index], *result, made);
  }
  for (auto [index, operand] : llvm::enumerate(op.operands))
    if (operand)
      count(storage.operands[index], *operand, operandSharding(rule, strategy, static_cast<unsigned>(index)));
  if (!countsBeside(id))
    return cost;
  cost.transientBytes = model.workspaceBytes(rule);
  for (auto [number, most] : largest)
    cost.transientBytes += most;
  return cost;
}

} // namespace apc
