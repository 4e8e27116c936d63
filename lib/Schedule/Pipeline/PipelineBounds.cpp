// Lower bounds of a pipelined step: the header has the proof.
#include "apc/Schedule/Pipeline/PipelineBounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

namespace {

class Bound {
public:
  Bound(const PipelineShape &shape, const PipelineWork &work, bool isSplit)
      : shape(shape), work(work), isSplit(isSplit), numUnits(shape.microBatches * shape.pieces),
        numStages(shape.numStages()), hop(numStages), isLinked(numStages), head(numStages), way(numStages),
        sent(numStages), lastBackward(numStages) {
    for (const StageMessage &message : work.messages)
      addMessage(message);
    for (uint32_t stage = 1; stage < numStages; ++stage)
      if (isLinked[stage - 1])
        head[stage] = head[stage - 1] + work.stages[stage - 1].forwardSeconds + hop[stage - 1];
    for (uint32_t stage = numStages; stage-- > 0;)
      way[stage] = work.stages[stage].forwardSeconds + backwardOf(stage) +
                   (isLinked[stage] ? 2 * hop[stage] + way[stage + 1] : 0);
  }

  double seconds() {
    std::vector<double> ends(shape.workers);
    for (uint32_t stage = numStages; stage-- > 0;)
      lastBackward[stage] = std::max({isLinked[stage] ? lastBackward[stage + 1] + hop[stage] + backwardOf(stage) : 0,
                                      head[stage] + way[stage], fromLoad(stage), fromLinks(stage)});
    for (uint32_t worker = 0; worker < shape.workers; ++worker)
      ends[worker] = headOf(worker) + loadOf(worker, /*withWeights=*/true) + sentBy(worker);
    for (uint32_t stage = 0; stage < numStages; ++stage) {
      double &end = ends[shape.workerOf(stage)];
      end = std::max(end, lastBackward[stage] + (isSplit ? work.stages[stage].weightGradientSeconds : 0));
    }
    return work.tail ? withTail(ends, *work.tail) : *llvm::max_element(ends);
  }

private:
  void addMessage(const StageMessage &message) {
    if (shape.workerOf(message.from) != shape.workerOf(message.to)) {
      sent[message.from] += message.seconds;
      sent[message.to] += message.seconds; // the gradient
    }
    if (message.to != message.from + 1)
      return;
    isLinked[message.from] = true;
    if (shape.workerOf(message.from) == shape.workerOf(message.to))
      return;
    double &seconds = hop[message.from]; // of all messages between the two stages
    seconds = work.linkMode == LinkMode::Latency ? std::max(seconds, message.seconds) : seconds + message.seconds;
  }

  /// Of B, or of I: the part after which the gradient may leave.
  double backwardOf(uint32_t stage) const {
    const StageWork &one = work.stages[stage];
    return one.inputGradientSeconds + (one.isRecomputed ? one.forwardSeconds : 0) +
           (isSplit ? 0 : one.weightGradientSeconds);
  }

  bool isFirstOfWorker(uint32_t stage) const {
    for (uint32_t before = stage; before-- > 0 && isLinked[before];)
      if (shape.workerOf(before) == shape.workerOf(stage))
        return false;
    return true;
  }

  double headOf(uint32_t worker) const {
    std::optional<double> least;
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      if (uint32_t stage = shape.stageOf(worker, chunk); isFirstOfWorker(stage))
        least = std::min(least.value_or(head[stage]), head[stage]);
    return least.value_or(0);
  }

  /// Of all a worker's actions, or of F and I alone.
  double loadOf(uint32_t worker, bool withWeights) const {
    double forward = 0, backward = 0;
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      uint32_t stage = shape.stageOf(worker, chunk);
      const StageWork &one = work.stages[stage];
      forward += numUnits * one.forwardSeconds + one.firstForwardExtraSeconds;
      backward += numUnits * backwardOf(stage);
      if (withWeights || !isSplit)
        backward += one.lastBackwardExtraSeconds;
      if (withWeights && isSplit)
        backward += numUnits * one.weightGradientSeconds;
    }
    return forward + backward - (1 - work.pairShare) * std::min(forward, backward);
  }

