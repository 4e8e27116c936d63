// Lists and stages, one action or op behind the other.
#include "Timeline.h"

#include "../PipelineLists.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace apc {

namespace {

/// Runs the lists of a plan.
class PipelineClock {
public:
  PipelineClock(const Plan &plan, const ActionLists &lists)
      : plan(plan), lists(lists), byWorker(lists.workers.size()) {}

  llvm::Expected<PipelineTimeline> run() {
    std::vector<size_t> next(lists.workers.size());
    std::vector<double> free(lists.workers.size());
    bool hasMore = true;
    while (hasMore) {
      bool hasMoved = false;
      hasMore = false;
      for (size_t worker = 0; worker < next.size(); ++worker) {
        while (next[worker] < lists.workers[worker].size() && runSlot(worker, next[worker], free[worker])) {
          ++next[worker];
          hasMoved = true;
        }
        hasMore |= next[worker] < lists.workers[worker].size();
      }
      if (hasMore && !hasMoved)
        return internalError("the lists of schedule {0} wait for each other", plan.pipeline->schedule);
    }
    addUpdates(free);
    return take();
  }

private:
  /// When an action ended: {'F' or 'I', stage, micro-batch}.
  using Key = std::tuple<char, uint32_t, uint32_t>;
  static Key keyOf(const Action &action) {
    return {action.kind == ActionKind::Forward ? 'F' : 'I', action.stage, action.microBatch};
  }

  /// The transfers that an action waits for, and those that end it.
  template <typename Visit>
  bool forInputs(const Action &action, Visit visit) {
    if (action.kind == ActionKind::WeightGradient)
      return true;
    llvm::StringRef time = action.kind == ActionKind::Forward ? "forward" : "backward";
    for (const PlanTransfer &transfer : plan.pipeline->transfers)
      if (transfer.time == time && llvm::is_contained(transfer.to, static_cast<int64_t>(action.stage)))
        if (!visit(transfer, Key(time == "forward" ? 'F' : 'I', transfer.from, action.microBatch)))
          return false;
    return true;
  }

  bool canRun(const Action &action) {
    return forInputs(action, [&](const PlanTransfer &, const Key &sender) { return ended.count(sender) > 0; });
  }

  bool runSlot(size_t worker, size_t index, double &free) {
    const Slot &slot = lists.workers[worker][index];
    if (!canRun(slot.action) || (slot.beside && !canRun(*slot.beside)))
      return false;
    runAction(worker, slot.action, free);
    if (slot.beside)
      runAction(worker, *slot.beside, free);
    return true;
  }

  void runAction(size_t worker, const Action &action, double &free) {
    double begin = free;
    size_t own = actions.size();
    forInputs(action, [&](const PlanTransfer &transfer, const Key &sender) {
      size_t from = ended.at(sender);
      bool isOwn = actions[from].worker == worker;
      double arrival = actions[from].end + (isOwn ? 0 : transfer.seconds);
      if (!isOwn)
        transfers.push_back({transfer.value, static_cast<size_t>(transfer.from), action.stage, action.microBatch,
                             transfer.bytes, actions[from].end, arrival, from, own});
      begin = std::max(begin, arrival);
      return true;
    });
    const PlanStageSeconds &parts = *plan.stages[action.stage].parts;
    static constexpr llvm::StringLiteral kinds[] = {"forward", "backward", "weights", "backward"};
    static constexpr llvm::StringLiteral letters[] = {"F", "I", "W", "B"};
    const double seconds[] = {parts.forward, parts.backward, parts.weights, parts.backward + parts.weights};
    auto kind = static_cast<size_t>(action.kind);
    free = begin + seconds[kind];
    actions.push_back({letters[kind].str() + " " + std::to_string(action.microBatch), kinds[kind].str(), worker,
                       action.stage, action.microBatch, begin, free});
    byWorker[worker].push_back(own);
    if (action.kind != ActionKind::WeightGradient)
      ended[keyOf(action)] = own;
  }

  void addUpdates(std::vector<double> &free) {
    for (uint32_t stage = 0; stage < plan.stages.size(); ++stage) {
      size_t worker = lists.shape.workerOf(stage);
      double begin = free[worker];
      free[worker] += plan.stages[stage].parts->update;
      byWorker[worker].push_back(actions.size());
      actions.push_back({"update", "update", worker, stage, std::nullopt, begin, free[worker]});
    }
  }

  PipelineTimeline take() {
    PipelineTimeline line;
    std::vector<size_t> places(actions.size());
    for (const std::vector<size_t> &own : byWorker)
      for (size_t index : own) {
        places[index] = line.actions.size();
        line.seconds = std::max(line.seconds, actions[index].end);
        line.actions.push_back(actions[index]);
      }
    line.transfers = std::move(transfers);
    for (TimedTransfer &transfer : line.transfers) {
      transfer.sender = places[transfer.sender];
      transfer.receiver = places[transfer.receiver];
    }
    return line;
  }

