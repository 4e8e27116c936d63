// Stages as graphs, and their likeness.
#include "CutStep.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace apc {

llvm::Expected<CutStep> cutStep(const OpGraph &graph, llvm::ArrayRef<size_t> cuts) {
  llvm::Expected<StageSplit> split = splitStages(graph, cuts);
  if (!split)
    return split.takeError();
  CutStep step{std::move(*split), {}, {}};
  for (unsigned stage = 0; stage < step.split.numStages; ++stage)
    step.stages.push_back(stageGraph(graph, step.split, stage));
  std::vector<OpId> forward = forwardOps(graph);
  for (size_t cut : cuts)
    step.cuts.push_back(graph.op(forward[cut]).name);
  return step;
}

llvm::Expected<CutStep> cutStepAt(const OpGraph &graph, llvm::ArrayRef<std::string> cuts) {
  llvm::StringMap<size_t> positions;
  for (auto [position, op] : llvm::enumerate(forwardOps(graph)))
    positions[graph.op(op).name] = position;
  std::vector<size_t> places;
  for (const std::string &cut : cuts) {
    auto found = positions.find(cut);
    if (found == positions.end())
      return inputError("a cut before op '{0}': the forward pass has no such op", cut);
    if (found->second == 0 || (!places.empty() && found->second <= places.back()))
      return inputError("a cut before op '{0}': it stands before the cut in front of it; cuts ascend", cut);
    places.push_back(found->second);
  }
  return cutStep(graph, places);
}

std::vector<StagePart> partsOfStage(const StageGraph &stage, const StageSplit &split) {
  std::vector<StagePart> parts(stage.graph.ops.size(), StagePart::Update);
  for (auto [index, original] : llvm::enumerate(stage.ops))
    if (original)
      parts[index] = split.parts[original->index()];
  for (auto [index, op] : llvm::enumerate(stage.graph.ops))
    for (std::optional<ValueId> operand : op.operands) {
      if (!operand)
        continue;
      size_t producer = stage.graph.value(*operand).producer.index();
      if (op.results.empty() && !stage.ops[index])
        parts[index] = parts[producer]; // a value is sent in the part that makes it
      else if (stage.graph.ops[producer].operands.empty())
        parts[producer] = std::min(parts[producer], parts[index]);
    }
  return parts;
}

OpGraph withInFlight(const StageGraph &stage, const StageSplit &split, int64_t microBatches) {
  OpGraph graph = stage.graph;
  std::vector<StagePart> parts = partsOfStage(stage, split);
  size_t first = 0;
  auto isSourceBehind = [&](size_t op) { return graph.ops[op].operands.empty() && parts[op] != StagePart::Forward; };
  while (first < parts.size() && (parts[first] == StagePart::Forward || graph.ops[first].operands.empty()))
    ++first;
  while (first > 0 && isSourceBehind(first - 1)) // a gradient that arrives for the first op
    --first;
  if (microBatches > 1 && first < parts.size())
    graph.inFlight = InFlight{microBatches, OpId(first)};
  return graph;
}

namespace {

bool areAlike(const GraphOp &a, const GraphOp &b) {
  return a.operatorName == b.operatorName && a.rule == b.rule && a.format == b.format && a.operands == b.operands &&
         a.results == b.results && a.atLoad == b.atLoad && a.leadingFactors == b.leadingFactors &&
         a.repeats == b.repeats && a.accumulates == b.accumulates && a.inPass == b.inPass;
}

bool areAlike(const GraphValue &a, const GraphValue &b) {
  return a.shape == b.shape && a.role == b.role && a.producer == b.producer && a.resultIndex == b.resultIndex &&
         a.replaces == b.replaces;
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
