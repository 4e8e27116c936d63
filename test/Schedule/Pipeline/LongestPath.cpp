#include "LongestPath.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace apc {

namespace {

class ConstraintGraph {
public:
  using NodeIndex = size_t;

  ConstraintGraph(const ActionLists &lists, const PipelineWork &work) : lists(lists), shape(lists.shape), work(work) {}

  std::optional<PipelineTime> time() {
    addActions();
    addMessages();
    if (work.tail)
      addTail();
    if (!order())
      return std::nullopt;
    PipelineTime result;
    double first = begins[firstOf(0)];
    for (uint32_t worker = 0; worker < shape.workers; ++worker) {
      WorkerTime one;
      one.startSeconds = begins[firstOf(worker)];
      one.idleSeconds = -one.startSeconds;
      for (NodeIndex node : ofWorker[worker]) {
        one.finishSeconds = std::max(one.finishSeconds, ends[node]);
        one.idleSeconds -= isBeside[node] ? 0 : seconds[node];
      }
      one.idleSeconds += one.finishSeconds;
      one.peakBytes = peakOf(worker);
      first = std::min(first, one.startSeconds);
      result.stepSeconds = std::max(result.stepSeconds, one.finishSeconds);
      result.spanSeconds = std::max(result.spanSeconds, one.finishSeconds - one.startSeconds);
      result.workers.push_back(one);
    }
    result.stepSeconds -= first;
    return result;
  }

private:
  using Key = std::tuple<bool, uint32_t, uint32_t, uint32_t>; ///< backward, stage, micro-batch, piece

  static Key keyOf(const Action &action) {
    return {action.kind != ActionKind::Forward, action.stage, action.microBatch, action.piece};
  }

  NodeIndex add(double taken) {
    seconds.push_back(taken);
    before.emplace_back();
    isBeside.push_back(false);
    return seconds.size() - 1;
  }

  NodeIndex firstOf(uint32_t worker) const { return ofWorker[worker].front(); }

  double secondsOf(const Action &action) const {
    const StageWork &stage = work.stages[action.stage];
    bool isLast = action.microBatch + 1 == shape.microBatches && action.piece == 0;
    double again = stage.isRecomputed ? stage.forwardSeconds : 0, last = isLast ? stage.lastBackwardExtraSeconds : 0;
    switch (action.kind) {
    case ActionKind::Forward:
      return stage.forwardSeconds + (action.microBatch == 0 && action.piece == 0 ? stage.firstForwardExtraSeconds : 0);
    case ActionKind::InputGradient:
      return stage.inputGradientSeconds + again;
    case ActionKind::WeightGradient:
      return stage.weightGradientSeconds + last;
    case ActionKind::Backward:
      return stage.inputGradientSeconds + stage.weightGradientSeconds + again + last;
    }
    return 0;
  }

  double secondsOf(const Slot &slot) const {
    double one = secondsOf(slot.action);
    if (!slot.beside)
      return one;
    double other = secondsOf(*slot.beside);
    return std::max(one, other) + work.pairShare * std::min(one, other);
  }

  /// A node for each slot, behind the one before it; with it the messages that its sender must send itself.
  void addActions() {
    ofWorker.resize(shape.workers);
    for (uint32_t worker = 0; worker < shape.workers; ++worker) {
      std::optional<NodeIndex> last;
      for (const Slot &slot : lists.workers[worker]) {
        NodeIndex node = add(secondsOf(slot));
        if (last)
          before[node].push_back(*last);
        last = node;
        ofWorker[worker].push_back(node);
        for (const Action *action : {&slot.action, slot.beside ? &*slot.beside : nullptr})
          if (action)
            last = addAction(*action, node, *last, worker);
      }
      lastNode.push_back(*last);
    }
  }

