// The places of collectives in the program of a training step.
#include "apc/Cost/GraphCost.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// Moves that are made in one place: one alone, or those of a bucket.
struct Group {
  llvm::SmallVector<GraphMove *, 1> moves;
  size_t made = 0;     ///< the place of the last op that makes one of the values
  size_t user = 0;     ///< the place of the first op that reads one of the copies
  int64_t inBytes = 0; ///< of what is moved, and of the copies
  int64_t outBytes = 0;
};

/// Places are those of the program, whose order the buckets decide.
class MovePlacer {
public:
  MovePlacer(const OpGraph &graph, llvm::MutableArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets)
      : graph(graph), moves(moves), program(graph, moves, buckets), first(firstUsers(program, moves, buckets)),
        storages(graph.storages()), lastReads(graph.values.size(), 0), numMicroBatches(graph.microBatches()) {
    formGroups(buckets);
    findLastReads();
  }

  void run() {
    for (auto [move, user] : llvm::zip_equal(moves, first))
      move.before = user;
    if (!graph.isTrainingStep())
      return;
    std::vector<const Group *> larger;
    for (const Group &group : groups) {
      if (llvm::any_of(group.moves, [&](const GraphMove *move) { return staysAtUser(*move); }))
        continue;
      if (llvm::all_of(group.moves, [&](const GraphMove *move) { return isHandedOver(*move); }))
        place(group, group.made + 1);
      else if (group.outBytes > group.inBytes)
        larger.push_back(&group);
      else if (llvm::none_of(group.moves, [&](const GraphMove *move) { return staysForStep(*move); }))
        place(group, std::max(group.made + 1, lastReadOf(group)));
    }
    if (graph.overlaps)
      placeLarger(std::move(larger));
  }

private:
  void formGroups(llvm::ArrayRef<MoveBucket> buckets) {
    std::vector<Group> ofBuckets(buckets.size());
    for (GraphMove &move : moves)
      if (move.bucket && *move.bucket < buckets.size())
        add(move, ofBuckets[*move.bucket]);
      else
        add(move, groups.emplace_back());
    llvm::append_range(groups, std::move(ofBuckets));
  }
  void add(GraphMove &move, Group &group) {
    group.moves.push_back(&move);
    for (ValueId value : move.values)
      group.made = std::max(group.made, program.at(graph.value(value).producer));
    group.user = program.at(first[static_cast<size_t>(&move - moves.data())]);
    if (llvm::ArrayRef<Collective> collectives = move.redistribution.collectives; !collectives.empty()) {
      group.inBytes += collectives.front().inputBytes;
      group.outBytes += collectives.back().outputBytes;
    }
  }

  /// In front of an op that computes: sources are there from the start.
  void place(const Group &group, size_t earliest) {
    while (earliest < group.user && graph.op(program.order[earliest]).operands.empty())
      ++earliest;
    if (earliest < group.user)
      for (GraphMove *move : group.moves)
        move->before = program.order[earliest];
  }

  /// The places behind which the storage of each value is read no more, but for the move that is asked about: by users
  /// that read it as it is, and by moves at their first users.
  void findLastReads() {
    llvm::DenseSet<std::pair<uint32_t, uint32_t>> moved; ///< ops and operands
    for (const GraphMove &move : moves)
      for (OpGraph::Use use : move.users)
        moved.insert({use.op.value, use.operand});
    for (auto [index, op] : llvm::enumerate(graph.ops))
      for (auto [operand, value] : llvm::enumerate(op.operands))
        if (value && !moved.contains({OpId(index).value, static_cast<uint32_t>(operand)}) &&
            !isViewOf(OpId(index), operand))
          read(*value, op.results.empty() ? graph.ops.size() : program.at(OpId(index)) + 1);
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
  /// The place behind the last op that reads the values as they are; behind all where another move reads them, too.
  size_t lastReadOf(const Group &group) const {
    size_t last = 0;
    for (const GraphMove *move : group.moves)
      for (ValueId value : move->values) {
        ValueId storage = storages[value.index()];
        last = std::max(last, movesOf.at(storage) > 1 ? graph.ops.size() : lastReads[storage.index()]);
      }
    return last;
  }

  bool staysAtUser(const GraphMove &move) const {
    return move.source || move.redistribution.seconds <= 0 ||
           llvm::any_of(move.values, [&](ValueId value) { return graph.isAccumulated(value); });
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

  /// Ahead of their first users, by as much as fits beside the copies that wait.
  void placeLarger(std::vector<const Group *> larger) {
    llvm::stable_sort(larger, [](const Group *a, const Group *b) { return a->user < b->user; });
    int64_t most = 0, waiting = 0;
    for (const Group *group : larger)
      most = std::max(most, group->outBytes);
    size_t together = 0; // the first that may wait together with the group
    for (const Group *group : larger) {
      waiting += group->outBytes;
      for (; waiting > most; ++together)
        waiting -= larger[together]->outBytes;
      size_t inUse = together == 0 ? 0 : larger[together - 1]->user;
      place(*group, std::max({inUse, group->made + 1, sectionOf(*group)}));
    }
  }
  /// The place of the first op that runs as often as the moves.
  size_t sectionOf(const Group &group) const {
    if (numMicroBatches == 1)
      return 0;
    auto op = llvm::find_if(program.order, [&](OpId id) {
      return !graph.op(id).operands.empty() && graph.op(id).repeats == group.moves.front()->repeats;
    });
    return static_cast<size_t>(op - program.order.begin());
  }

  const OpGraph &graph;
  llvm::MutableArrayRef<GraphMove> moves;
  ProgramPlaces program;
  std::vector<OpId> first; ///< by move: the first user of its group
  std::vector<Group> groups;
  std::vector<ValueId> storages;
  std::vector<size_t> lastReads;     ///< by storage: the place behind the last reader
  std::map<ValueId, size_t> movesOf; ///< by storage: how many
  int64_t numMicroBatches;
};

} // namespace

void placeMoves(const OpGraph &graph, llvm::MutableArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets) {
  MovePlacer(graph, moves, buckets).run();
}

} // namespace apc
