// Moves that are taken together: which may be, and in what order ops run then.
#include "apc/Cost/GraphCost.h"
#include "apc/Support/Saturating.h"
#include "apc/Support/WaitingOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>
#include <set>

namespace apc {

namespace {

constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

/// Everything that moves of one bucket have in common.
struct BucketKey {
  unsigned group = 0;
  size_t depth = 0; ///< the most moves with a group, one behind the other, on a way to the value
  int64_t repeats = 1;
  std::vector<std::tuple<CollectiveKind, AxisList, Combiner>> steps;

  friend auto operator<=>(const BucketKey &, const BucketKey &) = default;
};

/// A bucket that takes further moves.
struct OpenBucket {
  std::vector<size_t> moves;
  std::vector<int64_t> bytes; ///< by step
  int64_t wholeBytes = 0;     ///< of the values
  std::set<ValueId> values;   ///< each moves once
};

class BucketBuilder {
public:
  BucketBuilder(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves, const CostModel &model, const Fusion &fusion,
                double share)
      : graph(graph), moves(moves), fusion(fusion), costs(fusion, model), share(share) {}

  std::vector<MoveBucket> run();

private:
  /// The group of a move that may be taken together with others; none where it is cut out of another copy.
  std::optional<unsigned> groupOf(const GraphMove &move) const;
  std::vector<size_t> depths() const;
  /// The op after which the values of a move are there; for parameters, which always are, the op that wants them.
  size_t readyAt(const GraphMove &move) const;
  std::vector<int64_t> limits(const GraphMove &move);
  void add(size_t move, const BucketKey &key);
  void close(OpenBucket &own, llvm::ArrayRef<int64_t> limits);