  /// The node after which the worker may go on.
  NodeIndex addAction(const Action &action, NodeIndex node, NodeIndex last, uint32_t worker) {
    if (action.kind == ActionKind::Backward || action.kind == ActionKind::WeightGradient)
      syncs[worker][action.stage] = {node, ++clock};
    if (action.kind == ActionKind::WeightGradient)
      return last;
    nodeOf[keyOf(action)] = node;
    for (const StageMessage &message : work.messages) {
      bool isForward = action.kind == ActionKind::Forward;
      uint32_t from = isForward ? message.from : message.to, to = isForward ? message.to : message.from;
      if (from != action.stage)
        continue;
      Action receiver = action;
      receiver.stage = to;
      sends.push_back({keyOf(receiver), node});
      if (shape.workerOf(to) == worker)
        continue;
      NodeIndex sent = add(message.seconds);
      sends.back().second = sent;
      before[sent].push_back(node);
      if (work.linkMode == LinkMode::Link) {
        auto [previous, isNew] = lastOnLink.try_emplace({worker, shape.workerOf(to)}, sent);
        if (!isNew)
          before[sent].push_back(std::exchange(previous->second, sent));
      } else if (work.linkMode == LinkMode::Sender) {
        before[sent].push_back(last);
        last = sent;
        ofWorker[worker].push_back(sent);
        if (action.kind == ActionKind::Backward)
          syncs[worker][action.stage].first = sent;
      }
    }
    return last;
  }

  void addMessages() {
    for (const auto &[receiver, sender] : sends)
      before[nodeOf.at(receiver)].push_back(sender);
  }

  /// The stages of a worker in the order of their last B or W.
  std::vector<std::pair<uint32_t, NodeIndex>> syncOrder(uint32_t worker) {
    std::vector<std::pair<uint32_t, NodeIndex>> result;
    std::map<size_t, std::pair<uint32_t, NodeIndex>> byClock;
    for (const auto &[stage, entry] : syncs[worker])
      byClock[entry.second] = {stage, entry.first};
    for (const auto &[clock, entry] : byClock)
      result.push_back(entry);
    return result;
  }

  void addTail() {
    std::vector<std::vector<NodeIndex>> ready(shape.workers); ///< all of these are over
    for (uint32_t worker = 0; worker < shape.workers; ++worker) {
      std::optional<NodeIndex> stream;
      NodeIndex last = lastNode[worker];
      for (auto [stage, node] : syncOrder(worker)) {
        NodeIndex sync = add(work.stages[stage].gradientSyncSeconds);
        ofWorker[worker].push_back(sync);
        isBeside[sync] = work.tail->overlapsSync;
        before[sync].push_back(work.tail->overlapsSync ? node : last);
        if (work.tail->overlapsSync && stream)
          before[sync].push_back(*stream);
        stream = sync;
        if (!work.tail->overlapsSync)
          last = sync;
      }
      ready[worker] = {last, *stream};
    }
    if (work.tail->tied)
      addTied(*work.tail->tied, ready);
    addSums(work.tail->sums, ready);
    std::vector<NodeIndex> all;
    for (const std::vector<NodeIndex> &nodes : ready)
      all.insert(all.end(), nodes.begin(), nodes.end());
    for (uint32_t worker = 0; worker < shape.workers; ++worker) {
      double taken = 0;
      for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
        taken += work.stages[shape.stageOf(worker, chunk)].optimizerSeconds;
      NodeIndex node = add(taken);
      before[node] = work.tail->hasBarrier ? all : ready[worker];
      ofWorker[worker].push_back(node);
    }
  }

  void addTied(const TiedStages &tied, std::vector<std::vector<NodeIndex>> &ready) {
    uint32_t a = shape.workerOf(tied.first), b = shape.workerOf(tied.second);
    if (a == b)
      return;
    std::vector<NodeIndex> both = ready[a];
    both.insert(both.end(), ready[b].begin(), ready[b].end());
    for (uint32_t worker : {a, b}) {
      NodeIndex node = add(tied.seconds);
      before[node] = both;
      ofWorker[worker].push_back(node);
      ready[worker] = {node};
    }
  }

