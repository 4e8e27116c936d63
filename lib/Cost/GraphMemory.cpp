// The memory of a program on one device: what lives when, with views and moved copies.
#include "apc/Cost/GraphCost.h"

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

/// Until when the user of a value needs it: outputs are handed over together, at the end.
size_t neededBy(const OpGraph &graph, OpId user) {
  return graph.op(user).results.empty() ? graph.ops.size() - 1 : user.index();
}

size_t madeBefore(const GraphMove &move) { return move.before.index(); }

/// The ends of the moved copies, views of them apart: a copy is needed until its last user, or until the copy is made
/// that its last user reads.
std::vector<size_t> copyEnds(const OpGraph &graph, ArrayRef<GraphMove> moves, const MoveOfUse &byUse) {
  std::vector<size_t> ends(moves.size());
  for (size_t move = 0; move < moves.size(); ++move)
    for (OpGraph::Use use : moves[move].users) {
      size_t last = byUse.at({use.op.index(), use.operand});
      ends[move] = std::max(ends[move], last == move ? neededBy(graph, use.op) : madeBefore(moves[last]));
    }
  return ends;
}

/// A value is needed until its last user, but only until the copy is made where a user reads a copy. A view shares the
/// storage of what its op reads, which is therefore needed as long as the view.
StorageEnds storageEnds(const OpGraph &graph, ArrayRef<GraphMove> moves) {
  MoveOfUse byUse = movesByUse(moves);
  StorageEnds ends{std::vector<size_t>(graph.values.size()), copyEnds(graph, moves, byUse)};
  auto copiedBefore = [&](size_t move) { return madeBefore(moves[moves[move].source.value_or(move)]); };
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (size_t v = graph.values.size(); v-- > 0;) {
    ends.values[v] = std::max(ends.values[v], graph.values[v].producer.index());
    for (OpGraph::Use use : uses[v]) {
      auto moved = byUse.find({use.op.index(), use.operand});
      size_t needed = moved == byUse.end() ? neededBy(graph, use.op) : copiedBefore(moved->second);
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

} // namespace

StepPeak graphMemory(const OpGraph &graph, ArrayRef<Strategy> strategies, const CostModel &model,
                     ArrayRef<GraphMove> moves) {
  StorageEnds ends = storageEnds(graph, moves);
  MemoryTable held;
  std::vector<LiveInterval> live;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue &value = graph.values[v];
    if (graph.isView(ValueId(v)))
      continue;
    OpId op = value.producer;
    int64_t bytes = model.localBytes(value.shape, madeAs(graph, strategies, value));
    // Inputs are handed over together, before the first op; sums over micro-batches outlive each of them.
    const RoleTraits &role = traitsOf(value.role);
    if (isWrittenInPlace(graph, strategies, value))
      continue;
    if (role.staysForStep)
      held[role.category] += bytes;
    else
      live.push_back({value.role == ValueRole::Input || graph.isAccumulated(ValueId(v)) ? 0 : op.index(),
                      ends.values[v], bytes, role.category});
  }
  std::vector<OpMemory> ops(graph.ops.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    ops[op].workspaceBytes = model.workspaceBytes(graph.ruleOf(OpId(op)));
  for (size_t move = 0; move < moves.size(); ++move) {
    size_t begin = madeBefore(moves[move]);
    for (ValueId value : moves[move].values)
      if (!arrivesInPlace(graph, moves[move], value))
        live.push_back({begin, ends.moves[move], model.localBytes(graph.value(value).shape, moves[move].target),
                        categoryOfCopy(graph.value(value))});
    // The moves before one op run one after the other and use the same buffers.
    ops[begin].communicationBytes =
        std::max(ops[begin].communicationBytes, redistributionBufferBytes(moves[move].redistribution.collectives));
  }
  return stepPeak(held, live, ops);
}

} // namespace apc
