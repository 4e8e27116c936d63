// One problem for each mesh, searched again at each cost of a byte.
#include "LayerSearch.h"

#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

/// By node of \p planning: does it stand for ops of the layer alone, none of them an input?
static std::vector<bool> nodesThatCount(const OpGraph &graph, const StageGraph &layer,
                                        const PlanningProblem &planning) {
  auto isOwn = [&](OpId op) {
    bool isInput = isSource(graph, op) && graph.value(*graph.op(op).results.front()).role == ValueRole::Input;
    return layer.ops[op.index()].has_value() && !isInput;
  };
  std::vector<bool> counts;
  for (llvm::ArrayRef<OpId> ops : planning.ops)
    counts.push_back(!ops.empty() && llvm::all_of(ops, isOwn));
  return counts;
}

/// Before the first op nothing lives but what stays through all micro-batches.
LayerSearch::LayerSearch(std::shared_ptr<StageAnswer> answer, const StageGraph &layer, llvm::ArrayRef<Mesh> meshes)
    : own(std::move(answer)), onMeshes(meshes.size()) {
  const PlanningTask &task = *own->task;
  forEach(meshes.size(), task.control.numThreads, [&](size_t index) {
    PlanningProblem planning = problemOf(task, meshes[index], Moment{OpId(0), /*isCertain=*/true});
    std::vector<bool> counts = nodesThatCount(task.graph, layer, planning);
    task.spend(buildingWork(planning));
    onMeshes[index] = std::make_unique<OnMesh>(OnMesh{std::move(planning), std::move(counts)});
  });
}

llvm::Expected<LayerSearch> LayerSearch::make(const StageAnswers &layers, const CutStep &step, unsigned stage,
                                              StagePart last, double seconds) {
  llvm::Expected<std::shared_ptr<StageAnswer>> own = layers.taskOfPart(stage, seconds);
  if (!own)
    return own.takeError();
  for (auto [op, part] : llvm::zip_equal((*own)->graph.ops, step.stages[stage].parts))
    op.repeats = part > last ? 0 : op.repeats; // takes no time, and nor do collectives for it
  const PlanningTask &task = *(*own)->task;
  llvm::Expected<std::vector<Mesh>> meshes = task.pins.suitableMeshes(task.graph, firstAxes(task.request));
  if (!meshes)
    return meshes.takeError();
  return LayerSearch(std::move(*own), step.stages[stage], *meshes);
}

Problem LayerSearch::withBytes(const OnMesh &mesh, double secondsPerByte) {
  Problem own = mesh.planning.problem;
  own.memoryLimitBytes.reset();
  std::map<NodeTableId, NodeTableId> tables;
  for (auto [node, counts] : llvm::zip_equal(own.nodes, mesh.counts)) {
    if (!counts || secondsPerByte == 0)
      continue;
    auto [entry, isNew] = tables.try_emplace(node.table, node.table);
    if (isNew) {
      NodeTable table = own.tableOf(NodeId(&node - own.nodes.data()));
      for (StrategyCost &cost : table.costs)
        cost.seconds += secondsPerByte * static_cast<double>(cost.persistentBytes);
      entry->second = own.addNodeTable(std::move(table));
    }
    node.table = entry->second;
  }
  return own;
}

