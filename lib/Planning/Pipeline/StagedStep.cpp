// Stages under a schedule: memory in flight, seconds by part, transfers, simulation.
#include "StagedStep.h"

#include "BalancedCuts.h"
#include "WorkerPools.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

StagedStep::StagedStep(const PlanningTask &whole, std::shared_ptr<const CutStep> step, Pool worker, int64_t chunks)
    : whole(whole), step(std::move(step)), worker(std::move(worker)),
      answers(whole, *this->step, this->worker, whole.memoryLimitBytes / chunks) {}

llvm::Expected<std::unique_ptr<StagedStep>> StagedStep::make(const PlanningTask &whole, int64_t workers, int64_t chunks,
                                                             bool splitsBackward) {
  std::optional<Pool> worker = poolOfWorker(whole.pool, workers);
  assert(worker && "the number of workers has been checked");
  auto cuts = balancedCuts(whole.graph, *worker, static_cast<size_t>(workers * chunks));
  if (!cuts)
    return cuts.takeError();
  llvm::Expected<CutStep> step = cutStep(whole.graph, *cuts, splitsBackward);
  if (!step)
    return step.takeError();
  auto shared = std::make_shared<const CutStep>(std::move(*step));
  return std::unique_ptr<StagedStep>(new StagedStep(whole, std::move(shared), std::move(*worker), chunks));
}

/// "forward": as plan.json has it.
static std::string timeName(TransferTime time) {
  switch (time) {
  case TransferTime::Forward:
    return "forward";
  case TransferTime::Backward:
    return "backward";
  case TransferTime::Step:
    return "step";
  }
  llvm_unreachable("every time has a name");
}

/// The bytes of the piece that a device of a stage takes of a value that arrives there.
static int64_t arrivingBytes(const CutStep &step, const StageAnswer &reader, unsigned stage, ValueId value) {
  const StageGraph &graph = step.stages[stage];
  auto here = llvm::find(graph.values, value);
  if (here == graph.values.end())
    return 0;
  const GraphValue &own = graph.graph.values[static_cast<size_t>(here - graph.values.begin())];
  const Candidate &candidate = *reader.candidate;
  Sharding sharding = resultSharding(graph.graph.ruleOf(own.producer), candidate.strategies[own.producer.index()], 0);
  return localShape(own.shape, sharding, candidate.mesh).bytes();
}

PlanTransfer StagedStep::transferOf(const PipelinePoint &point, const StageTransfer &transfer,
                                    llvm::ArrayRef<std::shared_ptr<const StageAnswer>> stages) const {
  PlanTransfer own{whole.graph.value(transfer.value).name, transfer.from, {}, timeName(transfer.time), transfer.bytes};
  own.to.assign(transfer.to.begin(), transfer.to.end());
  const PipelineShape &shape = point.lists.shape;
  unsigned to = transfer.to.front();
  uint32_t sender = shape.workerOf(transfer.from), reader = shape.workerOf(to);
  if (sender == reader)
    return own;
  int64_t devices = worker.numDevices();
  own.seconds = transferSeconds(whole.pool, worker, levelBetween(whole.pool, sender * devices, reader * devices),
                                transfer.bytes, arrivingBytes(*step, *stages[to], to, transfer.value));
  return own;
}

std::vector<PlanTransfer>
StagedStep::transfersOf(const PipelinePoint &point, llvm::ArrayRef<std::shared_ptr<const StageAnswer>> stages) const {
  std::vector<PlanTransfer> transfers;
  for (const StageTransfer &transfer : step->split.transfers)
    transfers.push_back(transferOf(point, transfer, stages));
  return transfers;
}

std::optional<double> expectedSeconds(const PipelinePoint &point, const PipelineAnswer &other) {
  assert(point.lists.shape.numStages() == other.stages.size() && "as many stages");
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(other.seconds, other.transfers));
  if (time)
    return time->stepSeconds;
  llvm::consumeError(time.takeError());
  return std::nullopt;
}

bool StagedStep::fits(const PipelinePoint &point, llvm::ArrayRef<std::shared_ptr<const StageAnswer>> stages) const {
  std::map<uint32_t, int64_t> bytes;
  for (auto [index, stage] : llvm::enumerate(stages))
    bytes[point.lists.shape.workerOf(static_cast<uint32_t>(index))] += stage->candidate->cost.memory.total();
  return llvm::all_of(bytes, [&](const auto &entry) { return entry.second <= whole.memoryLimitBytes; });
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
  answer.transfers = transfersOf(point, answer.stages);
  if (!fits(point, answer.stages))
    return PipelineTrial{std::nullopt, "the stages of a worker together need more than a device has"};
  llvm::Expected<PipelineTime> time = point.simulator.run(pipelineWork(answer.seconds, answer.transfers));
  if (!time)
    return time.takeError();
  answer.time = std::move(*time);
  return PipelineTrial{std::move(answer), ""};
}

} // namespace apc
