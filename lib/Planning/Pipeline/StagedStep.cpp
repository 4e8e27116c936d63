// Stages under a schedule: memory in flight, seconds by part, transfers, simulation.
#include "StagedStep.h"

#include "BalancedCuts.h"
#include "Transfers.h"
#include "Workers/WorkerMemory.h"
#include "Workers/WorkerPools.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

namespace apc {

StagedStep::StagedStep(const PlanningTask &whole, std::shared_ptr<const CutStep> step, WorkerPools workers,
                       std::shared_ptr<StagePatterns> patterns)
    : whole(whole), step(std::move(step)), workers(std::move(workers)),
      answers(whole, *this->step, this->workers, std::move(patterns)) {}

llvm::Expected<std::unique_ptr<StagedStep>> StagedStep::make(const PlanningTask &whole, WorkerPools workers,
                                                             llvm::ArrayRef<size_t> cuts, bool splitsBackward,
                                                             std::shared_ptr<StagePatterns> patterns) {
  llvm::Expected<CutStep> step = cutStep(whole.graph, cuts, splitsBackward);
  if (!step)
    return step.takeError();
  constexpr double perOp = 20'000; // nanoseconds, of the memory and the transfers behind it, too
  whole.spend(perOp * static_cast<double>(whole.graph.ops.size()));
  auto shared = std::make_shared<const CutStep>(std::move(*step));
  return std::unique_ptr<StagedStep>(new StagedStep(whole, std::move(shared), std::move(workers), std::move(patterns)));
}

/// By worker: the bytes of a device, with all its stages.
static std::map<uint32_t, int64_t> bytesOfWorkers(const PipelineAnswer &answer) {
  std::map<uint32_t, int64_t> bytes;
  for (auto [index, memory] : llvm::enumerate(answer.memory))
    bytes[answer.point.lists.shape.workerOf(static_cast<uint32_t>(index))] += memory.total();
  return bytes;
}

/// The worker whose stages together need most, the first of several, and what they need.
static std::pair<uint32_t, int64_t> fullestWorker(const PipelineAnswer &answer) {
  std::pair<uint32_t, int64_t> fullest{0, 0};
  for (const auto &[worker, needed] : bytesOfWorkers(answer))
    if (needed > fullest.second)
      fullest = {worker, needed};
  return fullest;
}

int64_t fullestBytes(const PipelineAnswer &answer) { return fullestWorker(answer).second; }

std::string StagedStep::shortage(const PipelineAnswer &answer) const {
  const auto [worker, needed] = fullestWorker(answer);
  if (needed <= whole.memoryLimitBytes)
    return "";
  return llvm::formatv("the stages of worker {0} together need {1} on a device, the limit is {2}", worker,
                       formatBytes(double(needed)), formatBytes(double(whole.memoryLimitBytes)));
}

llvm::Expected<PipelineTrial> StagedStep::assemble(const PipelinePoint &point,
                                                   const StageAnswers::Answers &stages) const {
  PipelineAnswer answer{point, step, {}, point.inFlight(), {}, {}, {}, {}, workers};
  std::vector<const Candidate *> candidates;
  for (const auto &[index, stage] : stages) {
    if (!stage->candidate)
      return PipelineTrial{std::nullopt, llvm::formatv("stage {0} with {1} in flight: {2}", index,
                                                       counted(answer.inFlight[index], "micro-batch"), stage->reason)
                                             .str()};
    candidates.push_back(&*stage->candidate);
    answer.stages.push_back(stage);
    answer.seconds.push_back(secondsByPart(stage->graph, step->stages[index].parts, *stage->candidate));
  }
  answer.memory = memoryTogether(point, *step, candidates, workers);
  answer.transfers = planTransfers(whole.pool, workers, point.lists.shape, *step, candidates);
  constexpr double perAction = 200; // nanoseconds
  whole.spend(perAction * static_cast<double>(point.counts.workers * point.counts.chunks * point.counts.microBatches));
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(point, answer.seconds, answer.transfers));
  if (!time)
    return time.takeError();
  answer.time = std::move(*time);
  std::string reason = shortage(answer);
  return PipelineTrial{std::move(answer), std::move(reason)};
}

