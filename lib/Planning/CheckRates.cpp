// The origin, the training step and the rates that a plan states, derived again.
#include "CheckStage.h"
#include "DescribePlan.h"

#include "apc/Plan/Statement.h"
#include "apc/Planning/CheckStatements.h"
#include "apc/Search/Algorithms.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral source = "the model and the step have";

/// Earlier plans lack figures; those of a plan must be known.
llvm::Error checkRate(llvm::StringRef field, std::optional<double> stated, std::optional<double> truth) {
  if (!stated)
    return llvm::Error::success();
  return truth ? expectClose(field, *stated, *truth, source) : expectSame(field, stated, truth, source);
}

} // namespace

llvm::Error checkOrigin(const Plan &plan) {
  auto isSearch = [&](const Search &search) { return search.name == plan.search; };
  llvm::StringRef text = plan.search;
  if (llvm::any_of(allSearches(), isSearch) || text == "data parallel" || text == "pins" || text == "given" ||
      (text.consume_front("reference: ") && !text.empty()))
    return llvm::Error::success();
  std::string why = "a search, 'reference: NAME', 'layout dp=N,tp=N', 'data parallel' or 'pins' is expected";
  if (text.consume_front("layout ")) {
    llvm::Expected<ParallelDegrees> layout = parseParallelDegrees(text, "layout");
    if (layout)
      return llvm::Error::success();
    why = takeMessage(layout.takeError()).second;
  }
  return noPlanError("search is {0}; {1}", printJson(plan.search, 0), why);
}

llvm::Error checkTraining(const OpGraph &graph, const Plan &plan) {
  std::optional<PlanTraining> truth = trainingOf(graph, plan.request);
  if (!plan.training || !truth)
    return checkRequestedTraining(plan);
  constexpr llvm::StringLiteral model = "the step of the model has";
  FirstError check;
  check(checkRequestedTraining(plan));
  check(expectSame("training.recompute", plan.training->recompute, truth->recompute, model));
  check(expectSame("training.global_batch", plan.training->globalBatch, truth->globalBatch, model));
  check(expectSame("training.micro_batch", plan.training->microBatch, truth->microBatch, model));
  check(expectSame("training.micro_batches", plan.training->microBatches, truth->microBatches, model));
  check(expectSame("training.copies", plan.training->copies, truth->copies, model));
  return check.take();
}

llvm::Error checkRates(const OpGraph &graph, const Plan &plan) {
  Plan known;
  known.request = plan.request;
  known.stepSeconds = plan.stepSeconds;
  llvm::Expected<PlanningTarget> target = readTarget(plan.request);
  FirstError check;
  if (!target) { // the batch and the step are known all the same
    llvm::consumeError(target.takeError());
    known = withRates(std::move(known), graph, llvm::cantFail(loadCluster("cpu-local")).pool.device);
    return checkRate("samples_per_second", plan.samplesPerSecond, known.samplesPerSecond);
  }
  known = withRates(std::move(known), graph, target->cluster.pool.device);
  check(checkRate("samples_per_second", plan.samplesPerSecond, known.samplesPerSecond));
  check(checkRate("share_of_peak", plan.shareOfPeak, known.shareOfPeak));
  if (!plan.peakFormats.empty())
    check(expectSame("peak_formats", plan.peakFormats, known.peakFormats, source));
  int64_t memory = target->cluster.pool.device.memoryBytes;
  check(expectSame("device_memory_bytes", plan.deviceMemoryBytes.value_or(memory), memory, "the cluster has"));
  return check.take();
}

} // namespace apc
