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

} // namespace apc
