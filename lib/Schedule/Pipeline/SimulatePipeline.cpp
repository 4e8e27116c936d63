// The simulation of lists of actions. Every resource serves in an order that the lists fix, so no clock is needed: each
// worker runs its list until an input is missing, and goes on when it has come.
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>

namespace apc {

std::vector<StageMessage> chainMessages(const PipelineShape &shape, double seconds) {
  std::vector<StageMessage> messages;
  for (uint32_t stage = 0; stage < shape.numStages(); ++stage)
    if (shape.feedsNext(stage))
      messages.push_back({stage, stage + 1, seconds});
  return messages;
}

double StageCounts::secondsOf(const StageWork &work) const {
  double again = work.isRecomputed ? work.forwardSeconds : 0;
  return forward * work.forwardSeconds + inputGradient * (work.inputGradientSeconds + again) +
         weightGradient * work.weightGradientSeconds + firstForwardExtra * work.firstForwardExtraSeconds +
         lastBackwardExtra * work.lastBackwardExtraSeconds + gradientSync * work.gradientSyncSeconds +
         optimizer * work.optimizerSeconds;
}

double PipelinePath::secondsOf(const PipelineWork &work) const {
  double seconds = tied > 0 ? tied * work.tail->tied->seconds : 0;
  for (auto [counts, stage] : llvm::zip(stages, work.stages))
    seconds += counts.secondsOf(stage);
  for (auto [times, message] : llvm::zip(messages, work.messages))
    seconds += times * message.seconds;
  for (auto [index, times] : llvm::enumerate(sums))
    seconds += times * work.tail->sums[index].seconds;
  return seconds;
}

llvm::Expected<PipelineSimulator> PipelineSimulator::make(const ActionLists &lists) {
  if (llvm::Error error = checkActionLists(lists))
    return error;
  return PipelineSimulator(lists);
}

PipelineSimulator::PipelineSimulator(const ActionLists &lists)
    : shape(lists.shape), numUnits(shape.microBatches * shape.pieces) {
  auto compact = [&](const Action &action) {
    return Work{action.kind, action.stage, action.microBatch * shape.pieces + action.piece};
  };
  for (uint32_t stage = 0; stage < shape.numStages(); ++stage)
    workerOfStage.push_back(shape.workerOf(stage));
  for (const std::vector<Slot> &slots : lists.workers) {
    firstStep.push_back(steps.size());
    std::vector<uint32_t> &order = syncOrder.emplace_back();
    auto touch = [&](const Work &work) {
      if (work.kind != ActionKind::Backward && work.kind != ActionKind::WeightGradient)
        return;
      llvm::erase(order, work.stage);
      order.push_back(work.stage);
    };
    for (const Slot &slot : slots) {
      const Step &step = steps.emplace_back(
          Step{compact(slot.action), compact(slot.beside.value_or(slot.action)), slot.beside.has_value()});
      touch(step.work);
      touch(step.beside);
    }
  }
  firstStep.push_back(steps.size());
}

namespace {

/// A figure that a path meets, by its stage or message, and how often.
enum class TermFigure : uint8_t {
  Forward,
  InputGradient,
  WeightGradient,
  Backward,
  FirstExtra,
  LastExtra,
  Message,
  Sync,
  Optimizer,
  Tied,
  Sum
};
struct Term {
  TermFigure figure;
  uint32_t index;
  double count = 1;
};

/// The clock of a run that wants times alone.
struct PlainClock {
  using Time = double;
  static double secondsOf(Time time) { return time; }
  static Time after(Time time, double seconds, const Term &) { return time + seconds; }
};

/// The clock of a run that also wants to know where each time comes from.
struct TracingClock {
  struct Time {
    double seconds = 0;
    uint32_t last = 0; ///< in the trail; 0 is the begin of the step
    friend bool operator<(const Time &a, const Time &b) { return a.seconds < b.seconds; }
  };
  struct Entry {
    uint32_t before;
    Term term;
  };
  static double secondsOf(Time time) { return time.seconds; }
  Time after(Time time, double seconds, const Term &term) {
    trail.push_back({time.last, term});
    return {time.seconds + seconds, static_cast<uint32_t>(trail.size() - 1)};
  }
  std::vector<Entry> trail = {Entry{0, Term{TermFigure::Forward, 0, 0}}};
};

/// Adds a term to the path that it is of.
void count(PipelinePath &path, const Term &term) {
  if (term.figure == TermFigure::Message) {
    path.messages[term.index] += term.count;
    return;
  }
  if (term.figure == TermFigure::Tied) {
    path.tied += term.count;
    return;
  }
  if (term.figure == TermFigure::Sum) {
    path.sums[term.index] += term.count;
    return;
  }
  StageCounts &stage = path.stages[term.index];
  if (term.figure == TermFigure::Forward)
    stage.forward += term.count;
  if (term.figure == TermFigure::InputGradient || term.figure == TermFigure::Backward)
    stage.inputGradient += term.count;
  if (term.figure == TermFigure::WeightGradient || term.figure == TermFigure::Backward)
    stage.weightGradient += term.count;
  if (term.figure == TermFigure::FirstExtra)
    stage.firstForwardExtra += term.count;
  if (term.figure == TermFigure::LastExtra)
    stage.lastBackwardExtra += term.count;
  if (term.figure == TermFigure::Sync)
    stage.gradientSync += term.count;
  if (term.figure == TermFigure::Optimizer)
    stage.optimizer += term.count;
}

} // namespace

/// The state of one run.
template <typename Clock>
struct PipelineSimulator::Run {
  using Time = typename Clock::Time;