  const OpGraph &graph;
  llvm::ArrayRef<GraphMove> moves;
  const Fusion &fusion;
  FusedCosts costs;
  double share;
  std::map<BucketKey, OpenBucket> open;
  std::vector<MoveBucket> buckets;
};

std::optional<unsigned> BucketBuilder::groupOf(const GraphMove &move) const {
  auto moved = [](const Collective &each) { return each.kind != CollectiveKind::Slice; };
  auto isOneExchange = [](const Collective &each) { return numExchanges(each) <= 1; };
  llvm::ArrayRef<Collective> steps = move.redistribution.collectives;
  if (move.source || move.values.size() != 1 || llvm::none_of(steps, moved) || !llvm::all_of(steps, isOneExchange))
    return std::nullopt;
  return fusion.group(move.values.front());
}

/// A move never depends on another of the same depth: the depth of what reads a copy is greater.
std::vector<size_t> BucketBuilder::depths() const {
  std::set<std::pair<OpId, unsigned>> deeper; ///< operands that such a move brings
  for (const GraphMove &move : moves)
    if (groupOf(move))
      for (OpGraph::Use use : move.users)
        deeper.insert({use.op, use.operand});
  std::vector<size_t> depth(graph.ops.size());
  for (auto [index, op] : llvm::enumerate(graph.ops))
    for (auto [operand, value] : llvm::enumerate(op.operands))
      if (value) {
        size_t own = deeper.count({OpId(index), static_cast<unsigned>(operand)});
        depth[index] = std::max(depth[index], depth[graph.value(*value).producer.index()] + own);
      }
  return depth;
}

size_t BucketBuilder::readyAt(const GraphMove &move) const {
  OpId producer = graph.value(move.values.front()).producer;
  return graph.op(producer).operands.empty() ? move.users.front().op.index() : producer.index();
}

std::vector<int64_t> BucketBuilder::limits(const GraphMove &move) {
  const unsigned group = *groupOf(move);
  std::vector<int64_t> limits;
  for (const Collective &step : move.redistribution.collectives) {
    const int64_t whole = fusion.mostWholeBytes(group, step.kind);
    const int64_t layer = whole < fusion.groupBytes[group] ? whole : noLimit;
    limits.push_back(step.kind == CollectiveKind::Slice
                         ? noLimit
                         : std::min(layer, static_cast<int64_t>(share * static_cast<double>(costs.bucketBytes(step)))));
  }
  return limits;
}

void BucketBuilder::close(OpenBucket &own, llvm::ArrayRef<int64_t> limits) {
  if (own.moves.size() > 1) {
    int64_t largest = 0, limit = 0; // Slices have no buffer
    for (auto [bytes, most] : llvm::zip_equal(own.bytes, limits))
      if (most != noLimit && bytes >= largest) {
        largest = bytes;
        limit = most;
      }
    buckets.push_back({std::move(own.moves), {}, 0, limit});
  }
  own = {};
}

void BucketBuilder::add(size_t move, const BucketKey &key) {
  std::vector<int64_t> limit = limits(moves[move]);
  llvm::ArrayRef<Collective> steps = moves[move].redistribution.collectives;
  OpenBucket &own = open[key];
  own.bytes.resize(steps.size());
  const int64_t ownBytes = graph.value(moves[move].values.front()).shape.bytes();
  auto fits = [&](llvm::ArrayRef<int64_t> bytes, int64_t wholeBytes) {
    return llvm::all_of(llvm::enumerate(steps), [&](const auto &step) {
      return addSaturating(bytes[step.index()], costedBytes(step.value())) <= limit[step.index()] &&
             addSaturating(wholeBytes, ownBytes) <= fusion.mostWholeBytes(key.group, step.value().kind);
    });
  };
  if (!fits(std::vector<int64_t>(steps.size(), 0), 0))
    return; // alone in a buffer, and others need not wait for it
  if (!fits(own.bytes, own.wholeBytes) || own.values.count(moves[move].values.front()))
    close(own, limit);
  own.bytes.resize(steps.size());
  own.moves.push_back(move);
  own.values.insert(moves[move].values.front());
  own.wholeBytes += ownBytes;
  for (auto [step, bytes] : llvm::zip_equal(steps, own.bytes))
    bytes += costedBytes(step);
}

std::vector<MoveBucket> BucketBuilder::run() {
  std::vector<std::pair<size_t, size_t>> ready; ///< op, move
  for (auto [index, move] : llvm::enumerate(moves))
    if (groupOf(move))
      ready.emplace_back(readyAt(move), index);
  if (ready.size() < 2)
    return {};
  std::vector<size_t> depth = depths();
  llvm::sort(ready);
  for (auto [op, index] : ready) {
    const GraphMove &move = moves[index];
    BucketKey key{*groupOf(move), depth[graph.value(move.values.front()).producer.index()], move.repeats, {}};
    for (const Collective &step : move.redistribution.collectives)
      key.steps.emplace_back(step.kind, step.axes, step.combiner);
    add(index, key);
  }
  for (auto &[key, own] : open)
    if (!own.moves.empty())
      close(own, limits(moves[own.moves.front()]));
  llvm::sort(buckets, [](const MoveBucket &a, const MoveBucket &b) { return a.moves.front() < b.moves.front(); });
  return std::move(buckets);
}

} // namespace

std::optional<std::vector<Collective>> mergedCollectives(llvm::ArrayRef<GraphMove> moves,
                                                         llvm::ArrayRef<size_t> together) {
  std::vector<Collective> merged;
  for (auto [position, index] : llvm::enumerate(together)) {
    llvm::ArrayRef<Collective> steps = moves[index].redistribution.collectives;
    if (position > 0 && steps.size() != merged.size())
      return std::nullopt;
    merged.resize(steps.size());
    for (auto [sum, step] : llvm::zip_equal(merged, steps)) {
      if (position == 0)
        sum = {step.kind, step.axes, 0, 0, {}, 0, 0, step.combiner, 0};
      if (sum.kind != step.kind || sum.axes != step.axes || sum.combiner != step.combiner)
        return std::nullopt;
      sum.inputBytes = addSaturating(sum.inputBytes, step.inputBytes);
      sum.outputBytes = addSaturating(sum.outputBytes, step.outputBytes);
      sum.wholeBytes = addSaturating(sum.wholeBytes, step.wholeBytes);
    }
  }
  return merged;
}

void costBucket(const CostModel &model, llvm::MutableArrayRef<GraphMove> moves, MoveBucket &bucket) {
  bucket.seconds = 0;
  for (const Collective &step : bucket.collectives)
    bucket.seconds += model.collectiveSeconds(step);
  bucket.seconds *= static_cast<double>(moves[bucket.moves.front()].repeats);
  auto bytesOf = [](llvm::ArrayRef<Collective> steps) {
    double bytes = 0;
    for (const Collective &step : steps)
      bytes += step.kind == CollectiveKind::Slice ? 0 : static_cast<double>(costedBytes(step));
    return bytes;
  };
  double all = bytesOf(bucket.collectives);
  for (size_t move : bucket.moves) {
    double own = all > 0 ? bytesOf(moves[move].redistribution.collectives) / all : 1.0 / double(bucket.moves.size());
    moves[move].redistribution.seconds = own * bucket.seconds;
  }
}

std::vector<OpId> programOrder(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves,
                               llvm::ArrayRef<MoveBucket> buckets) {
  std::vector<llvm::SmallVector<size_t, 4>> waits(graph.ops.size());
  for (auto [index, op] : llvm::enumerate(graph.ops))
    for (std::optional<ValueId> value : op.operands)
      if (value)
        waits[index].push_back(graph.value(*value).producer.index());
  for (const MoveBucket &bucket : buckets) {
    std::vector<size_t> makers;
    for (size_t move : bucket.moves)
      for (ValueId value : moves[move].values)
        if (OpId maker = graph.value(value).producer; !graph.op(maker).operands.empty() || graph.op(maker).isTransfer)
          makers.push_back(maker.index()); // other sources are there from the start
    for (size_t move : bucket.moves)
      for (OpGraph::Use use : moves[move].users)
        llvm::append_range(waits[use.op.index()], makers);
  }
  std::vector<OpId> order;
  for (size_t op : orderWithWaits(waits))
    order.emplace_back(op);
  return order;
}

ProgramPlaces::ProgramPlaces(const OpGraph &graph, llvm::ArrayRef<GraphMove> moves, llvm::ArrayRef<MoveBucket> buckets)
    : order(programOrder(graph, moves, buckets)), places(graph.ops.size()) {
  for (auto [place, op] : llvm::enumerate(order))
    places[op.index()] = place;
}

OpId ProgramPlaces::firstUser(const GraphMove &move) const {
  auto isEarlier = [this](OpGraph::Use a, OpGraph::Use b) { return at(a.op) < at(b.op); };
  return llvm::min_element(move.users, isEarlier)->op;
}

OpId ProgramPlaces::firstUser(llvm::ArrayRef<GraphMove> moves, const MoveBucket &bucket) const {
  OpId first = firstUser(moves[bucket.moves.front()]);
  for (size_t move : bucket.moves)
    if (OpId own = firstUser(moves[move]); at(own) < at(first))
      first = own;
  return first;
}

std::vector<OpId> firstUsers(const ProgramPlaces &program, llvm::ArrayRef<GraphMove> moves,
                             llvm::ArrayRef<MoveBucket> buckets) {
  std::vector<OpId> first;
  for (const GraphMove &move : moves)
    first.push_back(program.firstUser(move));
  for (const MoveBucket &bucket : buckets) {
    OpId ofAll = program.firstUser(moves, bucket);
    for (size_t move : bucket.moves)
      first[move] = ofAll;
  }
  return first;
}

void takeTogether(const OpGraph &graph, llvm::ArrayRef<Strategy> strategies, const CostModel &model,
                  const Fusion &fusion, double share, GraphCost &cost) {
  cost.buckets = BucketBuilder(graph, cost.moves, model, fusion, share).run();
  for (GraphMove &move : cost.moves)
    move.bucket.reset();
  for (auto [index, bucket] : llvm::enumerate(cost.buckets))
    for (size_t move : bucket.moves)
      cost.moves[move].bucket = index;
  Redistributors alone(model.getMesh(), [&](const Collective &each) { return model.collectiveSeconds(each); });
  cost.communicationSeconds = 0;
  cost.communicationBytes.clear();
  for (GraphMove &move : cost.moves) {
    const GraphValue &value = graph.value(move.values.front());
    if (!move.bucket && fusion.group(move.values.front())) {
      Sharding from = move.source ? cost.moves[*move.source].target
                                  : resultSharding(graph.ruleOf(value.producer), strategies[value.producer.index()],
                                                   value.resultIndex);
      move.redistribution = *alone.of(value.exchanged()).collectives(from, move.target);
      move.redistribution.seconds *= static_cast<double>(move.repeats);
    }
    if (!move.bucket)
      cost.communicationSeconds += move.redistribution.seconds;
  }
  for (MoveBucket &bucket : cost.buckets) {
    bucket.collectives = *mergedCollectives(cost.moves, bucket.moves);
    costBucket(model, cost.moves, bucket);
    cost.communicationSeconds += bucket.seconds;
  }
  cost.besideSeconds = secondsBeside(graph, cost, model);
  forEachCollective(cost, [&](const Collective &collective, int64_t repeats) {
    cost.communicationBytes[collective.kind] += repeats * exchangedBytes(collective);
  });
  placeMoves(graph, cost.moves, cost.buckets);
  StepPeak peak = graphMemory(graph, strategies, model, cost.moves, cost.buckets);
  cost.memory = peak.memory;
  cost.fullestOp = OpId(peak.op);
}

} // namespace apc
