// The checks of a problem of stages.
#include "apc/Planning/Stages/StageProblem.h"

#include "Points.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace apc {

namespace {

/// Sums of bytes over layers and micro-batches stay below.
constexpr double mostBytes = 0x1p62;
/// Seconds of all layers, messages and micro-batches stay below; a step takes few times as long at the most.
constexpr double mostSeconds = 1e300;

constexpr uint32_t mostLayers = 4096;
/// The sum over all points of stages times micro-batches, or times layers where these are more.
constexpr uint64_t mostWork = 4'000'000;

std::array<double, 7> secondsOf(const StageWork &layer) {
  return {layer.forwardSeconds,           layer.inputGradientSeconds,     layer.weightGradientSeconds,
          layer.firstForwardExtraSeconds, layer.lastBackwardExtraSeconds, layer.gradientSyncSeconds,
          layer.optimizerSeconds};
}

llvm::Error checkLayers(const StageProblem &problem) {
  if (problem.numLayers() == 0)
    return inputError("there is no layer");
  if (problem.numLayers() > mostLayers)
    return inputError("there are {0} layers; {1} are the most", problem.numLayers(), mostLayers);
  double bytes = static_cast<double>(problem.inputBytes);
  for (const LayersOfWidth &one : problem.byWidth) {
    if (one.layers.size() != problem.numLayers())
      return inputError("width {0} has {1} layers, width {2} has {3}", one.width, one.layers.size(),
                        problem.byWidth.front().width, problem.numLayers());
    for (auto [index, layer] : llvm::enumerate(one.layers)) {
      for (double seconds : secondsOf(layer))
        if (!(seconds >= 0))
          return inputError("layer {0} of width {1} has {2} seconds; 0 or more are accepted", index, one.width,
                            seconds);
      for (int64_t each : {layer.activationBytes, layer.weightActivationBytes, layer.staticBytes}) {
        if (each < 0)
          return inputError("layer {0} of width {1} has {2} bytes; 0 or more are accepted", index, one.width, each);
        bytes += static_cast<double>(each);
      }
    }
  }
  if (problem.boundaryBytes.size() + 1 != problem.numLayers())
    return inputError("{0} layers have {1} boundaries, not {2}", problem.numLayers(), problem.numLayers() - 1,
                      problem.boundaryBytes.size());
  for (int64_t each : problem.boundaryBytes) {
    if (each < 0)
      return inputError("a boundary has {0} bytes; 0 or more are accepted", each);
    bytes += static_cast<double>(each);
  }
  if (problem.inputBytes < 0)
    return inputError("the input has {0} bytes; 0 or more are accepted", problem.inputBytes);
  if (bytes * problem.microBatches > mostBytes)
    return inputError("the bytes of all layers and micro-batches are too many to add up");
  return llvm::Error::success();
}

llvm::Error checkMessages(const StageProblem &problem) {
  for (const SkippingTensor &skip : problem.skips)
    if (skip.from >= skip.to || skip.to >= problem.numLayers() || skip.bytes < 0)
      return inputError(
          "a skip goes from layer {0} to layer {1} with {2} bytes; it must go to a later one of {3} layers", skip.from,
          skip.to, skip.bytes, problem.numLayers());
  if (!(problem.link.latencySeconds >= 0))
    return inputError("the link has a latency of {0} s; 0 or more are accepted", problem.link.latencySeconds);
  if (problem.link.bytesPerSecond && !(*problem.link.bytesPerSecond > 0))
    return inputError("the link has {0} bytes per second; more than 0 are accepted", *problem.link.bytesPerSecond);
  if (problem.tail && problem.tail->tied) {
    const TiedLayers &tied = *problem.tail->tied;
    if (std::max(tied.first, tied.second) >= problem.numLayers() || !(tied.seconds >= 0))
      return inputError("the tail ties the layers {0} and {1} for {2} s; there are {3} layers", tied.first, tied.second,
                        tied.seconds, problem.numLayers());
  }
  return llvm::Error::success();
}

/// All layers, messages and sums of a step one after the other.
double secondsInTurn(const StageProblem &problem) {
  double seconds = problem.tail && problem.tail->tied ? problem.tail->tied->seconds : 0;
  for (const LayersOfWidth &one : problem.byWidth)
    for (const StageWork &layer : one.layers)
      for (double each : secondsOf(layer))
        seconds += each * problem.microBatches;
  auto addMessage = [&](int64_t bytes) {
    const double rate = problem.link.bytesPerSecond.value_or(HUGE_VAL);
    seconds += (problem.link.latencySeconds + static_cast<double>(bytes) / rate) * problem.microBatches;
  };
  addMessage(problem.inputBytes);
  llvm::for_each(problem.boundaryBytes, addMessage);
  for (const SkippingTensor &skip : problem.skips)
    addMessage(skip.bytes);
  return seconds;
}

llvm::Error checkSpace(const StageProblem &problem) {
  const StageSpace &space = problem.space;
  if (space.workers.empty() || llvm::is_contained(space.workers, 0U))
    return inputError("the space needs numbers of workers, each 1 or more");
  if (space.schedules.empty())
    return inputError("the space needs a schedule");
  if (space.widths.empty() != !space.devices)
    return inputError("the space needs 'devices' with 'widths', and neither without the other");
  if (llvm::is_contained(space.widths, 0U))
    return inputError("a width is 1 or more");
  for (uint32_t width : space.widths.empty() ? std::vector<uint32_t>{1} : space.widths)
    if (llvm::none_of(problem.byWidth, [&](const LayersOfWidth &one) { return one.width == width; }))
      return inputError("the layers have no figures for width {0}", width);
  uint64_t work = 0;
  for (const ScheduleChoice &choice : space.schedules) {
    llvm::Expected<const PipelineSchedule *> schedule = scheduleOf(choice);
    if (!schedule)
      return schedule.takeError();
    if (choice.warmUpFactor && !(*schedule)->hasWarmUp)
      return inputError("schedule '{0}' has no warm-up to set", choice.name);
    if ((*schedule)->placement == Placement::Mirrored)
      return inputError("schedule '{0}' holds two copies of the model; its stages are not searched", choice.name);
    uint64_t chunks = choice.chunks.value_or((*schedule)->leastChunks);
    for (uint64_t workers : space.workers) {
      work += std::min<uint64_t>(workers * chunks, problem.numLayers()) *
              std::max(problem.microBatches, problem.numLayers());
      if (work > mostWork)
        return inputError("{0} schedules on {1} numbers of workers with {2} micro-batches and {3} layers are more than "
                          "can be searched at once",
                          space.schedules.size(), space.workers.size(), problem.microBatches, problem.numLayers());
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error StageProblem::check() const {
  if (microBatches == 0)
    return inputError("a step has 1 micro-batch or more");
  if (llvm::Error error = checkLayers(*this))
    return error;
  if (llvm::Error error = checkMessages(*this))
    return error;
  if (!(secondsInTurn(*this) <= mostSeconds))
    return inputError("the seconds of all layers, messages and micro-batches are too many to add up");
  return checkSpace(*this);
}

} // namespace apc
