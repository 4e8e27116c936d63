// Programs as events, micro-batch by micro-batch.
#include "apc/Schedule/ScheduleStep.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// The levels of a mesh's axes, outermost first.
std::set<unsigned> levelsOf(const Mesh &mesh) {
  std::set<unsigned> levels;
  for (const MeshAxis &axis : mesh.getAxes())
    levels.insert(axis.level);
  return levels;
}

/// Ops that take no time: sources, sinks, views and what runs at load.
bool takesTime(const OpGraph &graph, OpId id) {
  const GraphOp &op = graph.op(id);
  return !op.operands.empty() && !op.results.empty() && !op.atLoad && graph.ruleOf(id).work != Work::View;
}

class EventBuilder {
public:
  EventBuilder(const OpGraph &graph, const GraphCost &cost, const CostModel &model, StepPart part)
      : graph(graph), cost(cost), model(model), part(part), levels(levelsOf(model.getMesh())),
        needs(graph.values.size()), ends(cost.moves.size()) {
    for (auto [index, move] : llvm::enumerate(cost.moves))
      for (OpGraph::Use use : move.users)
        moveOfUse[{use.op, use.operand}] = index;
  }

  std::vector<StepEvent> build() {
    std::vector<std::vector<size_t>> movesAt = placedMoves();
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      for (size_t move : movesAt[op])
        addMove(move);
      if (isPart(graph.op(OpId(op)).repeats))
        addOp(OpId(op));
    }
    return std::move(events);
  }

private:
  using Events = llvm::SmallVector<unsigned, 2>;

  bool isPart(int64_t repeats) const { return part == StepPart::Last || repeats == graph.microBatches(); }

  /// The moves in front of each op, those first whose copies are read first.
  std::vector<std::vector<size_t>> placedMoves() const {
    std::vector<std::vector<size_t>> movesAt(graph.ops.size());
    for (auto [index, move] : llvm::enumerate(cost.moves))
      if (isPart(move.repeats))
        movesAt[placeOf(move)].push_back(index);
    for (std::vector<size_t> &moves : movesAt)
      llvm::stable_sort(
          moves, [&](size_t a, size_t b) { return cost.moves[a].users.front().op < cost.moves[b].users.front().op; });
    return movesAt;
  }

  /// Sums over micro-batches are ready in the last one.
  size_t placeOf(const GraphMove &move) const {
    size_t made = 0;
    for (ValueId value : move.values)
      made = std::max<size_t>(made, graph.value(value).producer.index());
    bool waited = llvm::any_of(move.values, [&](ValueId value) { return graph.isAccumulated(value); });
    return waited && move.repeats == 1 && !move.source ? made + 1 : move.before.index();
  }

  void addMove(size_t index) {
    const GraphMove &move = cost.moves[index];
    Events before;
    if (move.source)
      before = ends[*move.source];
    else
      for (ValueId value : move.values)
        llvm::append_range(before, needs[value.index()]);
    if (lastOp)
      before.push_back(*lastOp);
    for (const Collective &collective : move.redistribution.collectives) {
      double seconds = model.collectiveSeconds(collective);
      if (seconds <= 0)
        continue;
      before = {addEvent(streamOf(collective), seconds, before)};
    }
    ends[index] = before;
  }

  void addOp(OpId id) {
    const GraphOp &op = graph.op(id);
    Events before;
    for (auto [operand, value] : llvm::enumerate(op.operands)) {
      if (!value)
        continue;
      auto move = moveOfUse.find({id, static_cast<unsigned>(operand)});
      llvm::append_range(before, move == moveOfUse.end() ? needs[value->index()] : ends[move->second]);
    }
    double seconds = cost.ops[id.index()].seconds() / static_cast<double>(op.repeats);
    if (seconds > 0) {
      lastOp = addEvent(0, seconds, before);
      before.clear();
    }
    for (std::optional<ValueId> result : op.results)
      if (result)
        needs[result->index()] = before;
  }

  unsigned addEvent(unsigned stream, double seconds, Events after) {
    llvm::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    events.push_back({stream, seconds, std::move(after)});
    return static_cast<unsigned>(events.size() - 1);
  }

  unsigned streamOf(const Collective &collective) const {
    unsigned level = *levels.rbegin();
    for (AxisId axis : collective.axes)
      level = std::min(level, model.getMesh().axis(axis).level);
    return 1 + static_cast<unsigned>(std::distance(levels.begin(), levels.find(level)));
  }

  const OpGraph &graph;
  const GraphCost &cost;
  const CostModel &model;
  StepPart part;
  std::set<unsigned> levels;
  std::map<std::pair<OpId, unsigned>, size_t> moveOfUse; ///< the last on the way to an operand
  std::vector<Events> needs; ///< by value: collectives that it comes from, seen through views
  std::vector<Events> ends;  ///< by move
  std::optional<unsigned> lastOp;
  std::vector<StepEvent> events;
};

} // namespace

std::vector<StepEvent> stepEvents(const OpGraph &graph, const GraphCost &cost, const CostModel &model, StepPart part) {
  return EventBuilder(graph, cost, model, part).build();
}

OverlapRates overlapRates(const Device &device) {
  return {device.overlappedComputeShare, device.overlappedCommunicationShare};
}

unsigned numStreams(const Mesh &mesh) { return std::max<unsigned>(1, static_cast<unsigned>(levelsOf(mesh).size())); }

StepTime stepTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model) {
  if (!graph.isTrainingStep())
    return {cost.seconds(), cost.computeSeconds, cost.communicationSeconds, cost.communicationSeconds};
  OverlapRates rates = overlapRates(model.getPool().device);
  StepTime time;
  if (int64_t count = graph.microBatches(); count > 1)
    time =
        simulateStep(stepEvents(graph, cost, model, StepPart::MicroBatch), rates).times(static_cast<double>(count - 1));
  time += simulateStep(stepEvents(graph, cost, model, StepPart::Last), rates);
  return time;
}

std::vector<llvm::SmallVector<bool, 4>> exposedOperands(const OpGraph &graph) {
  std::vector<llvm::SmallVector<bool, 4>> exposed;
  std::optional<OpId> last; // op that takes time
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const GraphOp &op = graph.op(OpId(index));
    exposed.emplace_back(op.operands.size(), false);
    if (!takesTime(graph, OpId(index)))
      continue;
    bool isFound = !last || graph.op(*last).repeats != op.repeats;
    for (size_t operand = 0; operand < op.operands.size() && !isFound; ++operand) {
      std::vector<OpGraph::Use> way{{OpId(index), static_cast<unsigned>(operand)}};
      std::optional<ValueId> value = op.operands[operand];
      while (value && graph.isView(*value) && !graph.op(graph.value(*value).producer).atLoad) {
        way.push_back({graph.value(*value).producer, 0});
        value = graph.op(graph.value(*value).producer).operands[0];
      }
      isFound = value && graph.value(*value).producer == *last;
      for (OpGraph::Use use : isFound ? way : std::vector<OpGraph::Use>())
        exposed[use.op.index()][use.operand] = true;
    }
    last = OpId(index);
  }
  return exposed;
}

} // namespace apc
