// The planner's view of a model.
#include "apc/Graph/OpGraph.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::vector<std::vector<OpGraph::Use>> OpGraph::uses() const {
  std::vector<std::vector<Use>> users(values.size());
  for (size_t op = 0; op < ops.size(); ++op)
    for (auto [operand, value] : llvm::enumerate(ops[op].operands))
      if (value)
        users[value->index()].push_back({OpId(op), static_cast<unsigned>(operand)});
  return users;
}

bool OpGraph::isView(ValueId id) const {
  OpId producer = value(id).producer;
  return ruleOf(producer).work == Work::View && !op(producer).operands.empty() && op(producer).operands[0];
}

std::vector<ValueId> OpGraph::storages() const {
  std::vector<ValueId> storages;
  for (size_t index = 0; index < values.size(); ++index) {
    ValueId id(index);
    storages.push_back(isView(id) ? storages[op(values[index].producer).operands[0]->index()] : id);
  }
  return storages;
}

} // namespace apc
