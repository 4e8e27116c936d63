// The figures of a plan, held against each other.
#include "apc/Plan/Statement.h"

#include "apc/Support/Saturating.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

std::string numbered(llvm::StringRef what, size_t index) { return (what + "[" + llvm::Twine(index) + "]").str(); }

llvm::Error checkStage(const StagePlan &stage, size_t index) {
  FirstError check;
  std::string place = numbered("stages", index) + ".";
  double compute = 0, waiting = 0, moving = 0;
  for (const PlanChoice &choice : stage.choices) {
    compute += choice.seconds;
    waiting += choice.communicationSeconds;
  }
  for (const PlanMove &move : stage.moves)
    moving += move.seconds;
  check(expectClose(place + "compute_seconds", stage.computeSeconds, compute, "the choices sum to"));
  check(expectClose(place + "communication_seconds", stage.communicationSeconds, moving, "the moves sum to"));
  check(expectClose(place + "communication_seconds", stage.communicationSeconds, waiting, "the choices sum to"));
  return check.take();
}

/// Optimal: the bound is reached. Where nothing was proven, the gap says nothing.
llvm::Error checkBound(const Plan &plan) {
  FirstError check;
  double rounding = 1e-9 * plan.stepSeconds;
  if (plan.lowerBoundSeconds > plan.stepSeconds + rounding)
    check(noPlanError("lower_bound_seconds is {0}, above the step_seconds of {1}", printJson(plan.lowerBoundSeconds, 0),
                      printJson(plan.stepSeconds, 0)));
  double gap = plan.stepSeconds > 0 ? 1 - plan.lowerBoundSeconds / plan.stepSeconds : 0;
  if (plan.lowerBoundSeconds > 0 && std::abs(plan.gap - gap) > 1e-9)
    check(expectSame("gap", plan.gap, gap, "lower_bound_seconds and step_seconds leave"));
  if (!(plan.gap >= 0 && plan.gap <= 1))
    check(noPlanError("gap is {0}, a share from 0 to 1 is expected", printJson(plan.gap, 0)));
  if (plan.status == PlanStatus::Optimal && gap > 1e-9)
    check(noPlanError("status is \"optimal\", lower_bound_seconds is {0} of {1}", printJson(plan.lowerBoundSeconds, 0),
                      printJson(plan.stepSeconds, 0)));
  return check.take();
}

} // namespace

llvm::Error expectClose(const llvm::Twine &field, double stated, double truth, llvm::StringRef source) {
  if (std::abs(stated - truth) <= 1e-9 * std::max(std::abs(stated), std::abs(truth)))
    return llvm::Error::success();
  return expectSame(field, stated, truth, source);
}

llvm::Error checkSums(const Plan &plan) {
  FirstError check;
  for (auto [index, stage] : llvm::enumerate(plan.stages))
    check(checkStage(stage, index));
  if (!plan.pipeline && !plan.stages.empty())
    check(expectSame("stages[0].first_rank", plan.stages.front().firstRank, int64_t(0), "the ranks begin at"));
  Plan totals = withTotals(plan);
  check(expectClose("compute_seconds", plan.computeSeconds, totals.computeSeconds, "the stages sum to"));
  check(expectClose("communication_seconds", plan.communicationSeconds, totals.communicationSeconds,
                    "the stages sum to"));
  check(expectClose("exposed_communication_seconds", plan.exposedCommunicationSeconds,
                    totals.exposedCommunicationSeconds, "the stages sum to"));
  check(expectClose("host_seconds", plan.hostSeconds, totals.hostSeconds, "the stages sum to"));
  check(expectClose("step_seconds", plan.stepSeconds, totals.stepSeconds,
                    "compute, exposed communication and waiting for the host sum to"));
  check(expectClose("bubble_seconds", plan.bubbleSeconds, totals.bubbleSeconds, "the step leaves"));
  check(expectClose("flops_per_device", plan.flopsPerDevice, totals.flopsPerDevice, "the stages have"));
  for (MemoryCategory category : allMemoryCategories())
    check(expectSame("memory_bytes." + memoryCategoryName(category), plan.memory[category], totals.memory[category],
                     "the fullest stage has"));
  check(expectSame("memory_bytes.host", plan.memory.hostBytes, totals.memory.hostBytes, "the fullest stage has"));
  check(expectSame("logits_and_loss_bytes", plan.lossBytes, totals.lossBytes, "the fullest stage has"));
  check(expectSame("communication_bytes", plan.communicationBytes, totals.communicationBytes, "the stages sum to"));
  check(checkBound(plan));
  return check.take();
}

llvm::Error checkRequestedTraining(const Plan &plan) {
  if (!plan.training)
    return llvm::Error::success();
  constexpr llvm::StringLiteral source = "the request has";
  const PlanRequest &request = plan.request;
  const PlanTraining &training = *plan.training;
  if (request.mode == StepMode::Infer)
    return noPlanError("training is there, and the mode is infer; null is accepted, or mode train");
  FirstError check;
  check(expectSame("training.loss", training.loss, request.loss, source));
  check(expectSame("training.optimizer", training.optimizer, optimizerName(request.optimizer).str(), source));
  check(expectSame("training.precision", training.precision, precisionChoiceName(request.precision).str(), source));
  if (!training.zero.empty()) // earlier files do not say it
    check(expectSame("training.zero", training.zero, zeroText(request.zero), source));
  if (!(request.recompute == RecomputeChoice::Auto))
    check(expectSame("training.recompute", training.recompute, request.recompute.str(), source));
  check(expectSame("training.global_batch", training.globalBatch, request.globalBatch.value_or(training.globalBatch),
                   source));
  check(expectSame("training.micro_batch", training.microBatch, request.microBatch.value_or(training.microBatch),
                   source));
  check(expectSame("training.copies", training.copies, request.copies.count.value_or(training.copies), source));
  check(expectSame("training.global_batch", training.globalBatch,
                   multiplySaturating(training.microBatch, training.microBatches),
                   llvm::formatv("{0} micro-batches of {1} have", training.microBatches, training.microBatch).str()));
  return check.take();
}

} // namespace apc
