// Stages as graphs, and their likeness.
#include "CutStep.h"

namespace apc {

llvm::Expected<CutStep> cutStep(const OpGraph &graph, llvm::ArrayRef<size_t> cuts, bool splitsBackward) {
  llvm::Expected<SplitStep> whole = splitStep(graph, cuts);
  if (!whole)
    return whole.takeError();
  CutStep step{std::move(whole->graph), std::move(whole->split), {}, {}};
  step.stages = stageGraphs(step.graph, step.split, splitsBackward);
  std::vector<OpId> forward = forwardOps(graph);
  for (size_t cut : cuts)
    step.cuts.push_back(graph.op(forward[cut]).name);
  return step;
}

namespace {

bool areAlike(const GraphOp &a, const GraphOp &b) {
  return a.operatorName == b.operatorName && a.rule == b.rule && a.format == b.format && a.operands == b.operands &&
         a.results == b.results && a.atLoad == b.atLoad && a.leadingFactors == b.leadingFactors &&
         a.repeats == b.repeats && a.accumulates == b.accumulates && a.inPass == b.inPass &&
         a.isTransfer == b.isTransfer && a.kernel == b.kernel;
}

bool areAlike(const GraphValue &a, const GraphValue &b) {
  return a.shape == b.shape && a.role == b.role && a.producer == b.producer && a.resultIndex == b.resultIndex &&
         a.replaces == b.replaces && a.exchangeBits == b.exchangeBits;
}

} // namespace

bool areAlike(const OpGraph &a, const OpGraph &b) {
  bool haveSameShape = a.rules == b.rules && a.ties == b.ties && a.overlaps == b.overlaps && a.inFlight == b.inFlight &&
                       a.ops.size() == b.ops.size() && a.values.size() == b.values.size();
  if (!haveSameShape)
    return false;
  for (size_t op = 0; op < a.ops.size(); ++op)
    if (!areAlike(a.ops[op], b.ops[op]))
      return false;
  for (size_t value = 0; value < a.values.size(); ++value)
    if (!areAlike(a.values[value], b.values[value]))
      return false;
  return true;
}

} // namespace apc