llvm::Expected<std::optional<LayerSearch::Line>> LayerSearch::leastOn(const OnMesh &mesh, double secondsPerByte,
                                                                      std::shared_ptr<WorkClock> clock) const {
  SearchOptions options = own->task->searchOptions();
  options.clock = std::move(clock);
  options.numThreads = 1;
  options.gapTolerance = 0;
  options.progress = nullptr;
  llvm::Expected<SearchResult> found = searchDp(withBytes(mesh, secondsPerByte), options);
  if (!found) {
    auto [fault, message] = takeMessage(found.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    return Line(); // none in this time
  }
  if (found->status == SearchStatus::Infeasible)
    return std::nullopt;
  if (!found->hasAnswer())
    return Line{found->lowerBoundSeconds};
  const Problem &problem = mesh.planning.problem;
  Program program{evaluate(problem, found->assignment).seconds};
  for (auto [node, counts] : llvm::enumerate(mesh.counts))
    if (counts)
      program.bytes +=
          static_cast<double>(problem.tableOf(NodeId(node)).costs[found->assignment.strategies[node]].persistentBytes);
  return Line{found->lowerBoundSeconds, program};
}

llvm::Expected<LayerSearch::Line> LayerSearch::leastLine(double secondsPerByte) const {
  std::vector<std::optional<llvm::Expected<std::optional<Line>>>> lines(onMeshes.size());
  forEach(onMeshes.size(), own->task->control.numThreads, *own->task->control.clock,
          [&](size_t index, const std::shared_ptr<WorkClock> &clock) {
            lines[index].emplace(leastOn(*onMeshes[index], secondsPerByte, clock));
          });
  std::optional<Line> least;
  llvm::Error errors = llvm::Error::success();
  for (std::optional<llvm::Expected<std::optional<Line>>> &line : lines) {
    if (!*line) {
      errors = llvm::joinErrors(std::move(errors), line->takeError());
      continue;
    }
    const std::optional<Line> &found = **line;
    if (!found)
      continue;
    if (!least)
      least = Line{found->bound};
    least->bound = std::min(least->bound, found->bound);
    bool isBetter =
        found->best && (!least->best || found->best->paid(secondsPerByte) < least->best->paid(secondsPerByte));
    if (isBetter)
      least->best = found->best;
  }
  if (errors)
    return std::move(errors);
  return least.value_or(Line());
}

llvm::Expected<LayerSearch::Line> LayerSearch::fastestLine() {
  if (fastest)
    return *fastest;
  llvm::Expected<Line> line = leastLine(0);
  if (line)
    fastest = *line;
  return line;
}

llvm::Expected<double> LayerSearch::least() {
  llvm::Expected<Line> line = fastestLine();
  return line ? llvm::Expected<double>(line->bound) : line.takeError();
}

/// The line of the fastest programs and that of the smallest ones meet at a cost; the line that is lower there takes
/// the place of one of them (as the dual of `dp`).
llvm::Expected<std::vector<ByteCostedLayer>> LayerSearch::byteCosts(double count, int64_t limitBytes) {
  constexpr double dear = 1; // more than any byte saves
  auto fits = [&](const Program &program) { return count * program.bytes <= static_cast<double>(limitBytes); };
  std::vector<ByteCostedLayer> found;
  llvm::Expected<Line> quickest = fastestLine();
  if (!quickest)
    return quickest.takeError();
  if (!quickest->best || fits(*quickest->best))
    return found;
  llvm::Expected<Line> smallest = leastLine(dear);
  if (!smallest)
    return smallest.takeError();
  if (!smallest->best)
    return found;
  Program fast = *quickest->best, small = *smallest->best;
  if (!fits(small)) // whatever time they take
    return std::vector<ByteCostedLayer>{{dear, smallest->bound}};
  constexpr unsigned mostRounds = 6;
  constexpr double little = 1e-3;
  for (unsigned round = 0; round < mostRounds && fast.bytes > small.bytes; ++round) {
    const double byteCost = (small.seconds - fast.seconds) / (fast.bytes - small.bytes);
    llvm::Expected<Line> next = leastLine(byteCost);
    if (!next)
      return next.takeError();
    found.push_back({byteCost, next->bound});
    if (!next->best || next->best->paid(byteCost) >= small.paid(byteCost) * (1 - little))
      break;
    (fits(*next->best) ? small : fast) = *next->best;
  }
  llvm::sort(found,
             [](const ByteCostedLayer &a, const ByteCostedLayer &b) { return a.secondsPerByte < b.secondsPerByte; });
  return found;
}

} // namespace apc
