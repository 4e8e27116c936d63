// Parts of ops by the roles of what they make and read.
#include "StepParts.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

static StepPart partOf(const OpGraph &graph, const GraphOp &op) {
  bool readsGradient = llvm::any_of(op.operands, [&](std::optional<ValueId> value) {
    return value && graph.value(*value).role == ValueRole::Gradient;
  });
  for (std::optional<ValueId> value : op.results) {
    if (value && op.operands.empty() && graph.value(*value).role == ValueRole::Parameter)
      return StepPart::Parameter;
    bool isStep = value && graph.value(*value).replaces && readsGradient;
    if (value && (graph.value(*value).role == ValueRole::OptimizerState || isStep))
      return StepPart::State;
  }
  return StepPart::Computation;
}

std::vector<StepPart> stepParts(const OpGraph &graph) {
  std::vector<StepPart> parts;
  for (const GraphOp &op : graph.ops)
    parts.push_back(partOf(graph, op));
  for (const TiedOps &tie : graph.ties)
    for (OpId op : llvm::ArrayRef<OpId>(tie).drop_front())
      parts[op.index()] = parts[tie.front().index()];
  return parts;
}

} // namespace apc
