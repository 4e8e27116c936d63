// The requests of a step to an allocator, as PyTorch and the trainers make them.
#include "BlockRequests.h"

using namespace llvm;

namespace apc {

namespace {

class BlockRequests {
public:
  BlockRequests(const OpGraph &graph, ArrayRef<GraphMove> moves, const Timeline &time, const ProgramMemory &memory)
      : graph(graph), moves(moves), time(time), memory(memory), storages(graph.storages()), runs(graph.microBatches()) {
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
  bool isRepeated(size_t at) const { return graph.op(time.opAt(at)).repeats == runs; }

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
  int64_t runs;                                       ///< of what each micro-batch does
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
  program.microBatches = runs;
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
  program.held.push_back(memory.held[MemoryCategory::Runtime]); // what is received
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

} // namespace

BlockProgram blockRequests(const OpGraph &graph, ArrayRef<GraphMove> moves, const Timeline &time,
                           const ProgramMemory &memory, const Runtime &runtime) {
  return BlockRequests(graph, moves, time, memory).build(runtime);
}

} // namespace apc
