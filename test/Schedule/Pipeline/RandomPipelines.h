// Random pipelines with whole numbers, whose sums are exact.
#pragma once

#include "EqualWorkers.h"

#include <random>

namespace apc {

struct RandomPipeline {
  const PipelineSchedule *schedule;
  ActionLists lists;
  PipelineWork work;
};

inline StageWork randomStage(std::mt19937_64 &random) {
  auto draw = [&](uint64_t most) { return static_cast<double>(random() % (most + 1)); };
  StageWork stage;
  stage.forwardSeconds = 1 + draw(20);
  stage.inputGradientSeconds = 1 + draw(20);
  stage.weightGradientSeconds = draw(20);
  stage.firstForwardExtraSeconds = draw(5);
  stage.lastBackwardExtraSeconds = draw(5);
  stage.gradientSyncSeconds = draw(30);
  stage.optimizerSeconds = draw(10);
  stage.activationBytes = 10 + static_cast<int64_t>(random() % 20);
  stage.weightActivationBytes = static_cast<int64_t>(random() % 10);
  stage.inputBytes = static_cast<int64_t>(random() % 10);
  stage.staticBytes = static_cast<int64_t>(random() % 100);
  stage.isRecomputed = random() % 4 == 0;
  return stage;
}

/// Any schedule, random stages, chain and skips, every kind of link and tail.
inline RandomPipeline randomPipeline(std::mt19937_64 &random) {
  for (;;) {
    const PipelineSchedule &schedule = allPipelineSchedules()[random() % allPipelineSchedules().size()];
    PipelineCounts counts;
    counts.workers = 1 + random() % 5;
    counts.microBatches = 1 + random() % 10;
    counts.chunks = schedule.leastChunks + random() % std::min(3U, schedule.mostChunks - schedule.leastChunks + 1);
    if (schedule.hasPieces)
      counts.pieces = 1 + random() % 3;
    llvm::Expected<ActionLists> lists = generateActions(schedule, counts);
    if (!lists) {
      llvm::consumeError(lists.takeError());
      continue;
    }
    RandomPipeline pipeline{&schedule, std::move(*lists), {}};
    uint32_t numStages = pipeline.lists.shape.numStages();
    PipelineWork &work = pipeline.work;
    while (work.stages.size() < numStages)
      work.stages.push_back(randomStage(random));
    work.messages = chainMessages(pipeline.lists.shape, 0);
    for (size_t skip = random() % 3; skip > 0 && schedule.placement != Placement::Mirrored && numStages > 1; --skip) {
      uint32_t from = random() % (numStages - 1);
      work.messages.push_back({from, static_cast<uint32_t>(from + 1 + random() % (numStages - 1 - from)), 0});
    }
    for (StageMessage &message : work.messages)
      message.seconds = static_cast<double>(random() % 9);
    work.linkMode = static_cast<LinkMode>(random() % 3);
    work.pairShare = static_cast<double>(random() % 3) / 2;
    if (random() % 2) {
      PipelineTail &tail = work.tail.emplace();
      tail.overlapsSync = random() % 2;
      tail.hasBarrier = random() % 2;
      if (random() % 2)
        tail.tied = TiedStages{0, numStages - 1, static_cast<double>(random() % 20)};
      for (size_t sum = random() % 4; sum > 0; --sum)
        tail.sums.push_back({static_cast<uint32_t>(random() % numStages), static_cast<uint32_t>(random() % numStages),
                             static_cast<double>(random() % 40)});
    }
    return pipeline;
  }
}

} // namespace apc
