// The memory of a program on one device: what lives when, with views and moved copies.
#include "BlockReplay.h"
#include "RuntimeMemory.h"

#include "apc/Cost/GraphCost.h"

#include "apc/Support/Saturating.h"

#include "llvm/ADT/DenseMap.h"

using namespace llvm;

namespace apc {

namespace {

/// The op positions until which the storage of each value and of each moved copy is needed.
struct StorageEnds {
  std::vector<size_t> values, moves;
};

/// (op, operand) -> the move whose copy it reads: the last one on its way.
using MoveOfUse = DenseMap<std::pair<uint32_t, uint32_t>, size_t>;

MoveOfUse movesByUse(ArrayRef<GraphMove> moves) {
  MoveOfUse byUse;
  for (size_t move = 0; move < moves.size(); ++move)
    for (OpGraph::Use use : moves[move].users)
      byUse[{use.op.value, use.operand}] = move;
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
  bool isMoved(OpId user, unsigned operand) const { return byUse.count({user.index(), operand}) > 0; }
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
      size_t last = byUse.at({use.op.value, use.operand});
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
      auto moved = byUse.find({use.op.value, use.operand});
      size_t needed = moved == byUse.end() ? neededBy(use.op) : copiedBefore(moved->second);
      ends.values[v] = std::max(ends.values[v], needed);
    }
    if (!graph.isView(ValueId(v)))
      continue;
    OpId op = graph.values[v].producer;
    auto moved = byUse.find({op.value, 0});
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
  std::vector<PeakValue> values;                ///< by interval, those of fragments apart
  std::vector<int64_t> numBlocks, stayingBytes; ///< by interval, of `KeptByKernels`
  std::vector<std::optional<size_t>> moveOf;    ///< by interval: of a copy, its move
  std::vector<OpMemory> ops;
  BlockProgram blocks; ///< where the runtime caches blocks

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
    numBlocks.back() = kept.numBlocks;
    stayingBytes.back() = kept.stayingBytes;
  }
  void addLive(size_t begin, size_t end, PeakValue value, std::optional<size_t> move = {}) {
    live.push_back({begin, end, value.bytes, value.category});
    values.push_back(value);
    numBlocks.push_back(1);
    stayingBytes.push_back(0);
    moveOf.push_back(move);
  }
};

/// The requests of a step to an allocator, from the intervals of one micro-batch. Each op has two moments: that of the
/// moves in front of it, and its own.
class BlockRequests {
public:
  BlockRequests(const OpGraph &graph, ArrayRef<GraphMove> moves, const Timeline &time, const ProgramMemory &memory)
      : graph(graph), moves(moves), time(time), memory(memory), storages(graph.storages()) {
    for (size_t index = 0; index < memory.live.size(); ++index)
      if (memory.moveOf[index])
        copyOf.try_emplace({storageOf(index), memory.live[index].begin}, index);
  }

  BlockProgram build(const Runtime &runtime) {
    BlockProgram program = frame();
    addStates(program);
    for (size_t index = 0; index < memory.live.size(); ++index)
      uses.push_back(useOf(index));
    for (size_t index = 0; index < memory.live.size(); ++index)
      reduceInPlace(index);
    for (size_t index = 0; index < memory.live.size(); ++index)
      addUpAtOnce(index);
    for (size_t index = 0; index < memory.live.size(); ++index)
      if (memory.stayingBytes[index] > 0)
        keepScores(index, program);
    for (size_t index = 0; index < memory.live.size(); ++index)
      program.uses.insert(program.uses.end(), static_cast<size_t>(memory.numBlocks[index]), uses[index]);
    addWork(runtime, program);
    return program;
  }

private:
  static size_t ofMoves(size_t at) { return 2 * at; }
  static size_t ofOp(size_t at) { return 2 * at + 1; }
  size_t storageOf(size_t index) const { return storages[memory.values[index].value.index()].index(); }
  bool isRepeated(size_t at) const { return graph.op(time.opAt(at)).repeats == graph.microBatches(); }

