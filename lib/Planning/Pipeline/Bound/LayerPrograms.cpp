// One problem for each mesh, searched again at each cost of a byte.
#include "LayerPrograms.h"

#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

namespace apc {

/// Before the first op nothing lives but what stays through all micro-batches.
static constexpr Moment beforeAll{OpId(0), /*isCertain=*/true};

LayerPrograms::LayerPrograms(std::shared_ptr<StageAnswer> answer, const CutStep &step, unsigned stage,
                             llvm::ArrayRef<Mesh> meshes)
    : own(std::move(answer)) {
  const OpGraph &graph = own->graph;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const bool isInput =
        isSource(graph, OpId(op)) && graph.value(*graph.ops[op].results.front()).role == ValueRole::Input;
    isOwnOp.push_back(step.stages[stage].ops[op] && !step.runsInEach(stage, op) && !isInput);
  }
  for (const Mesh &mesh : meshes)
    onMeshes.push_back({mesh});
}

llvm::Expected<LayerPrograms> LayerPrograms::make(const StageAnswers &layers, const CutStep &step, unsigned stage,
                                                  StagePart last, double seconds) {
  llvm::Expected<std::shared_ptr<StageAnswer>> own = layers.taskOfPart(stage, seconds);
  if (!own)
    return own.takeError();
  for (auto [index, op] : llvm::enumerate((*own)->graph.ops))
    if (step.stages[stage].parts[index] > last || step.runsInEach(stage, index))
      op.repeats = 0; // takes no time, and nor do collectives for it
  const PlanningTask &task = *(*own)->task;
  llvm::Expected<std::vector<Mesh>> meshes = task.pins.suitableMeshes(task.graph, firstAxes(task.request));
  if (!meshes)
    return meshes.takeError();
  return LayerPrograms(std::move(*own), step, stage, *meshes);
}

void LayerPrograms::build(OnMesh &mesh) const {
  mesh.planning = problemOf(task(), mesh.mesh, beforeAll);
  for (llvm::ArrayRef<OpId> ops : mesh.planning->ops)
    mesh.counts.push_back(!ops.empty() && llvm::all_of(ops, [&](OpId op) { return isOwnOp[op.index()]; }));
}

Problem LayerPrograms::withBytes(const OnMesh &mesh, double secondsPerByte) {
  Problem own = mesh.planning->problem;
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

llvm::Expected<std::optional<LayerLine>> LayerPrograms::leastOn(const OnMesh &mesh, double secondsPerByte,
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
    return LayerLine(); // none in this time
  }
  if (found->status == SearchStatus::Infeasible)
    return std::nullopt;
  if (!found->hasAnswer())
    return LayerLine{found->lowerBoundSeconds};
  const Problem &problem = mesh.planning->problem;
  LayerProgram program{evaluate(problem, found->assignment).seconds};
  for (auto [node, counts] : llvm::enumerate(mesh.counts))
    if (counts)
      program.bytes +=
          static_cast<double>(problem.tableOf(NodeId(node)).costs[found->assignment.strategies[node]].persistentBytes);
  return LayerLine{found->lowerBoundSeconds, program};
}

llvm::Expected<std::optional<LayerLine>> LayerPrograms::searchOn(size_t index, double secondsPerByte,
                                                                 std::shared_ptr<WorkClock> clock) {
  OnMesh &mesh = onMeshes[index];
  if (mesh.isImpossible)
    return std::nullopt;
  if (!mesh.planning) {
    build(mesh);
    clock->spend(buildingWork(*mesh.planning));
  }
  llvm::Expected<std::optional<LayerLine>> line = leastOn(mesh, secondsPerByte, std::move(clock));
  if (!line)
    return line;
  mesh.isImpossible = !*line;
  if (*line)
    mesh.bounds[secondsPerByte] = (*line)->bound;
  return line;
}

/// Between two costs the least lies above the straight line (it is the least of straight lines), and beyond the last
/// one it does not fall.
double LayerPrograms::knownLeast(size_t index, double secondsPerByte) const {
  const OnMesh &mesh = onMeshes[index];
  if (mesh.isImpossible)
    return std::numeric_limits<double>::max();
  auto above = mesh.bounds.lower_bound(secondsPerByte);
  if (above == mesh.bounds.begin())
    return above != mesh.bounds.end() && above->first == secondsPerByte ? above->second : 0;
  auto below = std::prev(above);
  if (above == mesh.bounds.end())
    return below->second;
  const double part = (secondsPerByte - below->first) / (above->first - below->first);
  return below->second + part * (above->second - below->second);
}

