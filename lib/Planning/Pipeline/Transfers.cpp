// Boxes over links, and the pieces that readers hold.
#include "Transfers.h"

#include "Workers/WorkerPools.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

double transferSeconds(const Pool &pool, TransferEnds ends, unsigned level, int64_t bytes, int64_t local) {
  const int64_t readers = ends.reader.numDevices(), devices = std::min(ends.sender.numDevices(), readers);
  GroupSpan between{{{level, 2}}}, inside;
  for (auto [index, own] : llvm::enumerate(ends.reader.levels))
    if (own.size > 1)
      inside.parts.push_back({static_cast<unsigned>(index), own.size});
  auto send = [&](int64_t amount) { return collectiveSeconds(CollectiveKind::Permute, between, amount, pool); };
  double whole = send(local * ((readers + devices - 1) / devices));
  int64_t spread = (bytes + devices - 1) / devices;
  if (spread >= local)
    return whole;
  return std::min(whole, send(spread) + collectiveSeconds(CollectiveKind::AllGather, inside, local, ends.reader));
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

/// The bytes of the piece that a device of the reader takes.
static int64_t arrivingBytes(const StageGraph &stage, const Candidate &reader, ValueId value) {
  auto here = llvm::find(stage.values, value);
  assert(here != stage.values.end() && "a stage has what it reads");
  const GraphValue &own = stage.graph.values[static_cast<size_t>(here - stage.values.begin())];
  Sharding sharding = resultSharding(stage.graph.ruleOf(own.producer), reader.strategies[own.producer.index()], 0);
  return localShape(own.shape, sharding, reader.mesh).bytes();
}

std::vector<PlanTransfer> planTransfers(const Pool &pool, const WorkerPools &workers, const PipelineShape &shape,
                                        const CutStep &step, llvm::ArrayRef<const Candidate *> candidates) {
  std::vector<PlanTransfer> transfers;
  auto secondsTo = [&](unsigned to, const StageTransfer &transfer) {
    uint32_t sender = shape.workerOf(transfer.from), reader = shape.workerOf(to);
    if (sender == reader)
      return 0.0;
    return transferSeconds(pool, {workers.pool(sender), workers.pool(reader)},
                           levelBetween(pool, workers.firstRank(sender), workers.firstRank(reader)), transfer.bytes,
                           arrivingBytes(step.stages[to], *candidates[to], transfer.value));
  };
  for (const StageTransfer &transfer : step.split.transfers)
    for (unsigned to : transfer.to) {
      const int64_t times = transfer.time == TransferTime::Step ? 1 : step.graph.copies;
      transfers.push_back({step.graph.value(transfer.value).name,
                           transfer.from,
                           {to},
                           timeName(transfer.time),
                           transfer.bytes,
                           static_cast<double>(times) * secondsTo(to, transfer)});
    }
  return transfers;
}

} // namespace apc