  const Plan &plan;
  const ActionLists &lists;
  std::vector<TimedAction> actions;
  std::vector<TimedTransfer> transfers;
  std::vector<std::vector<size_t>> byWorker;
  std::map<Key, size_t> ended;
};

/// Walks over the ops of a stage.
class StageClock {
public:
  StageClock(const ExportSource &source, bool unrolls) : stage(source.plan.stages.front()), unrolls(unrolls) {
    for (const PlanSharding &sharding : stage.shardings) {
      int64_t bits = sharding.elementBits;
      for (int64_t size : sharding.localShape)
        bits *= size;
      localBytes[sharding.value] = (bits + 7) / 8;
    }
    for (const GraphOp &op : source.graph.ops)
      repeats[op.name] = op.repeats;
    for (const PlanChoice &choice : stage.choices)
      runs = std::max(runs, repeatsOf(choice.op));
    for (const PlanMove &move : stage.moves)
      if (!move.users.empty() || !move.before.empty())
        moves[move.before.empty() ? move.users.front() : move.before].push_back(&move);
  }

  std::vector<TimedOp> run() {
    size_t first = 0, last = 0; // the ops that every micro-batch runs lie between
    for (auto [index, choice] : llvm::enumerate(stage.choices))
      if (repeatsOf(choice.op) > 1) {
        first = last == 0 ? index : first;
        last = index + 1;
      }
    addOps(0, first, /*repeated=*/false);
    for (int64_t run = 0; run < runs && last > 0; ++run) {
      if (unrolls || run == 0 || run + 1 == runs)
        addOps(first, last, /*repeated=*/true);
      else
        addRun(first, last, run);
    }
    addOps(first, last, /*repeated=*/false);
    addOps(last, stage.choices.size(), /*repeated=*/false);
    return std::move(line);
  }

private:
  int64_t repeatsOf(llvm::StringRef op) const {
    auto known = repeats.find(op);
    return known == repeats.end() ? 1 : known->second;
  }

  void add(llvm::StringRef name, llvm::StringRef levels, llvm::StringRef what, llvm::StringRef detail, double seconds) {
    if (seconds == 0)
      return;
    line.push_back({name.str(), levels.str(), what.str(), detail.str(), now, now + seconds});
    now += seconds;
  }

  static std::string axesOf(llvm::StringRef collective) { return collective.split('{').second.split('}').first.str(); }

  void addOps(size_t first, size_t last, bool repeated) {
    for (const PlanChoice &choice : llvm::ArrayRef(stage.choices).slice(first, last - first)) {
      int64_t times = repeatsOf(choice.op);
      if ((times > 1) != repeated)
        continue;
      if (auto own = moves.find(choice.op); own != moves.end())
        for (const PlanMove *move : own->second)
          addMove(*move, static_cast<double>(times));
      add(choice.op, "", choice.operatorName, choice.strategy.str(), choice.seconds / static_cast<double>(times));
    }
  }

  void addMove(const PlanMove &move, double times) {
    size_t before = line.size();
    if (!move.collectives.empty())
      add(move.values.front(), axesOf(move.collectives.front()), llvm::join(move.collectives, ", "), move.target.str(),
          move.seconds / times);
    if (line.size() == before)
      return;
    line.back().collectives = move.collectives;
    for (const std::string &value : move.values)
      line.back().bytes += localBytes.lookup(value);
  }

  void addRun(size_t first, size_t last, int64_t run) {
    double seconds = 0;
    for (const PlanChoice &choice : llvm::ArrayRef(stage.choices).slice(first, last - first))
      if (int64_t times = repeatsOf(choice.op); times > 1) {
        seconds += choice.seconds / static_cast<double>(times);
        if (auto own = moves.find(choice.op); own != moves.end())
          for (const PlanMove *move : own->second)
            seconds += move->seconds / static_cast<double>(times);
      }
    add("micro-batch " + std::to_string(run), "", "micro-batch", "", seconds);
  }

  const StagePlan &stage;
  llvm::StringMap<int64_t> repeats;
  llvm::StringMap<std::vector<const PlanMove *>> moves; ///< by the op before which they stand
  llvm::StringMap<int64_t> localBytes;                  ///< by value
  bool unrolls;
  int64_t runs = 1;
  double now = 0;
  std::vector<TimedOp> line;
};

} // namespace

llvm::Expected<PipelineTimeline> timelineOfPipeline(const Plan &plan) {
  llvm::Expected<ActionLists> lists = actionListsOf(plan);
  if (!lists)
    return lists.takeError();
  return PipelineClock(plan, *lists).run();
}

std::vector<TimedOp> timelineOfStage(const ExportSource &source, bool unrolls) {
  return StageClock(source, unrolls).run();
}

double hiddenSeconds(const Plan &plan) {
  double hidden = plan.communicationSeconds - plan.exposedCommunicationSeconds;
  return plan.pipeline || hidden < 1e-9 * plan.stepSeconds ? 0 : hidden; // sums differ by roundings
}

} // namespace apc
