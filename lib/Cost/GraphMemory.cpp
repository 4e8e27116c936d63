// The memory of a program on one device: what lives when, with views and moved copies.
#include "Blocks/BlockRequests.h"
#include "NarrowMemory.h"

#include "apc/Cost/GraphCost.h"

#include "apc/Support/Saturating.h"

using namespace llvm;

namespace apc {

namespace {

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

/// Gradients that the runtime keeps from step to step where there are no sums over micro-batches, which are there
/// anyway, and to which gradients that come and go are added: whole, or, where the parameter rests in pieces (ZeRO 3),
/// the piece of the parameter's device, to which the whole gradient is reduced as soon as it is made.
class KeptGradients {
public:
  KeptGradients(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model, ArrayRef<GraphMove> moves)
      : graph(graph), strategies(strategies), model(model),
        areKept(model.getPool().runtime.keepsGradients && graph.microBatches() == 1), inPieces(graph.values.size()) {
    for (const GraphMove &move : areKept ? moves : ArrayRef<GraphMove>())
      for (ValueId value : move.values)
        if (isPiece(move, value) && any_of(move.users, [&](OpGraph::Use use) { return updatesPiece(use.op, value); }))
          inPieces[value.index()] = true;
  }

  bool isWhole(ValueId value) const {
    return areKept && graph.value(value).role == ValueRole::Gradient && !inPieces[value.index()];
  }
  bool isKeptCopy(const GraphMove &move, ValueId value) const {
    return areKept && inPieces[value.index()] && isPiece(move, value);
  }

private:
  int64_t bytesAs(ValueId value, const Sharding &sharding) const {
    return model.localBytes(graph.value(value).shape, sharding);
  }
  int64_t bytesMade(ValueId value) const { return bytesAs(value, madeAs(graph, strategies, graph.value(value))); }
  bool isPiece(const GraphMove &move, ValueId value) const {
    return graph.value(value).role == ValueRole::Gradient && bytesAs(value, move.target) < bytesMade(value);
  }
  /// Is the op the update of a parameter that rests in smaller pieces than those in which its gradient is made?
  bool updatesPiece(OpId op, ValueId gradient) const {
    return any_of(graph.op(op).results, [&](std::optional<ValueId> result) {
      std::optional<ValueId> before = result ? graph.value(*result).replaces : std::nullopt;
      return before && graph.value(*before).role == ValueRole::Parameter &&
             graph.value(*before).shape.dims == graph.value(gradient).shape.dims &&
             bytesAs(gradient, madeAs(graph, strategies, graph.value(*before))) < bytesMade(gradient);
    });
  }

  const OpGraph &graph;
  ArrayRef<Strategy> strategies;
  const CostModel &model;
  bool areKept;
  std::vector<bool> inPieces; ///< by value
};

/// A value or a copy of 16 bits that is there in 8 behind a place, if there is one.
void addNarrowed(size_t begin, size_t end, std::optional<size_t> narrowed, PeakValue value, std::optional<size_t> move,
                 ProgramMemory &memory) {
  if (!narrowed || *narrowed >= end)
    return memory.addLive(begin, end, value, move);
  memory.addLive(begin, *narrowed, value, move);
  value.bytes /= 2;
  memory.addLive(*narrowed + 1, end, value, move);
}

void addValues(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model, const Timeline &time,
               ArrayRef<size_t> ends, ArrayRef<std::optional<size_t>> narrowed, const KeptGradients &kept,
               ArrayRef<Arrival> arrivals, ProgramMemory &memory) {
  const std::vector<int64_t> times = graph.timesHeld();
  const std::vector<bool> inside = madeInsideLosses(graph, model.getPool().runtime);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue &value = graph.values[v];
    if (graph.isView(ValueId(v)) || graph.isMadeByReaders(ValueId(v)) || isWrittenInPlace(graph, strategies, value) ||
        (!inside.empty() && inside[v]))
      continue;
    int64_t bytes = bytesInRuntime(graph, ValueId(v), madeAs(graph, strategies, value), model);
    if (value.resultIndex == 0)
      bytes = addSaturating(bytes, keptBesideResult(graph, value.producer, strategies[value.producer.index()], model));
    bytes = multiplySaturating(bytes, times[v]);
    // Inputs are handed over together, before the first op, but for those that another stage sends; sums over
    // micro-batches outlive each of them.
    const RoleTraits &role = traitsOf(value.role);
    bool isInput = value.role == ValueRole::Input && !graph.op(value.producer).isTransfer;
    bool isThere = isInput || kept.isWhole(ValueId(v)) || graph.isAccumulated(ValueId(v));
    PeakValue own{ValueId(v), bytes, role.category};
    if (role.staysForStep) {
      memory.held[role.category] += bytes;
      memory.heldValues.push_back(own);
    } else if (arrivals.empty() || arrivals[v] != Arrival::Gradient) { // which is read where it was received
      addNarrowed(isThere ? 0 : time.at(value.producer), ends[v], narrowed[v], own, {}, memory);
    }
  }
}

/// Buffers that stay, one for each value that another stage sends.
int64_t bytesOfReceiveBuffers(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                              ArrayRef<Arrival> arrivals) {
  int64_t bytes = 0;
  for (auto [v, arrival] : enumerate(arrivals))
    if (const GraphValue &value = graph.values[v]; arrival != Arrival::None)
      bytes = addSaturating(bytes, model.localBytes(value.shape, madeAs(graph, strategies, value)));
  return bytes;
}

} // namespace

