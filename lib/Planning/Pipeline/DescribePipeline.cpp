// Stages, schedule and transfers as fields of a plan.
#include "DescribePipeline.h"

#include "../DescribePlan.h"
#include "../NameAxes.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

Plan describePipeline(const PlanningTask &whole, const PipelineAnswer &answer) {
  const PipelinePoint &point = answer.point;
  Plan plan;
  plan.request = whole.request;
  plan.pipeline = PlanPipeline{point.schedule->name.str(), point.counts.workers, point.counts.chunks,
                               answer.step->cuts,          answer.transfers,     answer.workers.unequalDevices()};
  for (auto [index, stage] : llvm::enumerate(answer.stages)) {
    ReasonedStage reasoned = describeStage(*stage->task, *stage->candidate, /*problem=*/nullptr);
    reasoned.stage.firstRank = answer.workers.firstRank(point.lists.shape.workerOf(static_cast<uint32_t>(index)));
    reasoned.stage.parts = answer.seconds[index];
    reasoned.stage.inFlight = answer.inFlight[index];
    if (point.counts.chunks > 1)
      reasoned.stage.memoryTogether = answer.memory[index];
    plan.devicesUsed =
        std::max(plan.devicesUsed, reasoned.stage.firstRank + devicesUsed(stage->graph, *stage->candidate));
    plan.isByMemory = plan.isByMemory || stage->isByMemory;
    plan.timing.problemSeconds += stage->problemSeconds;
    plan.timing.searchSeconds += stage->searchSeconds;
    plan.stages.push_back(std::move(reasoned.stage));
  }
  plan.stepSeconds = answer.time.stepSeconds;
  plan.memoryLimitBytes = whole.memoryLimitBytes;
  plan.deviceMemoryBytes = whole.pool.device.memoryBytes;
  plan.training = trainingOf(whole.graph, whole.request);
  return withRates(withTotals(std::move(plan)), whole.graph, whole.pool);
}

} // namespace apc
