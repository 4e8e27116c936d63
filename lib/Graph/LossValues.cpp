// Logits and loss, found by contractions and ties.
#include "apc/Graph/LossValues.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The part of the model between its last contractions and the loss.
class LossRegion {
public:
  explicit LossRegion(const OpGraph &graph)
      : graph(graph), follows(graph.followers()), leads(graph.values.size()), isInside(graph.values.size()),
        isPassed(graph.ops.size()), isLast(graph.ops.size()) {}

  std::vector<bool> find() {
    for (size_t op = graph.ops.size(); op-- > 0;)
      if (!follows[op])
        goBack(OpId(op));
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (!follows[op])
        goOn(OpId(op));
    std::vector<std::optional<OpId>> leaders(graph.ops.size());
    for (const TiedOps &tie : graph.ties)
      for (OpId op : llvm::ArrayRef<OpId>(tie).drop_front())
        leaders[op.index()] = tie.front();
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (leaders[op] && belongs(OpId(op), *leaders[op]))
        add(OpId(op));
    return std::move(isInside);
  }

private:
  bool isContraction(OpId op) const { return graph.ruleOf(op).work == Work::Contraction; }
  bool readsInside(const GraphOp &op) const {
    return llvm::any_of(op.operands, [&](std::optional<ValueId> each) { return each && isInside[each->index()]; });
  }
  /// The output that is the loss: made by the forward pass, no new parameter, and no value for another stage.
  bool isLossOutput(const GraphOp &op) const {
    return op.results.empty() && !op.isTransfer && op.operands.front() && !graph.value(*op.operands.front()).replaces;
  }
  void goBack(OpId id) {
    const GraphOp &op = graph.op(id);
    bool leadsOn = isLossOutput(op) ||
                   llvm::any_of(op.results, [&](std::optional<ValueId> each) { return each && leads[each->index()]; });
    if (!leadsOn)
      return;
    if (isContraction(id) || op.isTransfer) { // logits may come from another stage
      isLast[id.index()] = true;
      return;
    }
    isPassed[id.index()] = true;
    for (std::optional<ValueId> operand : op.operands)
      if (operand && !follows[graph.value(*operand).producer.index()])
        leads[operand->index()] = true;
  }
  void goOn(OpId id) {
    bool isInner = isPassed[id.index()] && readsInside(graph.op(id));
    isPassed[id.index()] = isInner;
    if (isInner || isLast[id.index()])
      add(id);
  }
  /// Copies belong as their leaders do, gradients of inner ops do, and so do sums of what arrives at a last
  /// contraction.
  bool belongs(OpId id, OpId leader) const {
    if (isPassed[leader.index()])
      return true;
    bool isCopy = graph.op(id).rule == graph.op(leader).rule && graph.op(id).leadingFactors.empty();
    return isLast[leader.index()] && (isCopy || (!isContraction(id) && readsInside(graph.op(id))));
  }
  /// Values of other roles have lines of their own: gradients of parameters.
  void add(OpId id) {
    for (std::optional<ValueId> result : graph.op(id).results)
      if (result && traitsOf(graph.value(*result).role).category == MemoryCategory::Activations)
        isInside[result->index()] = true;
  }

  const OpGraph &graph;
  std::vector<bool> follows;  ///< by op
  std::vector<bool> leads;    ///< by value: to the loss, without another contraction
  std::vector<bool> isInside; ///< by value
  std::vector<bool> isPassed; ///< by op: lies behind a last contraction
  std::vector<bool> isLast;   ///< by op: a contraction, or what brings its result from another stage
};

} // namespace

std::vector<bool> lossValues(const OpGraph &graph) {
  if (!graph.isTrainingStep())
    return std::vector<bool>(graph.values.size(), false);
  return LossRegion(graph).find();
}

} // namespace apc