  /// The other end of a message.
  struct End {
    uint32_t stage, worker, message;
    double seconds;
  };
  /// Inputs of F actions, or of I and B actions, by stage and unit.
  struct Inputs {
    std::vector<std::vector<End>> receivers; ///< of an action's results, by its stage
    std::vector<uint32_t> missing;
    std::vector<Time> ready; ///< when the last of those that have come came
  };

  Run(const PipelineSimulator &simulator, const PipelineWork &work)
      : simulator(simulator), work(work), p(simulator.shape.workers), now(p), start(p), busy(p), next(p), waits(p),
        linkFree(work.linkMode == LinkMode::Link ? size_t(p) * p : 0), lastEnd(work.stages.size()) {
    for (Inputs &inputs : sides) {
      inputs.receivers.resize(work.stages.size());
      inputs.missing.resize(work.stages.size() * simulator.numUnits);
      inputs.ready.resize(work.stages.size() * simulator.numUnits);
    }
    for (uint32_t index = 0; index < work.messages.size(); ++index) {
      const StageMessage &message = work.messages[index];
      connect(sides[0], message.from, {message.to, simulator.workerOfStage[message.to], index, message.seconds});
      connect(sides[1], message.to, {message.from, simulator.workerOfStage[message.from], index, message.seconds});
    }
    for (uint32_t worker = 0; worker < p; ++worker)
      next[worker] = simulator.firstStep[worker];
    for (const StageWork &stage : work.stages)
      seconds.push_back(secondsOf(stage));
  }

  void connect(Inputs &inputs, uint32_t from, const End &end) {
    inputs.receivers[from].push_back(end);
    for (size_t unit = 0; unit < simulator.numUnits; ++unit)
      ++inputs.missing[end.stage * simulator.numUnits + unit];
  }

  static std::array<double, 4> secondsOf(const StageWork &stage) {
    double again = stage.isRecomputed ? stage.forwardSeconds : 0;
    return {stage.forwardSeconds, stage.inputGradientSeconds + again, stage.weightGradientSeconds,
            stage.inputGradientSeconds + stage.weightGradientSeconds + again};
  }

  /// More than the usual seconds of an action, for the first F and the last B or W of a stage.
  double extraOf(const Work &action) const {
    if (action.kind == ActionKind::Forward)
      return action.unit == 0 ? work.stages[action.stage].firstForwardExtraSeconds : 0;
    bool isLast = action.kind != ActionKind::InputGradient && action.unit == lastUnit();
    return isLast ? work.stages[action.stage].lastBackwardExtraSeconds : 0;
  }

  double secondsOf(const Work &action) const {
    return seconds[action.stage][static_cast<size_t>(action.kind)] + extraOf(action);
  }

  /// The end of an action of which this share takes time.
  Time endOf(Time begin, const Work &action, double share) {
    auto figure = static_cast<TermFigure>(action.kind); // the first four
    double usual = seconds[action.stage][static_cast<size_t>(action.kind)];
    Time end = clock.after(begin, share * usual, {figure, action.stage, share});
    double extra = extraOf(action);
    if (extra == 0)
      return end;
    bool isForward = action.kind == ActionKind::Forward;
    return clock.after(end, share * extra,
                       {isForward ? TermFigure::FirstExtra : TermFigure::LastExtra, action.stage, share});
  }

  /// The first piece of the last micro-batch, whose backward action is that micro-batch's last.
  uint32_t lastUnit() const { return simulator.numUnits - simulator.shape.pieces; }