  BlockProgram frame() const;
  void addStates(BlockProgram &program) const;
  BlockUse useOf(size_t index) const;
  bool isReadBy(OpId op, size_t storage) const;
  std::optional<size_t> copyAtEnd(size_t index) const;
  void reduceInPlace(size_t index);
  void addUpAtOnce(size_t index);
  void keepScores(size_t index, BlockProgram &program);
  void addWork(const Runtime &runtime, BlockProgram &program) const;

  const OpGraph &graph;
  ArrayRef<GraphMove> moves;
  const Timeline &time;
  const ProgramMemory &memory;
  std::vector<ValueId> storages;
  std::map<std::pair<size_t, size_t>, size_t> copyOf; ///< (storage, position) -> the copy that begins there
  std::vector<BlockUse> uses;                         ///< by interval
};

BlockProgram BlockRequests::frame() const {
  BlockProgram program;
  program.numMoments = ofMoves(time.size());
  for (size_t at = 0; at < time.size(); ++at)
    if (isRepeated(at))
      program.numRepeated = ofMoves(at + 1);
  program.backward = graph.inFlight ? ofMoves(time.at(graph.inFlight->backward)) : program.numRepeated;
  program.microBatches = graph.microBatches();
  program.others = graph.othersInFlight();
  return program;
}

/// The states that a parameter of fewer than 32 bits is stepped with hold a master of it, which is there before the
/// first step; moments are not. Masters of all parameters lie in one block, and each kind of moment in one, as where
/// devices share them.
void BlockRequests::addStates(BlockProgram &program) const {
  constexpr unsigned masterBits = 32;
  std::map<size_t, int64_t> stateBytes;
  for (const PeakValue &value : memory.heldValues)
    stateBytes[value.value.index()] = value.bytes;
  int64_t masterBytes = 0, kinds = 0;
  for (const GraphOp &op : graph.ops) {
    bool isMastered = false;
    std::vector<int64_t> states;
    for (std::optional<ValueId> result : op.results) {
      if (!result || !graph.value(*result).replaces)
        continue;
      const ValueId before = *graph.value(*result).replaces;
      if (graph.value(before).role == ValueRole::Parameter)
        isMastered = graph.value(before).shape.elementBits < masterBits;
      else
        states.push_back(stateBytes[before.index()]);
    }
    masterBytes += isMastered && !states.empty() ? states.back() : 0;
    kinds = std::max(kinds, static_cast<int64_t>(states.size()) - (isMastered ? 1 : 0));
  }
  program.held = {memory.held[MemoryCategory::Parameters], masterBytes};
  if (kinds > 0)
    program.made.assign(static_cast<size_t>(kinds), (memory.held[MemoryCategory::Optimizer] - masterBytes) / kinds);
  else
    program.held.back() = memory.held[MemoryCategory::Optimizer];
}

/// A sum over micro-batches is there when its first addend is made.
BlockUse BlockRequests::useOf(size_t index) const {
  const LiveInterval &live = memory.live[index];
  const bool isCopy = memory.moveOf[index].has_value();
  const bool isSum = !isCopy && graph.isAccumulated(memory.values[index].value);
  const size_t begin = isSum ? time.at(graph.value(memory.values[index].value).producer) : live.begin;
  BlockUse use{isCopy ? ofMoves(begin) : ofOp(begin), copyAtEnd(index) ? ofMoves(live.end) : ofOp(live.end)};
  use.end = std::max(use.begin, use.end);
  use.bytes = (live.bytes - 2 * memory.stayingBytes[index]) / memory.numBlocks[index];
  use.isOfMicroBatch = isRepeated(live.begin) && !isSum;
  use.addsUp = isSum && isRepeated(begin);
  return use;
}

bool BlockRequests::isReadBy(OpId op, size_t storage) const {
  for (auto [operand, value] : enumerate(graph.op(op).operands))
    if (value && storages[value->index()].index() == storage && !time.isMoved(op, static_cast<unsigned>(operand)))
      return true;
  return false;
}

/// The copy that is made of a value at its end, and after which the value is no longer needed.
std::optional<size_t> BlockRequests::copyAtEnd(size_t index) const {
  if (memory.moveOf[index] || memory.numBlocks[index] > 1 || memory.stayingBytes[index] > 0)
    return std::nullopt;
  const size_t end = memory.live[index].end;
  auto found = copyOf.find({storageOf(index), end});
  if (found == copyOf.end() || end >= time.size() || isReadBy(time.opAt(end), storageOf(index)))
    return std::nullopt;
  return found->second;
}