llvm::Expected<PipelineTrial> StagedStep::plan(const PipelinePoint &point, MeshesToSearch meshes,
                                               std::optional<double> secondsToBeat) {
  llvm::Expected<PipelineTrial> trial = planWithin(point, meshes, secondsToBeat, MemoryShares::Together);
  if (!trial || trial->fits() || !trial->answer || point.counts.chunks == 1)
    return trial;
  llvm::Expected<PipelineTrial> smaller = planWithin(point, meshes, secondsToBeat, MemoryShares::Apart);
  return !smaller || smaller->fits() ? std::move(smaller) : std::move(trial);
}

llvm::Expected<PipelineTrial> StagedStep::searchUsual(const PipelinePoint &point, StageAnswers::Answers &followed,
                                                      double slack) const {
  constexpr unsigned mostRounds = 3;
  constexpr double little = 1.05;
  std::optional<StageAnswers::Answers> first;
  double part = 1;
  for (unsigned round = 0;; ++round) {
    llvm::Expected<StageAnswers::Answers> searched = answers.searchUsual(point, followed, slack, part);
    if (!searched)
      return searched.takeError();
    if (!first)
      first = *searched;
    llvm::Expected<PipelineTrial> trial = assemble(point, *searched);
    if (!trial || trial->fits())
      return trial;
    const int64_t bytes = trial->answer ? fullestBytes(*trial->answer) : std::numeric_limits<int64_t>::max();
    const double excess = static_cast<double>(bytes) / static_cast<double>(whole.memoryLimitBytes);
    if (excess > little || round + 1 == mostRounds) {
      followed = std::move(*first);
      return trial;
    }
    part /= excess;
  }
}

llvm::Expected<PipelineTrial> StagedStep::planWithin(const PipelinePoint &point, MeshesToSearch meshes,
                                                     std::optional<double> secondsToBeat, MemoryShares shares) {
  llvm::Expected<StageAnswers::Answers> followed = answers.followers(point, shares);
  if (!followed)
    return followed.takeError();
  double slack = std::numeric_limits<double>::max();
  if (!followed->empty()) {
    llvm::Expected<PipelineTrial> trial = assemble(point, *followed);
    if (!trial || trial->fits())
      return trial;
    slack = secondsToBeat ? *secondsToBeat / trial->answer->time.stepSeconds : slack;
    llvm::Expected<PipelineTrial> usual = searchUsual(point, *followed, slack);
    if (!usual || usual->fits())
      return usual;
  }
  llvm::Expected<StageAnswers::Answers> stages = answers.firstAnswers(point, meshes, *followed, slack, shares);
  if (!stages)
    return stages.takeError();
  return assemble(point, *stages);
}

llvm::Expected<std::optional<PipelineAnswer>> StagedStep::follow(const PipelinePoint &point) {
  llvm::Expected<StageAnswers::Answers> followed = answers.followers(point, MemoryShares::Together);
  if (!followed)
    return followed.takeError();
  if (followed->empty())
    return std::nullopt;
  llvm::Expected<PipelineTrial> trial = assemble(point, *followed);
  if (!trial)
    return trial.takeError();
  return std::move(trial->answer);
}

llvm::Expected<PipelineTrial> StagedStep::planBy(const PipelinePoint &point, AnswerStage answerStage,
                                                 AnswersShared shared) const {
  llvm::Expected<StageAnswers::Answers> stages = answers.answersBy(point, answerStage, shared);
  if (!stages)
    return stages.takeError();
  return assemble(point, *stages);
}

llvm::Expected<PipelineAnswer> StagedStep::prove(PipelineAnswer first) const {
  StageAnswers::Answers known;
  for (auto [index, stage] : llvm::enumerate(first.stages))
    known[static_cast<unsigned>(index)] = stage;
  llvm::Expected<StageAnswers::Answers> stages = answers.proofs(first.point, known);
  if (!stages)
    return stages.takeError();
  llvm::Expected<PipelineTrial> proven = assemble(first.point, *stages);
  if (!proven)
    return proven.takeError();
  bool isBetter = proven->fits() && proven->answer->time.stepSeconds <= first.time.stepSeconds;
  return isBetter ? std::move(*proven->answer) : std::move(first);
}

} // namespace apc