  /// The time that a worker sends by itself.
  double sentBy(uint32_t worker) const {
    double seconds = 0;
    if (work.linkMode == LinkMode::Sender)
      for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
        seconds += numUnits * sent[shape.stageOf(worker, chunk)];
    return seconds;
  }

  /// The end of the last backward action of a stage that comes first on its worker, by head and load. Where two copies
  /// have their first stages there, either may end it.
  double fromLoad(uint32_t stage) const {
    uint32_t worker = shape.workerOf(stage);
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
      if (uint32_t other = shape.stageOf(worker, chunk); isFirstOfWorker(other) != (other == stage))
        return 0;
    double ownSends = work.linkMode == LinkMode::Sender ? sent[stage] : 0; // behind the last action
    return head[stage] + loadOf(worker, /*withWeights=*/false) + std::max(0.0, sentBy(worker) - ownSends);
  }

  /// The same where the link to the stage before, or to the stage behind, carries one message at a time.
  double fromLinks(uint32_t stage) const {
    if (work.linkMode != LinkMode::Link)
      return 0;
    double seconds = 0;
    if (stage > 0 && isLinked[stage - 1])
      seconds = head[stage - 1] + work.stages[stage - 1].forwardSeconds + numUnits * hop[stage - 1] + way[stage];
    if (isLinked[stage])
      seconds = std::max(seconds, head[stage + 1] + way[stage + 1] + numUnits * hop[stage] + backwardOf(stage));
    return seconds;
  }

  double withTail(std::vector<double> ends, const PipelineTail &tail) const {
    std::vector<double> optimizers(shape.workers);
    for (uint32_t worker = 0; worker < shape.workers; ++worker) {
      std::optional<double> least;
      double sum = 0;
      for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
        const StageWork &one = work.stages[shape.stageOf(worker, chunk)];
        least = std::min(least.value_or(one.gradientSyncSeconds), one.gradientSyncSeconds);
        sum += one.gradientSyncSeconds;
        optimizers[worker] += one.optimizerSeconds;
      }
      ends[worker] += tail.overlapsSync ? least.value_or(0) : sum; // the last action is some stage's B or W
    }
    if (tail.tied) {
      double &a = ends[shape.workerOf(tail.tied->first)], &b = ends[shape.workerOf(tail.tied->second)];
      if (&a != &b)
        a = b = std::max(a, b) + tail.tied->seconds;
    }
    const std::vector<double> finished = ends;
    for (const StageMessage &sum : tail.sums) {
      uint32_t from = shape.workerOf(sum.from), to = shape.workerOf(sum.to);
      if (from != to)
        ends[to] = std::max(ends[to], finished[from] + sum.seconds);
    }
    if (tail.hasBarrier)
      ends.assign(ends.size(), *llvm::max_element(ends));
    double seconds = 0;
    for (auto [end, optimizer] : llvm::zip(ends, optimizers))
      seconds = std::max(seconds, end + optimizer);
    return seconds;
  }

  const PipelineShape &shape;
  const PipelineWork &work;
  bool isSplit;
  uint32_t numUnits, numStages;
  std::vector<double> hop;    ///< from a stage to the next
  std::vector<bool> isLinked; ///< whether it feeds the next
  std::vector<double> head;   ///< before the first F of a stage
  std::vector<double> way;    ///< from the begin of an F to the end of its B, or I, at the least
  std::vector<double> sent;   ///< seconds of the messages of one F and its backward action
  std::vector<double> lastBackward;
};

} // namespace

double pipelineBound(const PipelineShape &shape, const PipelineWork &work, bool splitsBackward) {
  return Bound(shape, work, splitsBackward).seconds();
}

} // namespace apc