  Inputs &sideOf(ActionKind kind) { return sides[kind == ActionKind::Forward ? 0 : 1]; }

  /// Whether the inputs of an action have come; raises `ready` to the moment when they had.
  bool hasInputs(const Work &action, Time &ready) {
    if (action.kind == ActionKind::WeightGradient)
      return true;
    Inputs &inputs = sideOf(action.kind);
    size_t index = size_t(action.stage) * simulator.numUnits + action.unit;
    ready = std::max(ready, inputs.ready[index]);
    return inputs.missing[index] == 0;
  }

  /// Sends the results of an action that ended on `worker`, whose clock goes on where it sends by itself.
  void send(const Work &action, uint32_t worker, Time end) {
    if (action.kind == ActionKind::WeightGradient)
      return;
    Inputs &inputs = sideOf(action.kind);
    for (const End &receiver : inputs.receivers[action.stage]) {
      Time arrival = end;
      Term term{TermFigure::Message, receiver.message};
      if (receiver.worker != worker) {
        if (work.linkMode == LinkMode::Latency) {
          arrival = clock.after(end, receiver.seconds, term);
        } else if (work.linkMode == LinkMode::Link) {
          Time &free = linkFree[size_t(worker) * p + receiver.worker];
          arrival = free = clock.after(std::max(end, free), receiver.seconds, term);
        } else {
          arrival = now[worker] = clock.after(now[worker], receiver.seconds, term);
        }
      }
      size_t index = size_t(receiver.stage) * simulator.numUnits + action.unit;
      inputs.ready[index] = std::max(inputs.ready[index], arrival);
      --inputs.missing[index];
      if (waits[receiver.worker]) {
        waits[receiver.worker] = false;
        runnable.push_back(receiver.worker);
      }
    }
    if (action.kind == ActionKind::Backward)
      lastEnd[action.stage] = now[worker];
  }

  /// Runs a worker's next step, if its inputs are there.
  bool act(uint32_t worker, const Step &step) {
    Time begin = now[worker];
    if (!hasInputs(step.work, begin) || (step.isPair && !hasInputs(step.beside, begin)))
      return false;
    if (next[worker] == simulator.firstStep[worker])
      start[worker] = Clock::secondsOf(begin);
    bool isSwapped = step.isPair && secondsOf(step.work) < secondsOf(step.beside);
    Time end = endOf(begin, isSwapped ? step.beside : step.work, 1);
    if (step.isPair)
      end = endOf(end, isSwapped ? step.work : step.beside, work.pairShare);
    now[worker] = end;
    if (step.work.kind == ActionKind::WeightGradient)
      lastEnd[step.work.stage] = end;
    send(step.work, worker, end);
    if (step.isPair)
      send(step.beside, worker, end);
    busy[worker] += Clock::secondsOf(now[worker]) - Clock::secondsOf(begin);
    return true;
  }

  /// Runs all lists; false where workers wait for each other.
  bool runLists() {
    for (uint32_t worker = p; worker-- > 0;)
      runnable.push_back(worker);
    while (!runnable.empty()) {
      uint32_t worker = runnable.back();
      runnable.pop_back();
      size_t end = simulator.firstStep[worker + 1];
      while (next[worker] < end && act(worker, simulator.steps[next[worker]]))
        ++next[worker];
      waits[worker] = next[worker] < end;
    }
    return llvm::none_of(waits, [](bool isWaiting) { return isWaiting; });
  }

  /// Reductions, shared gradients, optimizers: moves each worker's clock to its end.
  void runTail(const PipelineTail &tail) {
    for (uint32_t worker = 0; worker < p; ++worker) {
      Time stream{};
      for (uint32_t stage : simulator.syncOrder[worker]) {
        double taken = work.stages[stage].gradientSyncSeconds;
        if (tail.overlapsSync)
          stream = clock.after(std::max(stream, lastEnd[stage]), taken, {TermFigure::Sync, stage});
        else
          spend(worker, taken, {TermFigure::Sync, stage});
      }
      now[worker] = std::max(now[worker], stream);
    }
    if (tail.tied) {
      uint32_t a = simulator.workerOfStage[tail.tied->first], b = simulator.workerOfStage[tail.tied->second];
      if (a != b) {
        now[a] = now[b] = std::max(now[a], now[b]);
        spend(a, tail.tied->seconds, {TermFigure::Tied, 0});
        spend(b, tail.tied->seconds, {TermFigure::Tied, 0});
      }
    }
    handOn(tail.sums);
    if (tail.hasBarrier)
      now.assign(p, *std::max_element(now.begin(), now.end()));
    for (uint32_t stage = 0; stage < work.stages.size(); ++stage)
      spend(simulator.workerOfStage[stage], work.stages[stage].optimizerSeconds, {TermFigure::Optimizer, stage});
  }

