// Programs as events, micro-batch by micro-batch.
#include "apc/Schedule/ScheduleStep.h"

#include "apc/Schedule/Exposures.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

class EventBuilder {
public:
  EventBuilder(const OpGraph &graph, const GraphCost &cost, const CostModel &model, StepSection part)
      : graph(graph), cost(cost), model(model), part(part), program(graph, cost.moves, cost.buckets),
        exposures(exposuresOf(graph)), needs(graph.values.size()), ends(cost.moves.size()) {
    for (auto [index, move] : llvm::enumerate(cost.moves))
      for (OpGraph::Use use : move.users)
        moveOfUse[{use.op, use.operand}] = index;
  }

  std::vector<StepEvent> build() {
    std::vector<std::vector<size_t>> movesAt = placedMoves();
    for (auto [place, op] : llvm::enumerate(program.order)) {
      for (size_t move : movesAt[place])
        addMove(move);
      if (isPart(graph.op(op).repeats))
        addOp(op);
    }
    return std::move(events);
  }

private:
  using Events = llvm::SmallVector<unsigned, 2>;

  bool isPart(int64_t repeats) const { return part == StepSection::Last || repeats == graph.microBatches(); }

  /// The moves in front of each op of the program, those first whose copies are read first; the first move of a bucket
  /// stands for all of them.
  std::vector<std::vector<size_t>> placedMoves() const {
    std::vector<std::vector<size_t>> movesAt(graph.ops.size());
    std::vector<OpId> users = firstUsers(program, cost.moves, cost.buckets);
    for (auto [index, move] : llvm::enumerate(cost.moves))
      if (isPart(move.repeats) && takenWith(index).front() == index)
        movesAt[placeOf(index)].push_back(index);
    for (std::vector<size_t> &moves : movesAt)
      llvm::stable_sort(moves, [&](size_t a, size_t b) { return program.at(users[a]) < program.at(users[b]); });
    return movesAt;
  }

  /// The moves whose collectives are taken together with those of this one, and itself.
  llvm::SmallVector<size_t> takenWith(size_t move) const {
    if (std::optional<size_t> bucket = cost.moves[move].bucket)
      return llvm::to_vector(cost.buckets[*bucket].moves);
    return {move};
  }

  /// Sums over micro-batches are ready in the last one.
  size_t placeOf(size_t index) const {
    const GraphMove &first = cost.moves[index];
    size_t made = 0;
    bool waits = first.repeats == 1 && !first.source;
    for (size_t move : takenWith(index))
      for (ValueId value : cost.moves[move].values) {
        made = std::max(made, program.at(graph.value(value).producer));
        waits = waits && graph.isAccumulated(value);
      }
    return waits ? std::min(made + 1, program.at(first.before)) : program.at(first.before);
  }

  void addMove(size_t index) {
    const GraphMove &first = cost.moves[index];
    llvm::SmallVector<size_t> together = takenWith(index);
    Events before;
    if (first.source)
      before = ends[*first.source];
    else
      for (size_t move : together)
        for (ValueId value : cost.moves[move].values)
          llvm::append_range(before, needs[value.index()]);
    if (lastOp)
      before.push_back(*lastOp);
    bool waits = llvm::any_of(together, [&](size_t move) { return isExposed(cost.moves[move]); });
    for (const Collective &collective :
         first.bucket ? cost.buckets[*first.bucket].collectives : first.redistribution.collectives) {
      double seconds = model.collectiveSeconds(collective);
      if (seconds <= 0)
        continue;
      before = {addEvent({waits ? StepEventKind::Collective : StepEventKind::CollectiveBeside, seconds, before})};
    }
    if (waits && !before.empty())
      lastOp = before.back();
    for (size_t move : together)
      ends[move] = before;
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
      lastOp = addEvent({StepEventKind::Op, seconds, before});
      before.clear();
    }
    for (std::optional<ValueId> result : op.results)
      if (result)
        needs[result->index()] = before;
  }

  /// Does the main stream wait for a move? Its first user says it.
  bool isExposed(const GraphMove &move) const {
    OpGraph::Use use = move.users.front();
    return exposures.operands[use.op.index()][use.operand] == Exposure::Exposed;
  }

  unsigned addEvent(StepEvent event) {
    llvm::sort(event.after);
    event.after.erase(std::unique(event.after.begin(), event.after.end()), event.after.end());
    events.push_back(std::move(event));
    return static_cast<unsigned>(events.size() - 1);
  }

  const OpGraph &graph;
  const GraphCost &cost;
  const CostModel &model;
  StepSection part;
  ProgramPlaces program;
  Exposures exposures;
  std::map<std::pair<OpId, unsigned>, size_t> moveOfUse; ///< the last on the way to an operand
  std::vector<Events> needs;      ///< by value: collectives that it comes from, seen through views
  std::vector<Events> ends;       ///< by move
  std::optional<unsigned> lastOp; ///< the last event of the main stream
  std::vector<StepEvent> events;
};

} // namespace

std::vector<StepEvent> stepEvents(const OpGraph &graph, const GraphCost &cost, const CostModel &model,
                                  StepSection part) {
  return EventBuilder(graph, cost, model, part).build();
}

OverlapRates overlapRates(const Device &device) {
  return {device.overlappedComputeShare, device.overlappedCommunicationShare};
}

StepTime stepTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model) {
  if (!graph.overlaps)
    return {cost.seconds(), cost.computeSeconds, cost.communicationSeconds, cost.communicationSeconds};
  OverlapRates rates = overlapRates(model.getPool().device);
  StepTime time;
  if (int64_t count = graph.microBatches(); count > 1)
    time = simulateStep(stepEvents(graph, cost, model, StepSection::MicroBatch), rates)
               .times(static_cast<double>(count - 1));
  time += simulateStep(stepEvents(graph, cost, model, StepSection::Last), rates);
  return time;
}

} // namespace apc
