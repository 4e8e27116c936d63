// A plan without copies, and the same numbers with two.
#include "ChooseCopies.h"

#include "ChooseTraining.h"
#include "TimeShare.h"
#include "TrainingPoints.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

namespace apc {

namespace {

/// Why two copies of the micro-batches of a plan are no better; empty where they may be.
std::string whyWithoutCopies(const Plan &whole) {
  constexpr double little = 0.01; // of the step; smaller contractions cost more
  if (whole.exposedCommunicationSeconds < little * whole.stepSeconds)
    return "no copies of micro-batches were tried: all that they could hide is " +
           formatSeconds(whole.exposedCommunicationSeconds) + " of communication";
  if (whole.training->microBatch % 2 != 0)
    return llvm::formatv("no copies of micro-batches were tried: {0} cannot be cut in two",
                         counted(whole.training->microBatch, "sample"))
        .str();
  return "";
}

/// The numbers of a plan, with two copies of each micro-batch.
PlanRequest withTwoCopies(const Plan &whole, const PlanRequest &request, double secondsLeft) {
  PlanRequest own = request;
  own.copies = {2};
  own.recompute = whole.request.recompute;
  own.pipeline = whole.pipeline ? whole.pipeline->choice() : PipelineChoice{1};
  if (whole.pipeline) {
    own.schedule = whole.pipeline->schedule;
    own.chunks = {whole.pipeline->chunks};
  }
  own.globalBatch = whole.training->globalBatch;
  own.microBatch = whole.training->microBatch;
  own.timeLimitSeconds = secondsLeft;
  return own;
}

/// The better of two plans, with what was tried for both and the bound of both. Errors: internal ones of \p copied.
llvm::Expected<Plan> withCopies(Plan whole, const PlanRequest &request, llvm::Expected<Plan> copied) {
  std::vector<TriedPoint> tried = triedOf(whole);
  if (!copied) {
    auto [fault, message] = takeMessage(copied.takeError());
    if (fault == Fault::Internal)
      return llvm::make_error<PlannerError>(fault, message);
    whole.tried = withTried(std::move(tried), failedPointOf(withTwoCopies(whole, request, 0),
                                                            whole.training->microBatches, std::move(message)));
    return whole;
  }
  tried = withTried(std::move(tried), triedPointOf(*copied));
  double bound = std::min(whole.lowerBoundSeconds, copied->lowerBoundSeconds);
  bool isBetter = apc::isBetter(rankOf(*copied), rankOf(whole));
  Plan best = boundByAll(std::move(isBetter ? *copied : whole), bound);
  best.tried = std::move(tried);
  if (isBetter) { // the copies had the schedule that was found without them
    best.request.schedule = request.schedule;
    best.request.chunks = request.chunks;
  }
  return withTimeLimitOf(request, std::move(best));
}

} // namespace

llvm::Expected<Plan> chooseCopies(const PlanRequest &request, const PointPlanner &points) {
  const Stopwatch watch(*points.control.clock);
  PlanRequest own = request;
  own.copies = {1};
  constexpr double share = 0.6; // of the time: most steps have no copies
  own.timeLimitSeconds *= share;
  llvm::Expected<Plan> whole = leavesTrainingOpen(own) ? chooseTraining(own, points) : points.whole(own);
  if (!whole)
    return whole;
  whole = withTimeLimitOf(request, std::move(*whole));
  std::string why = whyWithoutCopies(*whole);
  double left = request.timeLimitSeconds - watch.seconds();
  bool isOver = left <= 0 || points.isStopped();
  if (why.empty() && isOver)
    why = std::string("copies of micro-batches were not tried: ") +
          (points.isStopped() ? "the search was stopped" : "the time was over");
  if (!why.empty()) {
    whole->notes.push_back(why);
    return whole;
  }
  llvm::Expected<Plan> copied = points.whole(withTwoCopies(*whole, request, left));
  return withCopies(std::move(*whole), request, std::move(copied));
}

} // namespace apc
