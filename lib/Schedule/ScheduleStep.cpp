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
  EventBuilder(const OpGraph &graph, const GraphCost &cost, const CostModel &model, StepSection part)
      : graph(graph), cost(cost), model(model), part(part), program(graph, cost.moves, cost.buckets),
        levels(levelsOf(model.getMesh())), needs(graph.values.size()), ends(cost.moves.size()) {
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
    for (const Collective &collective :
         first.bucket ? cost.buckets[*first.bucket].collectives : first.redistribution.collectives) {
      double seconds = model.collectiveSeconds(collective);
      if (seconds <= 0)
        continue;
      before = {addEvent(streamOf(collective), seconds, before)};
    }
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
  StepSection part;
  ProgramPlaces program;
  std::set<unsigned> levels;
  std::map<std::pair<OpId, unsigned>, size_t> moveOfUse; ///< the last on the way to an operand
  std::vector<Events> needs; ///< by value: collectives that it comes from, seen through views
  std::vector<Events> ends;  ///< by move
  std::optional<unsigned> lastOp;
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

unsigned numStreams(const Mesh &mesh) { return std::max<unsigned>(1, static_cast<unsigned>(levelsOf(mesh).size())); }

StepTime stepTime(const OpGraph &graph, const GraphCost &cost, const CostModel &model) {
  if (!graph.isTrainingStep())
    return {cost.seconds(), cost.computeSeconds, cost.communicationSeconds, cost.communicationSeconds};
  OverlapRates rates = overlapRates(model.getPool().device);
  StepTime time;
  if (int64_t count = graph.microBatches(); count > 1)
    time = simulateStep(stepEvents(graph, cost, model, StepSection::MicroBatch), rates)
               .times(static_cast<double>(count - 1));
  time += simulateStep(stepEvents(graph, cost, model, StepSection::Last), rates);
  return time;
}

namespace {

/// The ops whose places buckets may change.
struct BucketWaits {
  std::vector<bool> mayWait;     ///< by op: reads a value of a bucket that may wait for a later one, or what waits so
  std::vector<bool> mayBeWaited; ///< by op: makes a value of such a bucket, behind which others may run that wait

  BucketWaits(const OpGraph &graph, const Fusion &fusion)
      : mayWait(graph.ops.size(), false), mayBeWaited(graph.ops.size(), false) {
    std::vector<bool> waits = waitingGroups(graph, fusion);
    auto isWaiting = [&](ValueId value) {
      std::optional<unsigned> group = fusion.group(value);
      return group && waits[*group];
    };
    for (auto [index, op] : llvm::enumerate(graph.ops)) {
      for (std::optional<ValueId> value : op.operands)
        if (value && (isWaiting(*value) || mayWait[graph.value(*value).producer.index()]))
          mayWait[index] = true;
      for (std::optional<ValueId> value : op.results)
        if (value && isWaiting(*value))
          mayBeWaited[index] = true;
    }
  }

private:
  /// By group: is one of its values read before another is made?
  static std::vector<bool> waitingGroups(const OpGraph &graph, const Fusion &fusion) {
    std::vector<size_t> made(fusion.groupBytes.size(), 0), read(fusion.groupBytes.size(), graph.ops.size());
    for (auto [index, op] : llvm::enumerate(graph.ops)) {
      for (std::optional<ValueId> value : op.results)
        if (std::optional<unsigned> group = value ? fusion.group(*value) : std::nullopt; group && !op.operands.empty())
          made[*group] = index;
      for (std::optional<ValueId> value : op.operands)
        if (std::optional<unsigned> group = value ? fusion.group(*value) : std::nullopt; group)
          read[*group] = std::min(read[*group], index);
    }
    std::vector<bool> waits;
    for (auto [last, first] : llvm::zip_equal(made, read))
      waits.push_back(first <= last);
    return waits;
  }
};

} // namespace

std::vector<llvm::SmallVector<bool, 4>> exposedOperands(const OpGraph &graph, const Fusion &fusion) {
  BucketWaits waits(graph, fusion);
  std::vector<llvm::SmallVector<bool, 4>> exposed;
  std::optional<OpId> last;     // op that takes time
  bool mayOthersFollow = false; // behind it, or behind an op since that takes no time
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const GraphOp &op = graph.op(OpId(index));
    exposed.emplace_back(op.operands.size(), false);
    if (!takesTime(graph, OpId(index))) {
      mayOthersFollow = mayOthersFollow || waits.mayBeWaited[index];
      continue;
    }
    bool isFound = !last || graph.op(*last).repeats != op.repeats || waits.mayWait[index] || mayOthersFollow;
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
    mayOthersFollow = waits.mayBeWaited[index];
  }
  return exposed;
}

} // namespace apc
