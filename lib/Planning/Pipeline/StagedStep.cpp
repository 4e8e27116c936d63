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
                       StageAnswers::Answer pattern)
    : whole(whole), step(std::move(step)), worker(std::move(worker)),
      answers(whole, *this->step, this->worker, whole.memoryLimitBytes / chunks, std::move(pattern)) {}

llvm::Expected<std::unique_ptr<StagedStep>> StagedStep::make(const PlanningTask &whole, int64_t workers, int64_t chunks,
                                                             bool splitsBackward, const StageAnswers::Answer &pattern) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  auto cuts = balancedCuts(whole.graph, *worker, static_cast<size_t>(workers * chunks));
  if (!cuts)
    return cuts.takeError();
  llvm::Expected<CutStep> step = cutStep(whole.graph, *cuts, splitsBackward);
  if (!step)
    return step.takeError();
  auto shared = std::make_shared<const CutStep>(std::move(*step));
  return std::unique_ptr<StagedStep>(new StagedStep(whole, std::move(shared), std::move(*worker), chunks, pattern));
}

std::optional<double> expectedSeconds(const PipelinePoint &point, const PipelineAnswer &other) {
  assert(point.lists.shape.numStages() == other.stages.size() && "as many stages");
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(other.seconds, other.transfers));
  if (time)
    return time->stepSeconds;
  llvm::consumeError(time.takeError());
  return std::nullopt;
}

bool StagedStep::fits(const PipelinePoint &point, const StageAnswers::Answers &stages) const {
  std::map<uint32_t, int64_t> bytes;
  for (const auto &[index, stage] : stages)
    bytes[point.lists.shape.workerOf(index)] += stage->candidate->cost.memory.total();
  return llvm::all_of(bytes, [&](const auto &entry) { return entry.second <= whole.memoryLimitBytes; });
}

llvm::Expected<PipelineTrial> StagedStep::assemble(const PipelinePoint &point, std::vector<int64_t> inFlight,
                                                   const StageAnswers::Answers &stages) const {
  PipelineAnswer answer{point, step, stages, std::move(inFlight), {}, {}, {}};
  std::vector<const Candidate *> candidates;
  for (const auto &[index, stage] : stages) {
    if (!stage->candidate)
      return PipelineTrial{std::nullopt, llvm::formatv("stage {0} with {1} in flight: {2}", index,
                                                       counted(answer.inFlight[index], "micro-batch"), stage->reason)
                                             .str()};
    candidates.push_back(&*stage->candidate);
    answer.seconds.push_back(secondsByPart(stage->graph, step->stages[index].parts, *stage->candidate));
  }
  answer.transfers = planTransfers(whole.graph, whole.pool, worker, point.lists.shape, *step, candidates);
  if (!fits(point, stages))
    return PipelineTrial{std::nullopt, "the stages of a worker together need more than a device has"};
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(answer.seconds, answer.transfers));
  if (!time)
    return time.takeError();
  answer.time = std::move(*time);
  return PipelineTrial{std::move(answer), ""};
}

llvm::Expected<PipelineTrial> StagedStep::plan(const PipelinePoint &point, MeshesToSearch meshes) {
  std::vector<int64_t> inFlight = point.inFlight();
  llvm::Expected<StageAnswers::Answers> stages = answers.firstAnswers(inFlight, meshes);
  if (!stages)
    return stages.takeError();
  return assemble(point, std::move(inFlight), *stages);
}

llvm::Expected<PipelineAnswer> StagedStep::prove(PipelineAnswer first) const {
  llvm::Expected<StageAnswers::Answers> stages = answers.proofs(first.inFlight, first.stages);
  if (!stages)
    return stages.takeError();
  llvm::Expected<PipelineTrial> proven = assemble(first.point, first.inFlight, *stages);
  if (!proven)
    return proven.takeError();
  bool isBetter = proven->answer && proven->answer->time.stepSeconds <= first.time.stepSeconds;
  return isBetter ? std::move(*proven->answer) : std::move(first);
}

} // namespace apc
