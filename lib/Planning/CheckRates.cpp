// The origin, the choices around the step, the training step and the rates that a plan states, derived again.
#include "CheckStage.h"
#include "DescribePlan.h"

#include "apc/Plan/Statement.h"
#include "apc/Planning/CheckStatements.h"
#include "apc/Schedule/Pipeline/Schedules.h"
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

/// A schedule may be requested under another name of its own.
llvm::Error checkSchedule(const PlanPipeline &pipeline, llvm::StringRef requested) {
  if (requested == "auto")
    return llvm::Error::success();
  auto schedule = findPipelineSchedule(requested, static_cast<uint32_t>(pipeline.chunks));
  if (!schedule)
    return noPlanError("request.schedule: {0}", takeMessage(schedule.takeError()).second);
  return expectSame("request.schedule", (*schedule)->name.str(), pipeline.schedule, "the pipeline has");
}

llvm::Error checkRequestedPipeline(const Plan &plan) {
  const PlanRequest &request = plan.request;
  const PipelineChoice truth = plan.pipeline ? plan.pipeline->choice() : PipelineChoice{1};
  PipelineChoice asked = request.pipeline;
  if (llvm::all_equal(asked.devices) || asked.count != truth.count)
    asked.devices.clear();
  FirstError check;
  if (asked.count && (asked.count != truth.count || (!asked.devices.empty() && !(asked == truth))))
    check(expectSame("request.pipeline", request.pipeline.str(), truth.str(), "the plan has workers:"));
  if (!plan.pipeline)
    return check.take();
  check(checkSchedule(*plan.pipeline, request.schedule));
  check(expectSame("request.chunks", request.chunks.count.value_or(plan.pipeline->chunks), plan.pipeline->chunks,
                   "the pipeline has"));
  return check.take();
}

/// The plan's own point is one of those that were tried, and costs there what the plan does.
llvm::Error checkTried(const Plan &plan) {
  if (plan.tried.empty())
    return llvm::Error::success();
  const TriedPoint own = triedPointOf(plan);
  auto stated = llvm::find_if(plan.tried, [&](const TriedPoint &point) { return point.isPointOf(own); });
  if (stated == plan.tried.end())
    return noPlanError(
        "tried has no point with the workers, schedule, chunks, micro-batches, copies, recomputation and "
        "ZeRO stage of the plan");
  constexpr llvm::StringLiteral truth = "the plan has";
  const std::string place = llvm::formatv("tried[{0}].", stated - plan.tried.begin());
  FirstError check;
  check(expectSame(place + "micro_batch", stated->microBatch, own.microBatch, truth));
  check(expectSame(place + "feasible", stated->feasible, own.feasible, truth));
  check(expectSame(place + "memory_bytes", stated->memoryBytes, own.memoryBytes, truth));
  check(expectClose(place + "step_seconds", stated->stepSeconds.value_or(0), *own.stepSeconds, truth));
  const auto kept = static_cast<int64_t>(plan.tried.size());
  if (plan.numTried < kept || (plan.numTried > kept && plan.tried.size() < mostTried))
    check(expectSame("tried_count", plan.numTried, kept, "as many points are in tried:"));
  return check.take();
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

llvm::Error checkChoices(const Plan &plan) {
  FirstError check;
  check(checkRequestedPipeline(plan));
  check(checkTried(plan));
  return check.take();
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
    known = withRates(std::move(known), graph, llvm::cantFail(loadCluster("cpu-local")).pool);
    return checkRate("samples_per_second", plan.samplesPerSecond, known.samplesPerSecond);
  }
  known = withRates(std::move(known), graph, target->cluster.pool);
  check(checkRate("samples_per_second", plan.samplesPerSecond, known.samplesPerSecond));
  check(checkRate("share_of_peak", plan.shareOfPeak, known.shareOfPeak));
  if (!plan.peakFormats.empty())
    check(expectSame("peak_formats", plan.peakFormats, known.peakFormats, source));
  int64_t memory = target->cluster.pool.device.memoryBytes;
  check(expectSame("device_memory_bytes", plan.deviceMemoryBytes.value_or(memory), memory, "the cluster has"));
  return check.take();
}

} // namespace apc