namespace {

/// The programs on one mesh, and what they pay at least.
struct Offer {
  size_t mesh;
  double least;
};

/// The most promising first. Nothing pays less than at no cost.
std::vector<Offer> offersOf(const LayerPrograms &layer, double secondsPerByte) {
  std::vector<Offer> offers;
  for (size_t mesh = 0; mesh < layer.numMeshes(); ++mesh)
    offers.push_back({mesh, std::max(layer.knownLeast(mesh, secondsPerByte), layer.knownLeast(mesh, 0))});
  llvm::stable_sort(offers, [](const Offer &a, const Offer &b) { return a.least < b.least; });
  return offers;
}

} // namespace

/// In groups of one size, so that the same searches are left out with any number of threads.
llvm::Expected<LayerLine> leastLine(LayerPrograms &layer, double secondsPerByte) {
  const PlanningTask &task = layer.task();
  const std::vector<Offer> offers = offersOf(layer, secondsPerByte);
  constexpr size_t together = 4;
  std::optional<LayerLine> least;
  for (llvm::ArrayRef<Offer> rest = offers; !rest.empty(); rest = rest.drop_front(std::min(together, rest.size()))) {
    if (least && least->best && rest.front().least >= least->best->paid(secondsPerByte))
      break;
    llvm::ArrayRef<Offer> group = rest.take_front(together);
    std::vector<std::optional<llvm::Expected<std::optional<LayerLine>>>> lines(group.size());
    forEach(group.size(), task.control.numThreads, *task.control.clock,
            [&](size_t index, const std::shared_ptr<WorkClock> &clock) {
              lines[index].emplace(layer.searchOn(group[index].mesh, secondsPerByte, clock));
            });
    llvm::Error errors = llvm::Error::success();
    for (std::optional<llvm::Expected<std::optional<LayerLine>>> &line : lines) {
      if (!*line)
        errors = llvm::joinErrors(std::move(errors), line->takeError());
      else if (const std::optional<LayerLine> &found = **line) {
        if (!least)
          least = LayerLine{found->bound};
        least->bound = std::min(least->bound, found->bound);
        if (found->best && (!least->best || found->best->paid(secondsPerByte) < least->best->paid(secondsPerByte)))
          least->best = found->best;
      }
    }
    if (errors)
      return std::move(errors);
  }
  return least.value_or(LayerLine());
}

/// From the cost at which the memory is worth as much as the time, a cost is looked for at which the layers fit. The
/// lines of the programs on both sides meet at a cost; the line that is lower there takes the place of one of them (as
/// the dual of `dp`).
llvm::Expected<std::vector<ByteCostedLayer>> byteCostsOf(LayerPrograms &layer, double count, int64_t limitBytes) {
  const auto limit = static_cast<double>(limitBytes);
  auto fits = [&](const LayerProgram &program) { return count * program.bytes <= limit; };
  std::vector<ByteCostedLayer> found;
  llvm::Expected<LayerLine> quickest = leastLine(layer, 0);
  if (!quickest)
    return quickest.takeError();
  if (!quickest->best || fits(*quickest->best))
    return found;
  LayerProgram fast = *quickest->best;
  std::optional<LayerProgram> small;
  double cost = fast.seconds * count / limit;
  constexpr unsigned mostRounds = 12;
  constexpr double little = 1e-3, growth = 4;
  for (unsigned round = 0; round < mostRounds; ++round) {
    llvm::Expected<LayerLine> next = leastLine(layer, cost);
    if (!next)
      return next.takeError();
    found.push_back({cost, next->bound});
    const bool isLast = small && next->best && next->best->paid(cost) >= small->paid(cost) * (1 - little);
    if (!next->best || isLast)
      break;
    if (fits(*next->best))
      small = *next->best;
    else
      fast = *next->best;
    if (small && fast.bytes <= small->bytes)
      break;
    cost = small ? (small->seconds - fast.seconds) / (fast.bytes - small->bytes) : cost * growth;
  }
  llvm::sort(found,
             [](const ByteCostedLayer &a, const ByteCostedLayer &b) { return a.secondsPerByte < b.secondsPerByte; });
  return found;
}

} // namespace apc
