// Stages under a schedule: memory in flight, seconds by part, transfers, simulation.
#include "StagedStep.h"

#include "BalancedCuts.h"
#include "Transfers.h"
#include "WorkerPools.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

StagedStep::StagedStep(const PlanningTask &whole, std::shared_ptr<const CutStep> step, Pool worker, int64_t chunks,
                       AnswerStage answerStage)
    : whole(whole), step(std::move(step)), worker(std::move(worker)),
      answers(whole, *this->step, this->worker, whole.memoryLimitBytes / chunks, std::move(answerStage)) {}

llvm::Expected<std::unique_ptr<StagedStep>> StagedStep::make(const PlanningTask &whole, int64_t workers, int64_t chunks,
                                                             bool splitsBackward) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  auto cuts = balancedCuts(whole.graph, *worker, static_cast<size_t>(workers * chunks));
  return cuts ? make(whole, workers, *cuts, splitsBackward, searchStage) : cuts.takeError();
}

llvm::Expected<std::unique_ptr<StagedStep>> StagedStep::make(const PlanningTask &whole, int64_t workers,
                                                             llvm::ArrayRef<size_t> cuts, bool splitsBackward,
                                                             AnswerStage answerStage) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  llvm::Expected<CutStep> step = cutStep(whole.graph, cuts, splitsBackward);
  if (!step)
    return step.takeError();
  int64_t chunks = static_cast<int64_t>(step->stages.size()) / workers;
  auto shared = std::make_shared<const CutStep>(std::move(*step));
  return std::unique_ptr<StagedStep>(
      new StagedStep(whole, std::move(shared), std::move(*worker), chunks, std::move(answerStage)));
}

std::optional<double> expectedSeconds(const PipelinePoint &point, const PipelineAnswer &other) {
  assert(point.lists.shape.numStages() == other.stages.size() && "as many stages");
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(other.seconds, other.transfers));
  if (time)
    return time->stepSeconds;
  llvm::consumeError(time.takeError());
  return std::nullopt;
}

std::string StagedStep::shortage(const PipelinePoint &point,
                                 llvm::ArrayRef<std::shared_ptr<const StageAnswer>> stages) const {
  std::map<uint32_t, int64_t> bytes;
  for (auto [index, stage] : llvm::enumerate(stages))
    bytes[point.lists.shape.workerOf(static_cast<uint32_t>(index))] += stage->candidate->cost.memory.total();
  for (const auto &[worker, needed] : bytes)
    if (needed > whole.memoryLimitBytes)
      return llvm::formatv("the stages of worker {0} together need {1} on a device, the limit is {2}", worker,
                           formatBytes(double(needed)), formatBytes(double(whole.memoryLimitBytes)));
  return "";
}

llvm::Expected<PipelineTrial> StagedStep::plan(const PipelinePoint &point) {
  PipelineAnswer answer{point, step, {}, point.inFlight(), {}, {}, {}};
  size_t numStages = step->stages.size();
  for (unsigned stage = 0; stage < numStages; ++stage) {
    auto own = answers.answer(stage, answer.inFlight[stage], numStages - stage);
    if (!own)
      return own.takeError();
    if (!(*own)->candidate)
      return PipelineTrial{std::nullopt, llvm::formatv("stage {0} with {1} in flight: {2}", stage,
                                                       counted(answer.inFlight[stage], "micro-batch"), (*own)->reason)
                                             .str()};
    answer.stages.push_back(*own);
    answer.seconds.push_back(secondsByPart((*own)->graph, step->stages[stage].parts, *(*own)->candidate));
  }
  std::vector<const Candidate *> candidates;
  for (const auto &stage : answer.stages)
    candidates.push_back(&*stage->candidate);
  answer.transfers = planTransfers(whole.graph, whole.pool, worker, point.lists.shape, *step, candidates);
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(answer.seconds, answer.transfers));
  if (!time)
    return time.takeError();
  answer.time = std::move(*time);
  std::string reason = shortage(point, answer.stages);
  return PipelineTrial{std::move(answer), std::move(reason)};
}

} // namespace apc
