// The planner's view of a model.
#include "apc/Cost/OpGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace apc {

llvm::StringRef valueRoleName(ValueRole role) {
  switch (role) {
  case ValueRole::Input:
    return "input";
  case ValueRole::Parameter:
    return "parameter";
  case ValueRole::Activation:
    return "activation";
  case ValueRole::Gradient:
    return "gradient";
  case ValueRole::OptimizerState:
    return "optimizer_state";
  case ValueRole::Output:
    return "output";
  }
  llvm_unreachable("all roles are named");
}

std::vector<std::vector<OpGraph::Use>> OpGraph::uses() const {
  std::vector<std::vector<Use>> users(values.size());
  for (size_t op = 0; op < ops.size(); ++op)
    for (auto [operand, value] : llvm::enumerate(ops[op].operands))
      if (value)
        users[value->index()].push_back({OpId(op), static_cast<unsigned>(operand)});
  return users;
}

} // namespace apc
