// How many actions of a pipeline's schedule are generated and simulated in a second.
#include "OwnProcess.h"

#include "apc/Schedule/Pipeline/PipelineBounds.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"

#include <algorithm>
#include <chrono>

using namespace apc;

namespace {

/// The median seconds of so many runs.
double medianSeconds(size_t runs, llvm::function_ref<void()> run) {
  std::vector<double> seconds;
  for (size_t index = 0; index < runs; ++index) {
    auto start = std::chrono::steady_clock::now();
    run();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

PipelineWork workOf(const PipelineShape &shape, LinkMode mode) {
  PipelineWork work;
  for (uint32_t stage = 0; stage < shape.numStages(); ++stage)
    work.stages.push_back({.forwardSeconds = 1.0 + stage % 3,
                           .inputGradientSeconds = 1.5,
                           .weightGradientSeconds = 1,
                           .activationBytes = 10,
                           .weightActivationBytes = 3});
  work.messages = chainMessages(shape, 0.1);
  work.linkMode = mode;
  return work;
}

std::vector<std::string> measure(const PipelineSchedule &schedule, const PipelineCounts &counts, LinkMode mode) {
  llvm::Expected<ActionLists> lists = generateActions(schedule, counts);
  if (!lists)
    return {takeMessage(lists.takeError()).second};
  size_t numActions = 0;
  for (const std::vector<Slot> &slots : lists->workers)
    for (const Slot &slot : slots)
      numActions += slot.beside ? 2 : 1;
  PipelineWork work = workOf(lists->shape, mode);
  PipelineSimulator simulator = llvm::cantFail(PipelineSimulator::make(*lists));
  double step = 0;
  double generate = medianSeconds(11, [&] { llvm::cantFail(generateActions(schedule, counts)); });
  double simulate = medianSeconds(21, [&] { step += llvm::cantFail(simulator.run(work)).stepSeconds; });
  double bound = medianSeconds(21, [&] { step += pipelineBound(lists->shape, work, schedule.splitsBackward); });
  return {std::to_string(numActions),
          formatSeconds(generate),
          formatSeconds(simulate),
          formatSeconds(bound),
          formatCount(static_cast<double>(numActions) / simulate),
          peakMemory()};
}

} // namespace

/// Every schedule with 8 and with 512 micro-batches a worker on 4 and 16 workers, whose links are busy.
int main() {
  TextTable table;
  table.addColumn("schedule");
  for (const char *title :
       {"workers", "micro-batches", "actions", "generate", "simulate", "bound", "actions/s", "memory"})
    table.addColumn(title, TextTable::Align::Right);
  for (const PipelineSchedule &schedule : allPipelineSchedules())
    for (uint32_t workers : {4, 16})
      for (uint32_t microBatches : {8 * workers, 512 * workers}) {
        PipelineCounts counts{workers, microBatches, schedule.leastChunks};
        std::vector<std::string> row = {schedule.name.str(), std::to_string(workers), std::to_string(microBatches)};
        llvm::append_range(row, inOwnProcess([&] { return measure(schedule, counts, LinkMode::Link); }));
        table.addRow(std::move(row));
      }
  table.print(llvm::outs());
  return 0;
}
