#include "EnumerateStages.h"

#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Support/Error.h"

#include <cmath>

namespace apc {

namespace {

class Enumerator {
public:
  explicit Enumerator(const StageProblem &problem) : problem(problem) {
    widths = problem.space.widths.empty() ? std::vector<uint32_t>{1} : problem.space.widths;
  }

  Enumeration run() {
    for (size_t schedule = 0; schedule < problem.space.schedules.size(); ++schedule)
      for (uint32_t workers : problem.space.workers)
        if (makeLists(schedule, workers)) {
          choice = {schedule, workers, {}, {}, {}};
          addSizes(problem.numLayers());
        }
    return std::move(best);
  }

private:
  bool makeLists(size_t index, uint32_t workers) {
    const ScheduleChoice &named = problem.space.schedules[index];
    for (uint32_t chunks : {named.chunks.value_or(1), named.chunks.value_or(2)}) {
      llvm::Expected<const PipelineSchedule *> schedule = findPipelineSchedule(named.name, chunks);
      if (!schedule) {
        llvm::consumeError(schedule.takeError());
        continue;
      }
      llvm::Expected<ActionLists> made =
          generateActions(**schedule, {workers, problem.microBatches, chunks, 1, {}, named.warmUpFactor});
      if (!made) {
        llvm::consumeError(made.takeError());
        return false;
      }
      lists = std::move(*made);
      return true;
    }
    return false;
  }

  void addSizes(uint32_t layersLeft) {
    if (choice.stageSizes.size() == lists.shape.numStages()) {
      if (layersLeft == 0)
        addWidths(0);
      return;
    }
    for (uint32_t size = 1; size <= layersLeft; ++size) {
      choice.stageSizes.push_back(size);
      addSizes(layersLeft - size);
      choice.stageSizes.pop_back();
    }
  }

  void addWidths(uint32_t sum) {
    if (choice.widths.size() == lists.shape.workers) {
      if (!problem.space.devices || sum == *problem.space.devices)
        addFlags();
      return;
    }
    for (uint32_t width : widths) {
      choice.widths.push_back(width);
      addWidths(sum + width);
      choice.widths.pop_back();
    }
  }

  void addFlags() {
    if (choice.recompute.size() == lists.shape.numStages())
      return tryCandidate();
    for (bool flag : {false, true}) {
      if (flag && !problem.space.recompute)
        continue;
      choice.recompute.push_back(flag);
      addFlags();
      choice.recompute.pop_back();
    }
  }

  void tryCandidate() {
    ++best.numCandidates;
    PipelineTime time = llvm::cantFail(simulatePipeline(lists, work()));
    for (const WorkerTime &worker : time.workers)
      if (problem.memoryLimitBytes && worker.peakBytes > *problem.memoryLimitBytes)
        return;
    ++best.numFeasible;
    if (best.time && time.stepSeconds >= best.time->stepSeconds)
      return;
    best.time = time;
    best.choice = choice;
  }

  uint32_t stageWith(uint32_t layer) const {
    uint32_t stage = 0;
    for (uint32_t end = choice.stageSizes[0]; end <= layer; end += choice.stageSizes[stage])
      ++stage;
    return stage;
  }

  uint32_t widthOf(uint32_t stage) const { return choice.widths[lists.shape.workerOf(stage)]; }

  PipelineWork work() const {
    PipelineWork work;
    for (uint32_t stage = 0, layer = 0; stage < choice.stageSizes.size(); ++stage) {
      StageWork &one = work.stages.emplace_back();
      one.inputBytes = layer == 0 ? problem.inputBytes : problem.boundaryBytes[layer - 1];
      one.isRecomputed = choice.recompute[stage];
      for (uint32_t end = layer + choice.stageSizes[stage]; layer < end; ++layer)
        for (const LayersOfWidth &layers : problem.byWidth)
          if (layers.width == widthOf(stage))
            add(one, layers.layers[layer]);
      if (layer < problem.numLayers())
        send(work, stage, stage + 1, problem.boundaryBytes[layer - 1]);
    }
    for (const SkippingTensor &skip : problem.skips)
      if (stageWith(skip.from) != stageWith(skip.to))
        send(work, stageWith(skip.from), stageWith(skip.to), skip.bytes);
    work.linkMode = problem.link.mode;
    if (!problem.tail)
      return work;
    work.tail = PipelineTail{problem.tail->overlap, std::nullopt, problem.tail->barrier};
    if (problem.tail->tied)
      work.tail->tied = TiedStages{stageWith(problem.tail->tied->first), stageWith(problem.tail->tied->second),
                                   problem.tail->tied->seconds};
    return work;
  }

  static void add(StageWork &sum, const StageWork &layer) {
    sum.forwardSeconds += layer.forwardSeconds;
    sum.inputGradientSeconds += layer.inputGradientSeconds;
    sum.weightGradientSeconds += layer.weightGradientSeconds;
    sum.firstForwardExtraSeconds += layer.firstForwardExtraSeconds;
    sum.lastBackwardExtraSeconds += layer.lastBackwardExtraSeconds;
    sum.gradientSyncSeconds += layer.gradientSyncSeconds;
    sum.optimizerSeconds += layer.optimizerSeconds;
    sum.activationBytes += layer.activationBytes;
    sum.weightActivationBytes += layer.weightActivationBytes;
    sum.staticBytes += layer.staticBytes;
  }

  void send(PipelineWork &work, uint32_t from, uint32_t to, int64_t bytes) const {
    double seconds = problem.link.latencySeconds;
    if (problem.link.bytesPerSecond)
      seconds +=
          std::ceil(static_cast<double>(bytes) / (*problem.link.bytesPerSecond * std::min(widthOf(from), widthOf(to))));
    work.messages.push_back({from, to, seconds});
  }

  const StageProblem &problem;
  std::vector<uint32_t> widths;
  ActionLists lists;
  StageChoice choice;
  Enumeration best;
};

} // namespace

Enumeration enumerateStages(const StageProblem &problem) { return Enumerator(problem).run(); }

} // namespace apc
