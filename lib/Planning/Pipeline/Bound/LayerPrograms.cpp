// One problem for each mesh, searched again at each cost of a byte.
#include "LayerPrograms.h"

#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

namespace apc {

/// Before the first op nothing lives but what stays through all micro-batches.
static constexpr Moment beforeAll{OpId(0), /*isCertain=*/true};

static bool isCheaper(const PaidAt &a, const PaidAt &b) { return a.secondsPerByte < b.secondsPerByte; }

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
  mesh.copies = heldCopiesOf(*mesh.planning, task().graph, CostModel(task().pool, mesh.mesh));
  llvm::erase_if(mesh.copies, [&](const HeldCopy &copy) { return !mesh.counts[copy.parameter.index()]; });
}

/// Adds what the bytes of a node cost, less those of `stored`, by choice.
static NodeTable withBytesOf(NodeTable table, const std::vector<double> *stored, double secondsPerByte) {
  for (auto [choice, cost] : llvm::enumerate(table.costs)) {
    const auto bytes = static_cast<double>(cost.persistentBytes);
    cost.seconds += secondsPerByte * std::max(0.0, bytes - (stored ? (*stored)[choice] : 0));
  }
  return table;
}

/// Adds what the bytes of a copy cost.
static PairTable withCopy(PairTable table, const HeldCopy &copy, double secondsPerByte) {
  for (size_t row = 0; row < table.rows(); ++row)
    for (size_t column = 0; column < table.columns(); ++column)
      if (std::optional<double> seconds = table.at(row, column))
        table.set(row, column, *seconds + secondsPerByte * copy.bytes(row, column));
  return table;
}

Problem LayerPrograms::withBytes(const OnMesh &mesh, double secondsPerByte) {
  Problem own = mesh.planning->problem;
  own.memoryLimitBytes.reset();
  if (secondsPerByte == 0)
    return own;
  std::map<NodeId, const std::vector<double> *> stored;
  std::map<PairTableId, PairTableId> pairs;
  for (const HeldCopy &copy : mesh.copies) {
    stored[copy.parameter] = &copy.stored;
    Edge &edge = own.edges[copy.edge];
    auto [entry, isNew] = pairs.try_emplace(edge.table, edge.table);
    if (isNew)
      entry->second = own.addPairTable(withCopy(own.tableOf(edge), copy, secondsPerByte));
    edge.table = entry->second;
  }
  std::map<std::pair<NodeTableId, bool>, NodeTableId> tables;
  for (size_t node = 0; node < own.nodes.size(); ++node) {
    if (!mesh.counts[node])
      continue;
    NodeTableId &table = own.nodes[node].table;
    const std::vector<double> *ofCopy = stored.count(NodeId(node)) ? stored[NodeId(node)] : nullptr;
    auto [entry, isNew] = tables.try_emplace({table, ofCopy != nullptr}, table);
    if (isNew)
      entry->second = own.addNodeTable(withBytesOf(own.tableOf(NodeId(node)), ofCopy, secondsPerByte));
    table = entry->second;
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
  PaidLine program{evaluate(problem, found->assignment).seconds};
  for (const HeldCopy &copy : mesh.copies) {
    const Edge &edge = problem.edges[copy.edge];
    program.bytes += copy.bytes(found->assignment[edge.from], found->assignment[edge.to]) -
                     copy.stored[found->assignment[copy.parameter]];
  }
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
  if (*line) {
    llvm::erase_if(mesh.known, [&](const PaidAt &own) { return own.secondsPerByte == secondsPerByte; });
    mesh.known.push_back({secondsPerByte, (*line)->bound});
    llvm::sort(mesh.known, isCheaper);
  }
  return line;
}

double LayerPrograms::knownLeast(size_t index, double secondsPerByte) const {
  const OnMesh &mesh = onMeshes[index];
  return mesh.isImpossible ? std::numeric_limits<double>::max()
                           : lineBelow(mesh.known, secondsPerByte).paid(secondsPerByte);
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

PaidLine WorkerBytes::with(const PaidLine &layer, double secondsPerByte) const {
  const PaidLine own = lineBelow(kept, secondsPerByte);
  return {layers * layer.seconds + own.seconds / workers, layers * layer.bytes + own.bytes / workers};
}

double WorkerBytes::leastPaid(double layerPays, double secondsPerByte) const {
  return layers * layerPays + lineBelow(kept, secondsPerByte).paid(secondsPerByte) / workers;
}

/// From the cost at which the memory is worth as much as the time, a cost is looked for at which the worker fits. The
/// lines of the programs on both sides meet at a cost; the line that is lower there takes the place of one of them (as
/// the dual of `dp`).
llvm::Expected<std::vector<PaidAt>> byteCostsOf(LayerPrograms &layer, const LayerLine &quickest,
                                                const WorkerBytes &worker) {
  const auto limit = static_cast<double>(worker.limitBytes);
  std::vector<PaidAt> found;
  if (!quickest.best)
    return found;
  PaidLine fast = worker.with(*quickest.best, 0);
  std::optional<PaidLine> small;
  double cost = fast.seconds / limit, most = worker.layers * quickest.bound;
  constexpr unsigned mostRounds = 12;
  constexpr double little = 3e-3, growth = 4;
  for (unsigned round = 0; round < mostRounds && fast.bytes > limit; ++round) {
    if (small && fast.paid(cost) - cost * limit <= most * (1 + little)) // nothing lies above both lines
      break;
    llvm::Expected<LayerLine> next = leastLine(layer, cost);
    if (!next)
      return next.takeError();
    found.push_back({cost, next->bound});
    most = std::max(most, worker.leastPaid(next->bound, cost) - cost * limit);
    if (!next->best)
      break;
    const PaidLine own = worker.with(*next->best, cost);
    (own.bytes <= limit ? small.emplace() : fast) = own;
    if (small && (fast.bytes <= small->bytes || small->seconds <= fast.seconds))
      break;
    cost = small ? (small->seconds - fast.seconds) / (fast.bytes - small->bytes) : cost * growth;
  }
  llvm::sort(found, isCheaper);
  return found;
}

} // namespace apc