ProgramMemory programMemory(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                            ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets, const Timeline &time) {
  ProgramMemory memory;
  StorageEnds ends = endsInRuntime(time.storageEnds(), graph, time, model.getPool().runtime);
  const std::vector<size_t> begins =
      beginsOfMoves(graph, moves, time, model.getPool().runtime.exchangesGradientsTogether, ends);
  const KeptGradients kept(graph, strategies, model, moves);
  const std::vector<Arrival> arrivals =
      model.getPool().runtime.keepsReceiveBuffers ? arrivalsOf(graph, time) : std::vector<Arrival>();
  const NarrowedPlaces narrowed = narrowedPlaces(graph, moves, time);
  addValues(graph, strategies, model, time, ends.values, narrowed.values, kept, arrivals, memory);
  memory.held[MemoryCategory::Runtime] += bytesOfReceiveBuffers(graph, strategies, model, arrivals);
  std::vector<OpMemory> &ops = memory.ops;
  ops.resize(graph.ops.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    ops[time.at(OpId(op))].workspaceBytes = addSaturating(model.workspaceBytes(graph.ruleOf(OpId(op))),
                                                          workspaceOfScores(graph, OpId(op), strategies[op], model));
  for (const KeptByKernels &own : keptByKernels(graph, strategies, model))
    memory.addKept(own, time, graph.copies);
  // The moves before one op run one after the other and use the same buffers.
  auto useBuffers = [&](size_t at, ArrayRef<Collective> collectives) {
    ops[at].communicationBytes = std::max(ops[at].communicationBytes, redistributionBufferBytes(collectives));
  };
  int64_t runs = graph.microBatches();
  for (size_t move = 0; move < moves.size(); ++move) {
    size_t begin = begins[move];
    int64_t times = moves[move].repeats == runs ? graph.copies : 1;
    for (ValueId value : moves[move].values)
      if (!arrivesInPlace(graph, moves[move], value) && !graph.isMadeByReaders(value))
        addNarrowed(kept.isKeptCopy(moves[move], value) ? 0 : begin, ends.moves[move], narrowed.moves[move],
                    {value, multiplySaturating(model.localBytes(graph.value(value).shape, moves[move].target), times),
                     categoryOfCopy(graph.value(value)), /*isCopy=*/true},
                    move, memory);
    if (!moves[move].bucket)
      useBuffers(begin, moves[move].redistribution.collectives);
  }
  for (const MoveBucket &bucket : buckets)
    useBuffers(time.madeBefore(bucket.moves.front()), bucket.collectives);
  if (model.getPool().runtime.cachesBlocks)
    memory.blocks = blockRequests(graph, moves, time, memory, model.getPool().runtime);
  memory.addOthersInFlight(graph, time);
  memory.addFragments(model.getPool().runtime.allocatorShare);
  return memory;
}

StepPeak graphMemory(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                     ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets) {
  Timeline time(graph, moves, buckets);
  ProgramMemory memory = programMemory(graph, strategies, model, moves, buckets, time);
  StepPeak peak = stepPeak(memory.held, memory.live, memory.ops);
  peak.op = time.opAt(peak.op).index();
  if (model.getPool().runtime.cachesBlocks) {
    int64_t taken = bytesOfBlocks(memory.blocks, model.getPool().device.memoryBytes);
    peak.memory[MemoryCategory::Runtime] += std::max<int64_t>(0, taken - peak.memory.total());
  }
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
  ProgramMemory memory = programMemory(graph, strategies, model, moves, buckets, time);
  size_t fullest = stepPeak(memory.held, memory.live, memory.ops).op;
  std::vector<PeakValue> values = std::move(memory.heldValues);
  for (auto [interval, value] : llvm::zip(memory.live, memory.values))
    if (interval.begin <= fullest && fullest <= interval.end)
      values.push_back(value);
  return values;
}

} // namespace apc
