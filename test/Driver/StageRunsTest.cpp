// Stages run under pipeline schedules, one rank each, beside the whole step.
#include "../ValueOf.h"
#include "StagedSteps.h"

#include "apc/Schedule/Pipeline/Schedules.h"

using namespace apc;

namespace {

unsigned checkSchedules(const TinyStep &tiny, uint32_t workers) {
  INFO(tiny.model);
  ImportedStep step = importedStep(requestOfStep(tiny));
  auto microBatches = static_cast<uint32_t>(tiny.globalBatch / tiny.microBatch);
  unsigned numRun = 0;
  for (const PipelineSchedule &schedule : allPipelineSchedules())
    for (uint32_t chunks : {1U, 2U}) {
      PipelineCounts counts{workers, microBatches, chunks};
      if (schedule.placement == Placement::Mirrored || chunks < schedule.leastChunks || chunks > schedule.mostChunks ||
          !schedule.accepts(counts))
        continue;
      CutModule cut = cutModule(step, evenCuts(step.graph, workers * chunks));
      INFO(schedule.name.str() << ", " << workers << " workers, " << chunks << " chunks, " << microBatches
                               << " micro-batches");
      checkRun(step, wholeStages(cut, valueOf(generateActions(schedule, counts)), schedule.splitsBackward));
      ++numRun;
    }
  return numRun;
}

} // namespace

TEST_CASE("Stages of the tiny GPT compute the step under every schedule") {
  CHECK(checkSchedules({.model = "gpt", .microBatch = 1, .globalBatch = 4}, 2) >= 10);
  CHECK(checkSchedules({.model = "gpt", .microBatch = 1, .globalBatch = 8}, 2) >= 10);
  CHECK(checkSchedules({.model = "gpt", .microBatch = 1, .globalBatch = 8}, 4) >= 10);
}

TEST_CASE("Stages of tiny models compute the step: skips, shared weights, statistics, recomputation") {
  for (const char *model : tinyModels)
    for (RecomputeChoice recompute : {RecomputeChoice::None, RecomputeChoice::Full})
      for (const char *name : {"1f1b", "zb-h1", "interleaved"}) {
        INFO(model << ", " << name);
        uint32_t chunks = name == std::string("interleaved") ? 2 : 1;
        TinyStep tiny{.model = model, .recompute = recompute, .microBatch = 1, .globalBatch = 4};
        ImportedStep step = importedStep(requestOfStep(tiny));
        CutModule cut = cutModule(step, evenCuts(step.graph, 2 * chunks));
        const PipelineSchedule &schedule = *valueOf(findPipelineSchedule(name, chunks));
        checkRun(step, wholeStages(cut, valueOf(generateActions(schedule, {2, 4, chunks})), schedule.splitsBackward));
      }
}

TEST_CASE("A step of one micro-batch, and one in lower precision, run in stages") {
  for (const TinyStep &tiny :
       {TinyStep{.model = "gpt", .microBatch = 4}, TinyStep{.model = "t5", .microBatch = 4, .clipNorm = {}},
        TinyStep{.model = "gpt", .optimizer = OptimizerChoice::Momentum, .precision = PrecisionChoice::Fp16},
        TinyStep{.model = "llama", .precision = PrecisionChoice::Bf16, .microBatch = 1}}) {
    INFO(tiny.model);
    ImportedStep step = importedStep(requestOfStep(tiny));
    auto microBatches = static_cast<uint32_t>(tiny.globalBatch / tiny.microBatch);
    CutModule cut = cutModule(step, evenCuts(step.graph, 2));
    for (const char *name : {"1f1b", "gpipe"}) {
      INFO(name);
      const PipelineSchedule &schedule = *valueOf(findPipelineSchedule(name));
      checkRun(step, wholeStages(cut, valueOf(generateActions(schedule, {2, microBatches})), schedule.splitsBackward));
    }
  }
}