  void addSums(llvm::ArrayRef<StageMessage> sums, std::vector<std::vector<NodeIndex>> &ready) {
    const std::vector<std::vector<NodeIndex>> finished = ready;
    std::map<std::pair<uint32_t, uint32_t>, NodeIndex> last; ///< by sender and receiver
    for (const StageMessage &sum : sums) {
      uint32_t from = shape.workerOf(sum.from), to = shape.workerOf(sum.to);
      if (from == to)
        continue;
      NodeIndex node = add(sum.seconds);
      before[node] = finished[from];
      if (auto [previous, isNew] = last.try_emplace({from, to}, node); !isNew)
        before[node].push_back(std::exchange(previous->second, node));
      ready[to].push_back(node);
    }
  }

  /// One topological pass.
  bool order() {
    begins.resize(seconds.size());
    ends.resize(seconds.size());
    std::vector<size_t> missing(seconds.size());
    std::vector<std::vector<NodeIndex>> behind(seconds.size());
    std::vector<NodeIndex> free;
    for (NodeIndex node = 0; node < seconds.size(); ++node) {
      missing[node] = before[node].size();
      for (NodeIndex other : before[node])
        behind[other].push_back(node);
      if (missing[node] == 0)
        free.push_back(node);
    }
    size_t numDone = 0;
    for (; numDone < free.size(); ++numDone) {
      NodeIndex node = free[numDone];
      for (NodeIndex other : before[node])
        begins[node] = std::max(begins[node], ends[other]);
      ends[node] = begins[node] + seconds[node];
      for (NodeIndex other : behind[node])
        if (--missing[other] == 0)
          free.push_back(other);
    }
    return numDone == seconds.size();
  }

  /// The bytes that are there while an action runs, counted anew for each of them.
  int64_t peakOf(uint32_t worker) const {
    std::map<Key, int64_t> kept;
    int64_t peak = 0, fixed = 0;
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      fixed += work.stages[shape.stageOf(worker, chunk)].staticBytes;
    for (const Slot &slot : lists.workers[worker]) {
      std::vector<Action> actions = {slot.action};
      if (slot.beside)
        actions.push_back(*slot.beside);
      for (int phase : {0, 1})
        for (const Action &action : actions) {
          const StageWork &stage = work.stages[action.stage];
          int64_t &bytes = kept[{false, action.stage, action.microBatch, action.piece}];
          if (phase == 0 && action.kind == ActionKind::Forward)
            bytes = stage.isRecomputed ? stage.inputBytes : stage.activationBytes;
          else if (phase == 0 && action.kind != ActionKind::WeightGradient)
            bytes = stage.activationBytes;
          else if (phase == 1 && action.kind == ActionKind::InputGradient)
            bytes = stage.weightActivationBytes;
          else if (phase == 1 && action.kind != ActionKind::Forward)
            bytes = 0;
          if (phase == 1)
            continue;
          int64_t sum = 0;
          for (const auto &[key, each] : kept)
            sum += each;
          peak = std::max(peak, sum);
        }
    }
    return fixed + peak;
  }

  const ActionLists &lists;
  const PipelineShape &shape;
  const PipelineWork &work;
  std::vector<double> seconds, begins, ends;
  std::vector<std::vector<NodeIndex>> before;
  std::vector<bool> isBeside; ///< does not keep its worker busy
  std::vector<std::vector<NodeIndex>> ofWorker;
  std::vector<NodeIndex> lastNode; ///< of each list
  std::map<Key, NodeIndex> nodeOf;
  std::vector<std::pair<Key, NodeIndex>> sends;
  std::map<std::pair<uint32_t, uint32_t>, NodeIndex> lastOnLink;
  std::map<uint32_t, std::map<uint32_t, std::pair<NodeIndex, size_t>>> syncs; ///< by worker and stage
  size_t clock = 0;
};

} // namespace

std::optional<PipelineTime> timeByLongestPath(const ActionLists &lists, const PipelineWork &work) {
  return ConstraintGraph(lists, work).time();
}

} // namespace apc
