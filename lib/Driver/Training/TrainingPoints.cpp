// Micro-batches and policies that a request leaves open.
#include "TrainingPoints.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

llvm::Expected<std::vector<PlanRequest>> microBatchRequests(const PlanRequest &request) {
  PlanRequest own = request;
  const int64_t copies = copiesOf(request);
  if (!own.globalBatch && !own.microBatch && copies == 1)
    return std::vector<PlanRequest>{own};
  if (!own.globalBatch) {
    PlanRequest asExported = request;
    asExported.microBatch.reset();
    auto batch = exportedBatch(asExported);
    if (!batch)
      return batch.takeError();
    own.globalBatch = *batch;
  }
  if (own.microBatch)
    return std::vector<PlanRequest>{own};
  std::vector<PlanRequest> requests;
  for (int64_t size = *own.globalBatch; size >= 1; --size)
    if (*own.globalBatch % size == 0 && size % copies == 0) {
      own.microBatch = size;
      requests.push_back(own);
    }
  if (requests.empty())
    return inputError("--copies {0}: no micro-batch of a global batch of {1} can be cut into {0} equal copies; "
                      "accepted are divisors of the global batch",
                      copies, *own.globalBatch);
  return requests;
}

bool hasOpenMicroBatches(const PlanRequest &request) { return request.globalBatch && !request.microBatch; }

std::vector<RecomputeSetting> policiesOf(const PlanRequest &request) {
  if (!(request.recompute == RecomputeChoice::Auto))
    return {request.recompute};
  return {RecomputeChoice::None, RecomputeChoice::Norms,    RecomputeChoice::Attention,
          RecomputeChoice::Mlp,  RecomputeChoice::Branches, RecomputeChoice::Full};
}

std::string describePoint(const PlanRequest &own, bool isPolicyChosen) {
  std::vector<std::string> texts;
  if (own.pipeline.isOn())
    texts.push_back(llvm::formatv("{0} workers", own.pipeline.str()));
  if (own.microBatch)
    texts.push_back(llvm::formatv("{0} of {1}", counted(microBatchesOf(own), "micro-batch"), *own.microBatch).str());
  if (copiesOf(own) > 1)
    texts.push_back(llvm::formatv("{0} copies", copiesOf(own)));
  if (isPolicyChosen)
    texts.push_back("recompute " + own.recompute.str());
  return llvm::join(texts, ", ");
}

std::vector<TriedPoint> triedOf(const Plan &plan) {
  return plan.tried.empty() ? std::vector<TriedPoint>{triedPointOf(plan)} : plan.tried;
}

Plan withBestTried(Plan plan, bool isStopped) {
  TriedPoint own = triedPointOf(plan);
  for (TriedPoint &point : plan.tried)
    if (point.isPointOf(own)) {
      own.isQuick = point.isQuick;
      point = own;
    }
  plan.numTried = static_cast<int64_t>(plan.tried.size());
  plan.tried = bestTried(std::move(plan.tried));
  if (isStopped && !llvm::is_contained(plan.notes, stoppedNote()))
    plan.notes.push_back(stoppedNote());
  return plan;
}

PlanRank rankOf(const Plan &plan) {
  PlanRank rank{plan.stepSeconds, plan.memory.total(), 0, plan.devicesUsed};
  for (const StagePlan &stage : plan.stages)
    for (const PlanMove &move : stage.moves)
      rank.collectives += static_cast<int64_t>(move.collectives.size());
  return rank;
}

std::string noteOnMoreMicroBatches(double leastSeconds, SearchEnd why) {
  if (leastSeconds > 0)
    return "more micro-batches take at least " + formatSeconds(leastSeconds);
  if (why == SearchEnd::Finished)
    return "more micro-batches were not tried, and no bound of their seconds is known";
  llvm::StringRef end = why == SearchEnd::Interrupt ? "the search was stopped" : "the time was over";
  return (end + " before more micro-batches were tried or bounded").str();
}

/// Notes on the gap of a plan beside the points around it, of which \p gap is left.
static void tellOwnGap(std::vector<std::string> &notes, double gap, bool isProven) {
  auto isOfGap = [](llvm::StringRef note) { return note.starts_with("a gap of "); };
  const std::string told = llvm::formatv("a gap of {0:F2} % is left: ", 100 * gap);
  if (isProven)
    llvm::erase_if(notes, isOfGap);
  for (std::string &note : notes)
    if (isOfGap(note) && !llvm::StringRef(note).starts_with(told))
      note = "with its own micro-batches and recomputation " + note;
}

Plan boundByAll(Plan best, double bound) {
  bool isProven = bound >= best.stepSeconds * (1 - sumRounding);
  best.status = isProven ? PlanStatus::Optimal : PlanStatus::Feasible;
  best.lowerBoundSeconds = isProven ? best.stepSeconds : std::min(bound, best.stepSeconds);
  best.gap = best.stepSeconds > 0 ? 1 - best.lowerBoundSeconds / best.stepSeconds : 0;
  tellOwnGap(best.notes, best.gap, isProven);
  return best;
}

} // namespace apc
