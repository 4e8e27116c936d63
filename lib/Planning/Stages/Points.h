// The points of a space of stages: a schedule on a number of workers, with its lists.
#pragma once

#include "apc/Planning/Stages/SearchStages.h"
#include "apc/Schedule/Pipeline/Schedules.h"

namespace apc {

/// The row of a choice, with the fewest chunks where it names none.
llvm::Expected<const PipelineSchedule *> scheduleOf(const ScheduleChoice &choice);

struct StagePoint {
  size_t schedule;     ///< in the space
  size_t workersIndex; ///< in the space
  PipelineSimulator simulator;
  bool splitsBackward;
  const PipelineShape &shape() const { return simulator.getShape(); }
};

/// All points whose schedule takes their numbers and whose stages are no more than the layers, in the order of the
/// space. `refused` gets a line for each of the others.
std::vector<StagePoint> pointsOf(const StageProblem &problem, std::vector<std::string> &refused);

} // namespace apc
