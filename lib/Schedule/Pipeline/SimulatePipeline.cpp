// The simulation of lists of actions. Every resource serves in an order that the lists fix, so no clock is needed: each
// worker runs its list until an input is missing, and goes on when it has come.
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace apc {

std::vector<StageMessage> chainMessages(const PipelineShape &shape, double seconds) {
  std::vector<StageMessage> messages;
  for (uint32_t stage = 0; stage < shape.numStages(); ++stage)
    if (shape.feedsNext(stage))
      messages.push_back({stage, stage + 1, seconds});
  return messages;
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

/// The state of one run.
struct PipelineSimulator::Run {
  /// The other end of a message.
  struct End {
    uint32_t stage, worker;
    double seconds;
  };
  /// Inputs of F actions, or of I and B actions, by stage and unit.
  struct Inputs {
    std::vector<std::vector<End>> receivers; ///< of an action's results, by its stage
    std::vector<uint32_t> missing;
    std::vector<double> ready; ///< when the last of those that have come came
  };

  Run(const PipelineSimulator &simulator, const PipelineWork &work)
      : simulator(simulator), work(work), p(simulator.shape.workers), now(p), busy(p), start(p), next(p), waits(p),
        linkFree(work.linkMode == LinkMode::Link ? size_t(p) * p : 0), lastEnd(work.stages.size()) {
    for (Inputs &inputs : sides) {
      inputs.receivers.resize(work.stages.size());
      inputs.missing.resize(work.stages.size() * simulator.numUnits);
      inputs.ready.resize(work.stages.size() * simulator.numUnits);
    }
    for (const StageMessage &message : work.messages) {
      connect(sides[0], message.from, message.to, message.seconds);
      connect(sides[1], message.to, message.from, message.seconds);
    }
    for (uint32_t worker = 0; worker < p; ++worker)
      next[worker] = simulator.firstStep[worker];
    for (const StageWork &stage : work.stages)
      seconds.push_back(secondsOf(stage));
  }

  void connect(Inputs &inputs, uint32_t from, uint32_t to, double messageSeconds) {
    inputs.receivers[from].push_back({to, simulator.workerOfStage[to], messageSeconds});
    for (size_t unit = 0; unit < simulator.numUnits; ++unit)
      ++inputs.missing[to * simulator.numUnits + unit];
  }

  static std::array<double, 4> secondsOf(const StageWork &stage) {
    double again = stage.isRecomputed ? stage.forwardSeconds : 0;
    return {stage.forwardSeconds, stage.inputGradientSeconds + again, stage.weightGradientSeconds,
            stage.inputGradientSeconds + stage.weightGradientSeconds + again};
  }

  double secondsOf(const Work &action) const {
    double result = seconds[action.stage][static_cast<size_t>(action.kind)];
    if (action.kind == ActionKind::Forward)
      return action.unit == 0 ? result + work.stages[action.stage].firstForwardExtraSeconds : result;
    if (action.kind != ActionKind::InputGradient && action.unit == lastUnit())
      result += work.stages[action.stage].lastBackwardExtraSeconds;
    return result;
  }

  /// The first piece of the last micro-batch, whose backward action is that micro-batch's last.
  uint32_t lastUnit() const { return simulator.numUnits - simulator.shape.pieces; }

  Inputs &sideOf(ActionKind kind) { return sides[kind == ActionKind::Forward ? 0 : 1]; }

  /// Whether the inputs of an action have come; raises `ready` to the moment when they had.
  bool hasInputs(const Work &action, double &ready) {
    if (action.kind == ActionKind::WeightGradient)
      return true;
    Inputs &inputs = sideOf(action.kind);
    size_t index = size_t(action.stage) * simulator.numUnits + action.unit;
    ready = std::max(ready, inputs.ready[index]);
    return inputs.missing[index] == 0;
  }

  /// Sends the results of an action that ended on `worker`, whose clock goes on where it sends by itself.
  void send(const Work &action, uint32_t worker, double end) {
    if (action.kind == ActionKind::WeightGradient)
      return;
    Inputs &inputs = sideOf(action.kind);
    for (const End &receiver : inputs.receivers[action.stage]) {
      double arrival = end;
      if (receiver.worker != worker) {
        if (work.linkMode == LinkMode::Latency) {
          arrival += receiver.seconds;
        } else if (work.linkMode == LinkMode::Link) {
          double &free = linkFree[size_t(worker) * p + receiver.worker];
          arrival = free = std::max(end, free) + receiver.seconds;
        } else {
          arrival = now[worker] += receiver.seconds;
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
    double begin = now[worker];
    if (!hasInputs(step.work, begin) || (step.isPair && !hasInputs(step.beside, begin)))
      return false;
    double taken = secondsOf(step.work);
    if (step.isPair) {
      double other = secondsOf(step.beside);
      taken = std::max(taken, other) + work.pairShare * std::min(taken, other);
    }
    if (next[worker] == simulator.firstStep[worker])
      start[worker] = begin;
    double end = now[worker] = begin + taken;
    if (step.work.kind == ActionKind::WeightGradient)
      lastEnd[step.work.stage] = end;
    send(step.work, worker, end);
    if (step.isPair)
      send(step.beside, worker, end);
    busy[worker] += now[worker] - begin;
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
      double stream = 0, sum = 0;
      for (uint32_t stage : simulator.syncOrder[worker]) {
        stream = std::max(stream, lastEnd[stage]) + work.stages[stage].gradientSyncSeconds;
        sum += work.stages[stage].gradientSyncSeconds;
      }
      if (tail.overlapsSync)
        now[worker] = std::max(now[worker], stream);
      else
        spend(worker, sum);
    }
    if (tail.tied) {
      uint32_t a = simulator.workerOfStage[tail.tied->first], b = simulator.workerOfStage[tail.tied->second];
      if (a != b) {
        now[a] = now[b] = std::max(now[a], now[b]);
        spend(a, tail.tied->seconds);
        spend(b, tail.tied->seconds);
      }
    }
    if (tail.hasBarrier)
      now.assign(p, *llvm::max_element(now));
    for (uint32_t stage = 0; stage < work.stages.size(); ++stage)
      spend(simulator.workerOfStage[stage], work.stages[stage].optimizerSeconds);
  }

  void spend(uint32_t worker, double taken) {
    now[worker] += taken;
    busy[worker] += taken;
  }

  const PipelineSimulator &simulator;
  const PipelineWork &work;
  uint32_t p;
  std::array<Inputs, 2> sides;                ///< of F; of I and B
  std::vector<std::array<double, 4>> seconds; ///< by stage and kind, without extras
  std::vector<double> now, busy, start;       ///< by worker
  std::vector<size_t> next;
  std::vector<bool> waits;
  std::vector<uint32_t> runnable;
  std::vector<double> linkFree; ///< by sender and receiver
  std::vector<double> lastEnd;  ///< of the last B or W of a stage
};

llvm::Expected<PipelineTime> PipelineSimulator::run(const PipelineWork &work) const {
  assert(work.stages.size() == shape.numStages() && "the work of each stage");
  Run run(*this, work);
  if (!run.runLists()) {
    std::vector<std::string> heads;
    for (uint32_t worker = 0; worker < shape.workers; ++worker)
      if (run.next[worker] < firstStep[worker + 1]) {
        Work head = steps[run.next[worker]].work;
        Action action{head.kind, head.stage, head.unit / shape.pieces, head.unit % shape.pieces};
        heads.push_back("worker " + std::to_string(worker) + " before " + printActions(shape, Slot{action}));
      }
    return inputError("the workers wait for each other for ever: {0}", llvm::join(heads, ", "));
  }
  if (work.tail)
    run.runTail(*work.tail);
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

int64_t PipelineSimulator::peakBytes(uint32_t worker, llvm::ArrayRef<StageWork> stages) const {
  int64_t bytes = 0, peak = 0, fixed = 0;
  auto begin = [&](const Work &action) {
    const StageWork &stage = stages[action.stage];
    if (action.kind == ActionKind::Forward)
      bytes += stage.isRecomputed ? stage.inputBytes : stage.activationBytes;
    else if (action.kind != ActionKind::WeightGradient && stage.isRecomputed)
      bytes += stage.activationBytes - stage.inputBytes;
    peak = std::max(peak, bytes);
  };
  auto end = [&](const Work &action) {
    const StageWork &stage = stages[action.stage];
    if (action.kind == ActionKind::InputGradient)
      bytes -= stage.activationBytes - stage.weightActivationBytes;
    else if (action.kind == ActionKind::WeightGradient)
      bytes -= stage.weightActivationBytes;
    else if (action.kind == ActionKind::Backward)
      bytes -= stage.activationBytes;
  };
  for (const Step &step : llvm::ArrayRef(steps).slice(firstStep[worker], firstStep[worker + 1] - firstStep[worker])) {
    begin(step.work);
    if (step.isPair)
      begin(step.beside);
    end(step.work);
    if (step.isPair)
      end(step.beside);
  }
  for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
    fixed += stages[shape.stageOf(worker, chunk)].staticBytes;
  return fixed + peak;
}

llvm::Expected<PipelineTime> simulatePipeline(const ActionLists &lists, const PipelineWork &work) {
  llvm::Expected<PipelineSimulator> simulator = PipelineSimulator::make(lists);
  if (!simulator)
    return simulator.takeError();
  return simulator->run(work);
}

} // namespace apc
