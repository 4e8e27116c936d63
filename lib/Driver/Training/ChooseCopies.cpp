// A plan without copies, and the same numbers with two.
#include "ChooseCopies.h"

#include "ChooseTraining.h"
#include "TrainingPoints.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include <chrono>

namespace apc {

namespace {

/// Why two copies of the micro-batches of a plan are no better; empty where they may be.
std::string whyWithoutCopies(const Plan &whole) {
  constexpr double little = 0.01; // of the step; smaller contractions cost more
  if (whole.exposedCommunicationSeconds < little * whole.stepSeconds)
    return "no copies of micro-batches: all that they could hide is " +
           formatSeconds(whole.exposedCommunicationSeconds) + " of communication";
  if (whole.training->microBatch % 2 != 0)
    return llvm::formatv("no copies of micro-batches: {0} cannot be cut in two",
                         counted(whole.training->microBatch, "sample"))
        .str();
  return "";
}

/// The numbers of a plan, with two copies of each micro-batch.
PlanRequest withTwoCopies(const Plan &whole, const PlanRequest &request, double secondsLeft) {
  PlanRequest own = whole.request;
  own.layouts = request.layouts;
  own.copies = {2};
  own.globalBatch = whole.training->globalBatch;
  own.microBatch = whole.training->microBatch;
  own.timeLimitSeconds = secondsLeft;
  return own;
}

} // namespace

llvm::Expected<Plan> chooseCopies(const PlanRequest &request, PlanOfRequest plan, PlanOfRequest first) {
  auto begin = std::chrono::steady_clock::now();
  PlanRequest own = request;
  own.copies = {1};
  constexpr double share = 0.6; // of the time: most steps have no copies
  own.timeLimitSeconds *= share;
  llvm::Expected<Plan> whole = leavesTrainingOpen(own) ? chooseTraining(own, plan, first) : plan(own);
  if (!whole)
    return whole;
  whole->request.timeLimitSeconds = request.timeLimitSeconds;
  std::string why = whyWithoutCopies(*whole);
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  double left = request.timeLimitSeconds - spent.count();
  if (why.empty() && left <= 0)
    why = "copies of micro-batches were not tried: the time was over";
  if (!why.empty()) {
    whole->notes.push_back(why);
    return whole;
  }
  llvm::Expected<Plan> copied = plan(withTwoCopies(*whole, request, left));
  if (!copied) {
    auto [fault, message] = takeMessage(copied.takeError());
    whole->notes.push_back("two copies of micro-batches: " + message);
    return whole;
  }
  double bound = std::min(whole->lowerBoundSeconds, copied->lowerBoundSeconds);
  bool isBetter = apc::isBetter(rankOf(*copied), rankOf(*whole));
  std::string other = isBetter ? "without copies of micro-batches a step takes " + formatSeconds(whole->stepSeconds)
                               : "with two copies of micro-batches a step takes " + formatSeconds(copied->stepSeconds);
  Plan best = boundByAll(std::move(isBetter ? *copied : *whole), bound);
  best.notes.push_back(other);
  best.request.timeLimitSeconds = request.timeLimitSeconds;
  return best;
}

} // namespace apc
