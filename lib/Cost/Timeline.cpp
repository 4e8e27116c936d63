// When the values and the moved copies of a program are needed: a view keeps what it is a view of.
#include "Timeline.h"

using namespace llvm;

namespace apc {

static MoveOfUse movesByUse(ArrayRef<GraphMove> moves) {
  MoveOfUse byUse;
  for (size_t move = 0; move < moves.size(); ++move)
    for (OpGraph::Use use : moves[move].users)
      byUse[{use.op.value, use.operand}] = move;
  return byUse;
}

Timeline::Timeline(const OpGraph &graph, ArrayRef<GraphMove> moves, ArrayRef<MoveBucket> buckets)
    : graph(graph), moves(moves), byUse(movesByUse(moves)), program(graph, moves, buckets) {}

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

} // namespace apc