  /// Sums on their way; the clocks of their receivers are moved to the last arrival.
  void handOn(llvm::ArrayRef<StageMessage> sums) {
    const std::vector<Time> ends = now;
    std::map<std::pair<uint32_t, uint32_t>, Time> free; ///< by sender and receiver
    for (uint32_t index = 0; index < sums.size(); ++index) {
      uint32_t from = simulator.workerOfStage[sums[index].from], to = simulator.workerOfStage[sums[index].to];
      if (from == to)
        continue;
      Time &link = free.try_emplace({from, to}, ends[from]).first->second;
      link = clock.after(link, sums[index].seconds, {TermFigure::Sum, index});
      now[to] = std::max(now[to], link);
    }
  }

  void spend(uint32_t worker, double taken, const Term &term) {
    now[worker] = clock.after(now[worker], taken, term);
    busy[worker] += taken;
  }

  /// Everything; an error where workers wait for each other.
  llvm::Error runAll() {
    if (!runLists())
      return simulator.deadlock(*this);
    if (work.tail)
      runTail(*work.tail);
    return llvm::Error::success();
  }

  Clock clock;
  const PipelineSimulator &simulator;
  const PipelineWork &work;
  uint32_t p;
  std::array<Inputs, 2> sides;                ///< of F; of I and B
  std::vector<std::array<double, 4>> seconds; ///< by stage and kind, without extras
  std::vector<Time> now;                      ///< by worker
  std::vector<double> start, busy;
  std::vector<size_t> next;
  std::vector<bool> waits;
  std::vector<uint32_t> runnable;
  std::vector<Time> linkFree; ///< by sender and receiver
  std::vector<Time> lastEnd;  ///< of the last B or W of a stage
};

template <typename Clock>
llvm::Error PipelineSimulator::deadlock(const Run<Clock> &run) const {
  std::vector<std::string> heads;
  for (uint32_t worker = 0; worker < shape.workers; ++worker)
    if (run.next[worker] < firstStep[worker + 1]) {
      Work head = steps[run.next[worker]].work;
      Action action{head.kind, head.stage, head.unit / shape.pieces, head.unit % shape.pieces};
      heads.push_back("worker " + std::to_string(worker) + " before " + printActions(shape, Slot{action}));
    }
  return inputError("the workers wait for each other for ever: {0}", llvm::join(heads, ", "));
}

llvm::Expected<PipelineTime> PipelineSimulator::run(const PipelineWork &work) const {
  assert(work.stages.size() == shape.numStages() && "the work of each stage");
  Run<PlainClock> run(*this, work);
  if (llvm::Error error = run.runAll())
    return error;
  PipelineTime time;
  for (uint32_t worker = 0; worker < shape.workers; ++worker) {
    double finish = run.now[worker], taken = finish - run.start[worker];
    time.workers.push_back({run.start[worker], finish, taken - run.busy[worker], peakBytes(worker, work.stages)});
    time.spanSeconds = std::max(time.spanSeconds, taken);
    time.stepSeconds = std::max(time.stepSeconds, finish);
  }
  auto starts = llvm::map_range(time.workers, [](const WorkerTime &worker) { return worker.startSeconds; });
  time.stepSeconds -= *std::min_element(starts.begin(), starts.end());
  return time;
}

llvm::Expected<PipelinePath> PipelineSimulator::longestPath(const PipelineWork &work) const {
  assert(work.stages.size() == shape.numStages() && "the work of each stage");
  Run<TracingClock> run(*this, work);
  if (llvm::Error error = run.runAll())
    return error;
  PipelinePath path{std::vector<StageCounts>(work.stages.size()), std::vector<double>(work.messages.size()),
                    std::vector<double>(work.tail ? work.tail->sums.size() : 0)};
  const std::vector<TracingClock::Entry> &trail = run.clock.trail;
  for (uint32_t at = std::max_element(run.now.begin(), run.now.end())->last; at != 0; at = trail[at].before)
    count(path, trail[at].term);
  return path;
}

llvm::Expected<PipelineTime> simulatePipeline(const ActionLists &lists, const PipelineWork &work) {
  llvm::Expected<PipelineSimulator> simulator = PipelineSimulator::make(lists);
  if (!simulator)
    return simulator.takeError();
  return simulator->run(work);
}

} // namespace apc
