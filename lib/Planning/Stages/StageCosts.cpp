// Sums over layers, and the work of candidates.
#include "StageCosts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

constexpr double StageWork::*allSeconds[] = {&StageWork::forwardSeconds,           &StageWork::inputGradientSeconds,
                                             &StageWork::weightGradientSeconds,    &StageWork::firstForwardExtraSeconds,
                                             &StageWork::lastBackwardExtraSeconds, &StageWork::gradientSyncSeconds,
                                             &StageWork::optimizerSeconds};
constexpr int64_t StageWork::*allBytes[] = {&StageWork::activationBytes, &StageWork::weightActivationBytes,
                                            &StageWork::staticBytes};

} // namespace

StageCosts::StageCosts(const StageProblem &problem) : problem(problem), spaceWidths(problem.space.widths) {
  if (spaceWidths.empty())
    spaceWidths = {1};
  widest = *llvm::max_element(spaceWidths);
  for (uint32_t width : spaceWidths) {
    auto found = llvm::find_if(problem.byWidth, [&](const LayersOfWidth &one) { return one.width == width; });
    std::vector<StageWork> &sum = sums.emplace_back(1);
    for (const StageWork &layer : found->layers) {
      StageWork next = sum.back();
      for (auto member : allSeconds)
        next.*member += layer.*member;
      for (auto member : allBytes)
        next.*member += layer.*member;
      sum.push_back(next);
    }
  }
  leastSums.emplace_back();
  for (uint32_t layer = 0; layer < problem.numLayers(); ++layer) {
    StageWork next = leastSums.back(), own = least(layer, layer + 1);
    for (auto member : allSeconds)
      next.*member += own.*member;
    leastSums.push_back(next);
  }
}

StageWork StageCosts::leastApart(uint32_t first, uint32_t last) const {
  StageWork own;
  for (auto member : allSeconds)
    own.*member = leastSums[last].*member - leastSums[first].*member;
  return own;
}

StageWork StageCosts::stage(uint32_t width, uint32_t first, uint32_t last) const {
  const std::vector<StageWork> &sum = sums[width];
  StageWork stage = sum[last];
  for (auto member : allSeconds)
    stage.*member -= sum[first].*member;
  for (auto member : allBytes)
    stage.*member -= sum[first].*member;
  if (first < last)
    stage.inputBytes = first == 0 ? problem.inputBytes : problem.boundaryBytes[first - 1];
  return stage;
}

StageWork leastOf(const StageWork &a, const StageWork &b) {
  StageWork least = a;
  for (auto member : allSeconds)
    least.*member = std::min(a.*member, b.*member);
  for (auto member : allBytes)
    least.*member = std::min(a.*member, b.*member);
  return least;
}

StageWork StageCosts::least(uint32_t first, uint32_t last) const {
  StageWork least = stage(0, first, last);
  for (uint32_t width = 1; width < spaceWidths.size(); ++width)
    least = leastOf(least, stage(width, first, last));
  return least;
}

StageWork StageCosts::stageOf(const PipelineShape &shape, const PartialChoice &partial, uint32_t index, For use) const {
  uint32_t first = index == 0 ? 0 : partial.ends[index - 1], worker = shape.workerOf(index);
  bool hasWidth = worker < partial.widths.size();
  StageWork work =
      hasWidth ? stage(partial.widths[worker], first, partial.ends[index]) : least(first, partial.ends[index]);
  if (index < partial.recompute.size()) {
    work.isRecomputed = partial.recompute[index];
  } else if (use == For::Memory && problem.space.recompute) {
    // Recomputed, or not where its input is larger than all that it keeps.
    work.isRecomputed = true;
    work.inputBytes = std::min(work.inputBytes, work.activationBytes);
  }
  return work;
}

double StageCosts::messageSeconds(int64_t bytes, uint32_t width) const {
  const StageLink &link = problem.link;
  if (!link.bytesPerSecond)
    return link.latencySeconds;
  return link.latencySeconds + std::ceil(static_cast<double>(bytes) / (*link.bytesPerSecond * width));
}

PipelineWork StageCosts::workOf(const PipelineShape &shape, const PartialChoice &partial) const {
  PipelineWork work;
  for (uint32_t stage = 0; stage < shape.numStages(); ++stage)
    work.stages.push_back(stageOf(shape, partial, stage, For::Time));
  auto stageWith = [&](uint32_t layer) {
    return static_cast<uint32_t>(llvm::upper_bound(partial.ends, layer) - partial.ends.begin());
  };
  auto widthOf = [&](uint32_t stage) {
    uint32_t worker = shape.workerOf(stage);
    return worker < partial.widths.size() ? spaceWidths[partial.widths[worker]] : widest;
  };
  auto send = [&](uint32_t from, uint32_t to, int64_t bytes) {
    work.messages.push_back({from, to, messageSeconds(bytes, std::min(widthOf(from), widthOf(to)))});
  };
  for (uint32_t stage = 0; stage + 1 < shape.numStages(); ++stage)
    send(stage, stage + 1, problem.boundaryBytes[partial.ends[stage] - 1]);
  for (const SkippingTensor &skip : problem.skips)
    if (uint32_t from = stageWith(skip.from), to = stageWith(skip.to); from != to)
      send(from, to, skip.bytes);
  work.linkMode = problem.link.mode;
  if (problem.tail) {
    work.tail = PipelineTail{.overlapsSync = problem.tail->overlap, .hasBarrier = problem.tail->barrier};
    if (const std::optional<TiedLayers> &tied = problem.tail->tied)
      work.tail->tied = TiedStages{stageWith(tied->first), stageWith(tied->second), tied->seconds};
  }
  return work;
}

} // namespace apc