/// An all-reduce adds up in the block of a value that is no longer needed as it was.
void BlockRequests::reduceInPlace(size_t index) {
  const std::optional<size_t> copy = copyAtEnd(index);
  if (!copy || graph.isAccumulated(memory.values[index].value) || uses[*copy].bytes != uses[index].bytes)
    return;
  auto isReduced = [](const Collective &collective) { return collective.kind == CollectiveKind::AllReduce; };
  if (!all_of(moves[*memory.moveOf[*copy]].redistribution.collectives, isReduced))
    return;
  uses[index].end = uses[*copy].end;
  uses[*copy].bytes = 0;
}

/// The gradient that a micro-batch makes of a parameter is the sum, if it is the first, and added to it otherwise, as
/// soon as it is made (torch/csrc/autograd/functions/accumulate_grad.h); a sum of more bits is apart.
void BlockRequests::addUpAtOnce(size_t index) {
  const OpId user = time.opAt(std::min(memory.live[index].end, time.size() - 1));
  if (memory.moveOf[index] || !graph.op(user).accumulates || !isReadBy(user, storageOf(index)))
    return;
  const ValueId sum = *graph.op(user).results[0];
  for (size_t other = 0; other < memory.live.size(); ++other)
    if (memory.values[other].value == sum && !memory.moveOf[other] && uses[other].bytes == uses[index].bytes) {
      uses[other].begin = uses[index].begin;
      uses[index].bytes = 0;
      return;
    }
  uses[index].end = uses[index].begin;
}

/// The scores that stay are those of which the wider copy is made, gathered or not; without such, a block apart.
void BlockRequests::keepScores(size_t index, BlockProgram &program) {
  const int64_t bytes = memory.stayingBytes[index];
  ArrayRef<std::optional<ValueId>> from = graph.op(graph.value(memory.values[index].value).producer).operands;
  std::optional<size_t> scores;
  for (size_t other = 0; other < memory.live.size() && from.size() == 1 && from[0]; ++other)
    if (storageOf(other) == storages[from[0]->index()].index() && memory.live[other].bytes == bytes &&
        memory.live[other].begin <= memory.live[index].begin)
      scores = other;
  if (scores)
    uses[*scores].staysFor = 2;
  else
    program.uses.push_back({uses[index].begin, uses[index].end, bytes, uses[index].isOfMicroBatch, /*staysFor=*/2});
}

void BlockRequests::addWork(const Runtime &runtime, BlockProgram &program) const {
  const int64_t numOfWork = numTensors(runtime.scoreWorkBytes);
  for (size_t at = 0; at < memory.ops.size(); ++at) {
    const BlockUse work{ofOp(at), ofOp(at), memory.ops[at].workspaceBytes / numOfWork, isRepeated(at)};
    program.uses.insert(program.uses.end(), static_cast<size_t>(numOfWork), work);
    program.uses.push_back({ofMoves(at), ofMoves(at), memory.ops[at].communicationBytes, isRepeated(at)});
  }
}

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
                        categoryOfCopy(graph.value(value)), /*isCopy=*/true},
                       move);
    if (!moves[move].bucket)
      useBuffers(begin, moves[move].redistribution.collectives);
  }
  for (const MoveBucket &bucket : buckets)
    useBuffers(time.madeBefore(bucket.moves.front()), bucket.collectives);
  if (model.getPool().runtime.cachesBlocks)
    memory.blocks = BlockRequests(graph, moves, time, memory).build(model.getPool().runtime);
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
  ProgramMemory memory = memoryOf(graph, strategies, model, moves, buckets, time);
  size_t fullest = stepPeak(memory.held, memory.live, memory.ops).op;
  std::vector<PeakValue> values = std::move(memory.heldValues);
  for (auto [interval, value] : llvm::zip(memory.live, memory.values))
    if (interval.begin <= fullest && fullest <= interval.end)
      values.push_back(value);
  return values;
}

} // namespace apc
