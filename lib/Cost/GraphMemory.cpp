// The memory of a program on one device: what lives when, with views and moved copies.
#include "RuntimeMemory.h"

#include "apc/Cost/GraphCost.h"

#include "apc/Support/Saturating.h"

using namespace llvm;

namespace apc {

namespace {

/// The op positions until which the storage of each value and of each moved copy is needed.
struct StorageEnds {
  std::vector<size_t> values, moves;
};

/// (op, operand) -> the move whose copy it reads: the last one on its way.
using MoveOfUse = std::map<std::pair<size_t, unsigned>, size_t>;

MoveOfUse movesByUse(ArrayRef<GraphMove> moves) {
  MoveOfUse byUse;
  for (size_t move = 0; move < moves.size(); ++move)
    for (OpGraph::Use use : moves[move].users)
      byUse[{use.op.index(), use.operand}] = move;
  return byUse;
}

/// The moments of a program: positions in the order in which its ops run.
class Timeline {
public:
  Timeline(const OpGraph &graph, ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets)
      : graph(graph), moves(moves), byUse(movesByUse(moves)), program(graph, moves, buckets) {}

  size_t at(OpId op) const { return program.at(op); }
  OpId opAt(size_t at) const { return program.order[at]; }
  size_t size() const { return program.order.size(); }
  size_t madeBefore(size_t move) const { return at(moves[move].before); }
  StorageEnds storageEnds() const;

private:
  /// Until when the user of a value needs it: outputs are handed over together, at the end; a value that goes to
  /// another stage is sent at once.
  size_t neededBy(OpId user) const {
    bool isOutput = graph.op(user).results.empty() && !graph.op(user).isTransfer;
    return isOutput ? graph.ops.size() - 1 : at(user);
  }
  std::vector<size_t> copyEnds() const;

  const OpGraph &graph;
  ArrayRef<GraphMove> moves;
  MoveOfUse byUse;
  ProgramPlaces program;
};

/// The ends of the moved copies, views of them apart: a copy is needed until its last user, or until the copy is made
/// that its last user reads.
std::vector<size_t> Timeline::copyEnds() const {
  std::vector<size_t> ends(moves.size());
  for (size_t move = 0; move < moves.size(); ++move)
    for (OpGraph::Use use : moves[move].users) {
      size_t last = byUse.at({use.op.index(), use.operand});
      ends[move] = std::max(ends[move], last == move ? neededBy(use.op) : madeBefore(last));
    }
  return ends;
}

/// A value is needed until its last user, but only until the copy is made where a user reads a copy. A view shares the
/// storage of what its op reads, which is therefore needed as long as the view.
StorageEnds Timeline::storageEnds() const {
  StorageEnds ends{std::vector<size_t>(graph.values.size()), copyEnds()};
  auto copiedBefore = [&](size_t move) { return madeBefore(moves[move].source.value_or(move)); };
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (size_t v = graph.values.size(); v-- > 0;) {
    ends.values[v] = std::max(ends.values[v], at(graph.values[v].producer));
    for (OpGraph::Use use : uses[v]) {
      auto moved = byUse.find({use.op.index(), use.operand});
      size_t needed = moved == byUse.end() ? neededBy(use.op) : copiedBefore(moved->second);
      ends.values[v] = std::max(ends.values[v], needed);
    }
    if (!graph.isView(ValueId(v)))
      continue;
    OpId op = graph.values[v].producer;
    auto moved = byUse.find({op.index(), 0});
    size_t &shared = moved == byUse.end() ? ends.values[graph.op(op).operands[0]->index()] : ends.moves[moved->second];
    shared = std::max(shared, ends.values[v]);
  }
  return ends;
}

/// The move brings sums or parts of gradients together.
bool exchangesGradients(const OpGraph &graph, const GraphMove &move) {
  auto isGradient = [&](ValueId value) { return graph.value(value).role == ValueRole::Gradient; };
  auto isSent = [](const Collective &collective) { return collective.kind != CollectiveKind::Slice; };
  return all_of(move.values, isGradient) && any_of(move.redistribution.collectives, isSent);
}

/// Where moves begin. Exchanges of gradients that run as one wait for the last gradient, and what they read for them.
std::vector<size_t> beginsOfMoves(const OpGraph &graph, ArrayRef<GraphMove> moves, const Timeline &time, bool isOne,
                                  StorageEnds &ends) {
  std::vector<size_t> begins, together;
  for (size_t move = 0; move < moves.size(); ++move) {
    begins.push_back(time.madeBefore(move));
    if (isOne && exchangesGradients(graph, moves[move]))
      together.push_back(move);
  }
  size_t last = 0;
  for (size_t move : together)
    last = std::max(last, begins[move]);
  const std::vector<ValueId> storages = together.empty() ? std::vector<ValueId>() : graph.storages();
  for (size_t move : together) {
    begins[move] = last;
    ends.moves[move] = std::max(ends.moves[move], last);
    for (ValueId value : moves[move].values) {
      size_t &end = ends.values[storages[value.index()].index()];
      end = std::max(end, last);
    }
  }
  return begins;
}

/// The sharding in which a value is made.
Sharding madeAs(const OpGraph &graph, ArrayRef<Strategy> strategies, const GraphValue &value) {
  return resultSharding(graph.ruleOf(value.producer), strategies[value.producer.index()], value.resultIndex);
}

/// A value that takes the place of one that is spread alike needs no memory of its own.
bool isWrittenInPlace(const OpGraph &graph, ArrayRef<Strategy> strategies, const GraphValue &value) {
  return value.replaces && madeAs(graph, strategies, value) == madeAs(graph, strategies, graph.value(*value.replaces));
}

/// A copy that is only handed over, in place of what the value replaces: a parameter gathered again after its update.
bool arrivesInPlace(const OpGraph &graph, const GraphMove &move, ValueId value) {
  return graph.value(value).replaces &&
         all_of(move.users, [&](OpGraph::Use use) { return graph.op(use.op).results.empty(); });
}

/// A reduced gradient stays a gradient.
MemoryCategory categoryOfCopy(const GraphValue &value) {
  return value.role == ValueRole::Gradient ? MemoryCategory::Gradients : MemoryCategory::Activations;
}

/// The memory of a program: bytes that a device holds through the whole step, values that live for a part of it, and
/// the needs of ops by their place.
struct ProgramMemory {
  MemoryTable held;
  std::vector<PeakValue> heldValues;
  std::vector<LiveInterval> live;
  std::vector<PeakValue> values; ///< by interval, those of fragments apart
  std::vector<OpMemory> ops;

