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
        exposures(exposuresOf(graph)), runs(graph.microBatches()),
        copies(static_cast<size_t>(graph.copies),
               CopyState{std::vector<Events>(graph.values.size()), std::vector<Events>(cost.moves.size())}) {
    for (auto [index, move] : llvm::enumerate(cost.moves))
      for (OpGraph::Use use : move.users)
        moveOfUse[{use.op, use.operand}] = index;
  }

  /// Copies take turns; what runs once in a step runs behind the last of them.
  std::vector<StepEvent> build() {
    placeAllMoves();
    for (bool isOver = false; !isOver;) {
      isOver = true;
      for (CopyState &copy : copies) {
        runTurn(copy);
        isOver &= copy.place == program.order.size();
      }
    }
    return std::move(events);
  }

private:
  using Events = llvm::SmallVector<unsigned, 2>;

  /// A copy of the micro-batch on its way through the program.
  struct CopyState {
    std::vector<Events> needs;   ///< by value: collectives that it comes from, seen through views
    std::vector<Events> ends;    ///< by move
    size_t place = 0;            ///< in the program
    bool haveMovesBegun = false; ///< those in front of the op at `place`
  };

  bool isPart(const CopyState &copy, int64_t repeats) const {
    return repeats == runs || (part == StepSection::Last && &copy == &copies.back());
  }

  /// The first copy takes the moves of values that all copies read, the last one those that come behind all of them.
  bool takesMove(const CopyState &copy, size_t index) const {
    const GraphMove &move = cost.moves[index];
    bool isForAll = llvm::any_of(move.users, [&](OpGraph::Use use) { return graph.op(use.op).repeats == runs; });
    return move.repeats == runs ||
           (part == StepSection::Last && &copy == (isForAll ? &copies.front() : &copies.back()));
  }

  /// Until the copy would wait for a collective that began in this turn.
  void runTurn(CopyState &copy) {
    const size_t begin = events.size();
    for (; copy.place < program.order.size(); ++copy.place, copy.haveMovesBegun = false) {
      OpId op = program.order[copy.place];
      for (size_t move : copy.haveMovesBegun ? llvm::ArrayRef<size_t>() : llvm::ArrayRef(movesAt[copy.place]))
        if (takesMove(copy, move))
          addMove(copy, move);
      copy.haveMovesBegun = true;
      if (!isPart(copy, graph.op(op).repeats))
        continue;
      Events before = eventsBefore(copy, op);
      bool isNew = llvm::any_of(before, [&](unsigned event) { return event >= begin; });
      if (copies.size() > 1 && isNew && secondsOf(op) > 0)
        return;
      addOp(copy, op, std::move(before));
    }
  }

  /// The moves in front of each op of the program, those first whose copies are read first; the first move of a bucket
  /// stands for all of them.
  void placeAllMoves() {
    movesAt.resize(graph.ops.size());
    std::vector<OpId> users = firstUsers(program, cost.moves, cost.buckets);
    for (size_t index = 0; index < cost.moves.size(); ++index)
      if (takenWith(index).front() == index)
        movesAt[placeOf(index)].push_back(index);
    for (std::vector<size_t> &moves : movesAt)
      llvm::stable_sort(moves, [&](size_t a, size_t b) { return program.at(users[a]) < program.at(users[b]); });
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

  void addMove(CopyState &copy, size_t index) {
    const GraphMove &first = cost.moves[index];
    llvm::SmallVector<size_t> together = takenWith(index);
    Events before;
    if (first.source)
      before = copy.ends[*first.source];
    else
      for (size_t move : together)
        for (ValueId value : cost.moves[move].values)
          llvm::append_range(before, copy.needs[value.index()]);
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
    const bool isOfCopy = first.repeats == runs;
    for (CopyState &own : isOfCopy ? llvm::MutableArrayRef<CopyState>(copy) : llvm::MutableArrayRef<CopyState>(copies))
      for (size_t move : together)
        own.ends[move] = before;
  }

  /// Of one run.
  double secondsOf(OpId id) const { return cost.ops[id.index()].seconds() / static_cast<double>(graph.op(id).repeats); }

  /// The collectives for which an op waits.
  Events eventsBefore(const CopyState &copy, OpId id) const {
    Events before;
    for (auto [operand, value] : llvm::enumerate(graph.op(id).operands)) {
      if (!value)
        continue;
      auto move = moveOfUse.find({id, static_cast<unsigned>(operand)});
      llvm::append_range(before, move == moveOfUse.end() ? copy.needs[value->index()] : copy.ends[move->second]);
    }
    return before;
  }

  void addOp(CopyState &copy, OpId id, Events before) {
    if (double seconds = secondsOf(id); seconds > 0) {
      lastOp = addEvent({StepEventKind::Op, seconds, before});
      before.clear();
    }
    for (std::optional<ValueId> result : graph.op(id).results)
      if (result)
        copy.needs[result->index()] = before;
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
  int64_t runs;                                          ///< of what stands in a micro-batch
  std::map<std::pair<OpId, unsigned>, size_t> moveOfUse; ///< the last on the way to an operand
  std::vector<std::vector<size_t>> movesAt;              ///< by place
  std::vector<CopyState> copies;
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

/// The host runs ahead of the device; where it is the slower, the device waits for its launches.
static StepTime atPaceOfHost(StepTime time, const GraphCost &cost) {
  double dispatch = 0;
  for (const OpCost &op : cost.ops)
    dispatch += op.dispatchSeconds;
  if (double waiting = dispatch - time.seconds; waiting > 0) {
    time.seconds += waiting;
    time.hostSeconds += waiting;
  }
  return time;
}

static StepTime timeInTurn(const GraphCost &cost) {
  return {cost.seconds(), cost.computeSeconds, cost.communicationSeconds,
          cost.communicationSeconds - cost.besideSeconds};
}

StepTime overlappedTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model) {
  if (!graph.isTrainingStep())
    return atPaceOfHost(timeInTurn(cost), cost);
  OverlapRates rates = overlapRates(model.getPool().device);
  StepTime time;
  if (int64_t count = graph.wholeMicroBatches(); count > 1)
    time = simulateStep(stepEvents(graph, cost, model, StepSection::MicroBatch), rates)
               .times(static_cast<double>(count - 1));
  time += simulateStep(stepEvents(graph, cost, model, StepSection::Last), rates);
  return atPaceOfHost(time, cost);
}

StepTime stepTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model) {
  return graph.overlaps ? overlappedTime(graph, cost, model) : atPaceOfHost(timeInTurn(cost), cost);
}

} // namespace apc
