// The places of collectives in the program of a training step.
#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace apc {

namespace {

class MovePlacer {
public:
  MovePlacer(const OpGraph &graph, llvm::MutableArrayRef<GraphMove> moves)
      : graph(graph), moves(moves), storages(graph.storages()), lastReads(graph.values.size(), 0) {
    findLastReads();
  }

  void run() {
    std::vector<GraphMove *> larger;
    for (GraphMove &move : moves) {
      if (move.source || move.redistribution.seconds <= 0 || waitsForMicroBatches(move))
        continue;
      if (isHandedOver(move))
        move.before = firstUserOr(madeAt(move) + 1, move);
      else if (grows(move))
        larger.push_back(&move);
      else if (!staysForStep(move))
        move.before = firstUserOr(std::max(madeAt(move) + 1, lastReadOf(move)), move);
    }
    placeLarger(std::move(larger));
  }

private:
  /// An op that computes: sources are there from the start.
  OpId firstUserOr(size_t earliest, const GraphMove &move) const {
    size_t user = move.users.front().op.index();
    while (earliest < user && graph.ops[earliest].operands.empty())
      ++earliest;
    return OpId(std::min(earliest, user));
  }

  /// The ops behind which the storage of each value is read no more, but for the move that is asked about: by users
  /// that read it as it is, and by moves at their first users.
  void findLastReads() {
    std::set<std::pair<OpId, unsigned>> moved;
    for (const GraphMove &move : moves)
      for (OpGraph::Use use : move.users)
        moved.insert({use.op, use.operand});
    for (auto [index, op] : llvm::enumerate(graph.ops))
      for (auto [operand, value] : llvm::enumerate(op.operands))
        if (value && !moved.count({OpId(index), static_cast<unsigned>(operand)}) && !isViewOf(OpId(index), operand))
          read(*value, op.results.empty() ? graph.ops.size() : index + 1);
    for (const GraphMove &move : moves)
      for (ValueId value : move.source ? std::vector<ValueId>() : move.values)
        ++movesOf[storages[value.index()]];
  }
  bool isViewOf(OpId op, size_t operand) const {
    return operand == 0 && llvm::any_of(graph.op(op).results,
                                        [&](std::optional<ValueId> result) { return result && graph.isView(*result); });
  }
  void read(ValueId value, size_t before) {
    size_t &last = lastReads[storages[value.index()].index()];
    last = std::max(last, before);
  }
  /// The op behind the last that reads the values as they are; behind all where another move reads them, too.
  size_t lastReadOf(const GraphMove &move) const {
    size_t last = 0;
    for (ValueId value : move.values) {
      ValueId storage = storages[value.index()];
      last = std::max(last, movesOf.at(storage) > 1 ? graph.ops.size() : lastReads[storage.index()]);
    }
    return last;
  }

  size_t madeAt(const GraphMove &move) const {
    size_t last = 0;
    for (ValueId value : move.values)
      last = std::max<size_t>(last, graph.value(value).producer.index());
    return last;
  }
  bool waitsForMicroBatches(const GraphMove &move) const {
    return llvm::any_of(move.values, [&](ValueId value) { return graph.isAccumulated(value); });
  }
  bool staysForStep(const GraphMove &move) const {
    return llvm::any_of(
        move.values, [&](ValueId value) { return traitsOf(graph.value(storages[value.index()]).role).staysForStep; });
  }
  /// Only results of the step read the copy, which lies where the old value lay.
  bool isHandedOver(const GraphMove &move) const {
    return llvm::all_of(move.values, [&](ValueId value) { return graph.value(value).replaces.has_value(); }) &&
           llvm::all_of(move.users, [&](OpGraph::Use use) { return graph.op(use.op).results.empty(); });
  }
  static bool grows(const GraphMove &move) {
    llvm::ArrayRef<Collective> collectives = move.redistribution.collectives;
    return collectives.back().outputBytes > collectives.front().inputBytes;
  }

  /// Ahead of their first users, by as much as fits beside the copies that wait.
  void placeLarger(std::vector<GraphMove *> larger) {
    llvm::stable_sort(larger,
                      [](const GraphMove *a, const GraphMove *b) { return a->users.front().op < b->users.front().op; });
    auto bytesOf = [](const GraphMove *move) { return move->redistribution.collectives.back().outputBytes; };
    int64_t most = 0, waiting = 0;
    for (const GraphMove *move : larger)
      most = std::max(most, bytesOf(move));
    size_t first = 0; // of those that may wait together with the move
    for (size_t index = 0; index < larger.size(); ++index) {
      waiting += bytesOf(larger[index]);
      for (; waiting > most; ++first)
        waiting -= bytesOf(larger[first]);
      size_t inUse = first == 0 ? 0 : larger[first - 1]->users.front().op.index();
      size_t made = madeAt(*larger[index]) + 1;
      larger[index]->before = firstUserOr(std::max({inUse, made, sectionOf(*larger[index])}), *larger[index]);
    }
  }
  /// The first op that runs as often as the move.
  size_t sectionOf(const GraphMove &move) const {
    if (graph.microBatches() == 1)
      return 0;
    auto op =
        llvm::find_if(graph.ops, [&](const GraphOp &op) { return !op.operands.empty() && op.repeats == move.repeats; });
    return static_cast<size_t>(op - graph.ops.begin());
  }

  const OpGraph &graph;
  llvm::MutableArrayRef<GraphMove> moves;
  std::vector<ValueId> storages;
  std::vector<size_t> lastReads;     ///< by storage: the op behind the last reader
  std::map<ValueId, size_t> movesOf; ///< by storage: how many
};

} // namespace

void placeMoves(const OpGraph &graph, llvm::MutableArrayRef<GraphMove> moves) {
  if (graph.isTrainingStep())
    MovePlacer(graph, moves).run();
}

} // namespace apc
