// Each stage, what runs between them, and the memory of the workers.
#include "OfStage.h"

#include "apc/Driver/StagedProgram.h"

#include <map>
#include <set>

namespace apc {

/// The first rank of the worker whose stages need most memory together.
static int64_t fullestWorker(llvm::ArrayRef<StagePlan> plans) {
  std::map<int64_t, int64_t> bytes; // by first rank
  for (const StagePlan &plan : plans)
    bytes[plan.firstRank] += plan.memoryOfWorker().total();
  auto isLess = [](const auto &a, const auto &b) { return a.second < b.second; };
  return llvm::max_element(bytes, isLess)->first;
}

ProgramProof StagedProof::total(llvm::ArrayRef<StagePlan> plans) const {
  ProgramProof total;
  int64_t fullest = fullestWorker(plans);
  for (auto [stage, plan] : llvm::zip_equal(stages, plans)) {
    total.numOps += stage.numOps;
    total.numCollectives += stage.numCollectives;
    total.numSlices += stage.numSlices;
    total.numMasks += stage.numMasks;
    total.numFunctions += stage.numFunctions;
    total.parameterBytes += plan.firstRank == fullest ? stage.parameterBytes : 0;
  }
  for (int64_t bytes : transfers.peakBytes)
    total.peakBytes = std::max(total.peakBytes, bytes);
  return total;
}

/// The memory of each worker against what the plans of its stages say.
static llvm::Error checkWorkers(const Program &program, llvm::ArrayRef<StagePlan> plans, const TransferProof &proof) {
  for (auto [worker, list] : llvm::enumerate(program.workers)) {
    std::set<unsigned> stages;
    for (const ProgramAction &action : list)
      stages.insert(action.stage);
    int64_t planned = 0;
    for (unsigned stage : stages)
      planned += plans[stage].memoryOfWorker().total();
    if (proof.peakBytes[worker] > planned)
      return noPlanError("worker {0} needs {1} bytes with its micro-batches in flight; the plan says {2}", worker,
                         proof.peakBytes[worker], planned);
  }
  return llvm::Error::success();
}

llvm::Expected<StagedProof> verifyStages(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                                         const Program &program, llvm::ArrayRef<StagePlan> plans) {
  StagedProof proof;
  for (unsigned stage = 0; stage < plans.size(); ++stage) {
    mlir::OwningOpRef<mlir::ModuleOp> const &module = modules[stage];
    auto own = verifyStage(module.get(), program.stages[stage], plans[stage]);
    if (!own)
      return ofStage(stage, own.takeError());
    proof.stages.push_back(*own);
  }
  auto transfers = verifyTransfers(program);
  if (!transfers)
    return transfers.takeError();
  proof.transfers = std::move(*transfers);
  if (llvm::Error error = checkWorkers(program, plans, proof.transfers))
    return error;
  return proof;
}

} // namespace apc
