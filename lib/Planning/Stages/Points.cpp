// From the choices of a space to lists of actions.
#include "Points.h"

#include "apc/Support/Error.h"

namespace apc {

llvm::Expected<const PipelineSchedule *> scheduleOf(const ScheduleChoice &choice) {
  if (choice.chunks)
    return findPipelineSchedule(choice.name, *choice.chunks);
  llvm::Expected<const PipelineSchedule *> single = findPipelineSchedule(choice.name, 1);
  if (single)
    return single;
  llvm::consumeError(single.takeError());
  return findPipelineSchedule(choice.name, 2);
}

std::vector<StagePoint> pointsOf(const StageProblem &problem, std::vector<std::string> &refused) {
  std::vector<StagePoint> points;
  for (size_t index = 0; index < problem.space.schedules.size(); ++index)
    for (size_t workersIndex = 0; workersIndex < problem.space.workers.size(); ++workersIndex) {
      const ScheduleChoice &choice = problem.space.schedules[index];
      const PipelineSchedule &schedule = *llvm::cantFail(scheduleOf(choice));
      PipelineCounts counts{.workers = problem.space.workers[workersIndex],
                            .microBatches = problem.microBatches,
                            .chunks = choice.chunks.value_or(schedule.leastChunks),
                            .warmUpFactor = choice.warmUpFactor};
      if (uint64_t(counts.workers) * counts.chunks > problem.numLayers()) {
        refused.push_back(llvm::formatv("{0} layers are too few for {1} stages", problem.numLayers(),
                                        uint64_t(counts.workers) * counts.chunks));
        continue;
      }
      llvm::Expected<ActionLists> lists = generateActions(schedule, counts);
      if (!lists) {
        refused.push_back(takeMessage(lists.takeError()).second);
        continue;
      }
      points.push_back({index, workersIndex, llvm::cantFail(PipelineSimulator::make(*lists)), schedule.splitsBackward});
    }
  return points;
}

} // namespace apc