  /// The values of other micro-batches in flight live as long as any micro-batch runs.
  void addOthersInFlight(const OpGraph &graph, const Timeline &time);
  /// Activations come and go, and fill a \p share of what an allocator takes for them: the rest is the runtime's.
  void addFragments(double share) {
    for (size_t index = 0; index < values.size(); ++index) {
      const LiveInterval own = live[index];
      if (share >= 1 || own.category != MemoryCategory::Activations)
        continue;
      auto taken = static_cast<int64_t>(static_cast<double>(own.bytes) / share);
      live.push_back({own.begin, own.end, taken - own.bytes, MemoryCategory::Runtime});
    }
  }
  void addKept(const KeptByKernels &kept, const Timeline &time, int64_t copies) {
    auto isBefore = [&](OpId a, OpId b) { return time.at(a) < time.at(b); };
    auto [first, last] = std::minmax_element(kept.ops.begin(), kept.ops.end(), isBefore);
    addLive(time.at(*first), time.at(*last), {kept.value, multiplySaturating(kept.bytes, copies)});
  }
  void addLive(size_t begin, size_t end, PeakValue value) {
    live.push_back({begin, end, value.bytes, value.category});
    values.push_back(value);
  }
};

void ProgramMemory::addOthersInFlight(const OpGraph &graph, const Timeline &time) {
  int64_t others = graph.othersInFlight();
  if (others == 0)
    return;
  size_t backward = time.at(graph.inFlight->backward), last = 0;
  size_t weights = time.at(graph.inFlight->weights.value_or(graph.inFlight->backward));
  const int64_t runs = graph.microBatches();
  for (size_t at = 0; at < time.size(); ++at)
    if (graph.op(time.opAt(at)).repeats == runs)
      last = at;
  std::vector<bool> isWeight = graph.weights();
  for (size_t index = 0, own = live.size(); index < own; ++index) {
    PeakValue value = values[index];
    auto isHeldAt = [&, own = live[index]](size_t at) { return own.begin < at && at <= own.end; };
    bool isKept = isHeldAt(backward) || isHeldAt(weights);
    if (!isKept || isWeight[value.value.index()] || graph.isAccumulated(value.value))
      continue;
    value.bytes = multiplySaturating(value.bytes, others);
    addLive(0, last, value);
  }
}

void addValues(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model, const Timeline &time,
               ArrayRef<size_t> ends, ProgramMemory &memory) {
  const std::vector<int64_t> times = graph.timesHeld();
  const std::vector<bool> inside = madeInsideLosses(graph, model.getPool().runtime);
  // Sums over micro-batches are there anyway, and what is added to them comes and goes.
  const bool keepsGradients = model.getPool().runtime.keepsGradients && graph.microBatches() == 1;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue &value = graph.values[v];
    if (graph.isView(ValueId(v)) || isWrittenInPlace(graph, strategies, value) || (!inside.empty() && inside[v]))
      continue;
    int64_t bytes = bytesInRuntime(graph, ValueId(v), madeAs(graph, strategies, value), model);
    if (value.resultIndex == 0)
      bytes = addSaturating(bytes, keptBesideResult(graph, value.producer, strategies[value.producer.index()], model));
    bytes = multiplySaturating(bytes, times[v]);
    // Inputs are handed over together, before the first op, but for those that another stage sends; sums over
    // micro-batches outlive each of them.
    const RoleTraits &role = traitsOf(value.role);
    bool isInput = value.role == ValueRole::Input && !graph.op(value.producer).isTransfer;
    bool isKept = keepsGradients && value.role == ValueRole::Gradient;
    bool isThere = isInput || isKept || graph.isAccumulated(ValueId(v));
    PeakValue own{ValueId(v), bytes, role.category};
    if (role.staysForStep) {
      memory.held[role.category] += bytes;
      memory.heldValues.push_back(own);
    } else {
      memory.addLive(isThere ? 0 : time.at(value.producer), ends[v], own);
    }
  }
}

ProgramMemory memoryOf(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                       ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets, const Timeline &time) {
  ProgramMemory memory;
  StorageEnds ends = time.storageEnds();
  const std::vector<size_t> begins =
      beginsOfMoves(graph, moves, time, model.getPool().runtime.exchangesGradientsTogether, ends);
  addValues(graph, strategies, model, time, ends.values, memory);
  std::vector<OpMemory> &ops = memory.ops;
  ops.resize(graph.ops.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    ops[time.at(OpId(op))].workspaceBytes = addSaturating(model.workspaceBytes(graph.ruleOf(OpId(op))),
                                                          workspaceOfScores(graph, OpId(op), strategies[op], model));
  for (const KeptByKernels &kept : keptByKernels(graph, strategies, model))
    memory.addKept(kept, time, graph.copies);
  // The moves before one op run one after the other and use the same buffers.
  auto useBuffers = [&](size_t at, ArrayRef<Collective> collectives) {
    ops[at].communicationBytes = std::max(ops[at].communicationBytes, redistributionBufferBytes(collectives));
  };
  int64_t runs = graph.microBatches();
  for (size_t move = 0; move < moves.size(); ++move) {
    size_t begin = begins[move];
    int64_t times = moves[move].repeats == runs ? graph.copies : 1;
    for (ValueId value : moves[move].values)
      if (!arrivesInPlace(graph, moves[move], value))
        memory.addLive(begin, ends.moves[move],
                       {value,
                        multiplySaturating(model.localBytes(graph.value(value).shape, moves[move].target), times),
                        categoryOfCopy(graph.value(value)), /*isCopy=*/true});
    if (!moves[move].bucket)
      useBuffers(begin, moves[move].redistribution.collectives);
  }
  for (const MoveBucket &bucket : buckets)
    useBuffers(time.madeBefore(bucket.moves.front()), bucket.collectives);
  memory.addOthersInFlight(graph, time);
  memory.addFragments(model.getPool().runtime.allocatorShare);
  return memory;
}

} // namespace

StepPeak graphMemory(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                     ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets) {
  Timeline time(graph, moves, buckets);
  ProgramMemory memory = memoryOf(graph, strategies, model, moves, buckets, time);
  StepPeak peak = stepPeak(memory.held, memory.live, memory.ops);
  peak.op = time.opAt(peak.op).index();
  return peak;
}

MemoryTable memoryBetweenSteps(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model) {
  MemoryTable table;
  for (const GraphValue &value : graph.values)
    if (const RoleTraits &role = traitsOf(value.role); role.staysForStep)
      table[role.category] =
          addSaturating(table[role.category], model.localBytes(value.shape, madeAs(graph, strategies, value)));
  return table;
}

std::vector<PeakValue> valuesAtPeak(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                                    ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets) {
  Timeline time(graph, moves, buckets);
  ProgramMemory memory = memoryOf(graph, strategies, model, moves, buckets, time);
  size_t fullest = stepPeak(memory.held, memory.live, memory.ops).op;
  std::vector<PeakValue> values = std::move(memory.heldValues);
  for (auto [interval, value] : llvm::zip(memory.live, memory.values))
    if (interval.begin <= fullest && fullest <= interval.end)
      values.push_back(value);
  return values;
}

} // namespace apc
