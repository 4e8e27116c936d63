// The number of micro-batches and the policy of recomputation that give the best plan.
#include "ChooseTraining.h"

#include "ChooseCopies.h"
#include "ChoosePipeline.h"
#include "TrainingTrials.h"

#include "apc/Planning/NothingFits.h"
#include "apc/Support/Units.h"

#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// Points that were left out, and why nothing more is to be found there.
struct Untried {
  bool isEnd = false;
  std::optional<double> leastSeconds; ///< of all of them; none where every point was tried
};

/// "more micro-batches take at least 3.21 s, whatever the memory".
std::string noteOn(double leastSeconds, bool isStopped) {
  if (leastSeconds > 0)
    return "more micro-batches take at least " + formatSeconds(leastSeconds) + ", whatever the memory";
  llvm::StringRef end = isStopped ? "the search was stopped" : "the time was over";
  return (end + " before more micro-batches were tried or bounded").str();
}

/// Goes through numbers of micro-batches, fewest first.
class TrainingChoice {
public:
  TrainingChoice(const PlanRequest &request, const PointPlanner &points)
      : request(request), trials(request, {points.whole, points.quick}, points.control) {}

  llvm::Expected<Plan> run();

private:
  /// Tries \p points until none of those that are left is worth it.
  llvm::Expected<Untried> tryAll(llvm::ArrayRef<PlanRequest> points);
  /// Is none of the points \p left worth a try, after \p worse numbers in a row that gave nothing better?
  llvm::Expected<Untried> lookAhead(llvm::ArrayRef<PlanRequest> left, unsigned worse);
  llvm::Error nothingFits(size_t all) const;
  Plan describe(const Untried &untried) const;

  const PlanRequest &request;
  TrainingTrials trials;
  size_t numTried = 0;
};

llvm::Expected<Untried> TrainingChoice::lookAhead(llvm::ArrayRef<PlanRequest> left, unsigned worse) {
  if (left.empty())
    return Untried{true, std::nullopt};
  if (!trials.found())
    return Untried{trials.secondsLeft() <= 0, std::nullopt};
  if (trials.isStopped())
    return Untried{true, 0};
  llvm::Expected<double> least = trials.leastSecondsFrom(left.front());
  if (!least)
    return least.takeError();
  constexpr unsigned patience = 2;
  bool isBounded = *least >= trials.found()->stepSeconds * (1 - request.gapTolerance);
  return Untried{isBounded || worse >= patience || trials.secondsLeft() <= 0, *least};
}

llvm::Error TrainingChoice::nothingFits(size_t all) const {
  std::string text = "with any number of micro-batches and any --recompute that is allowed: ";
  if (numTried < all || trials.isStopped())
    text = llvm::formatv("{0} when {1} of {2} numbers of micro-batches had been tried; with the last: ",
                         trials.isStopped() ? "stopped" : "the time limit was over", numTried, all);
  return llvm::make_error<NothingFits>(text, trials.lastFailure(), trials.tried(), trials.lastFailed());
}

Plan TrainingChoice::describe(const Untried &untried) const {
  if (trials.tried().size() == 1 && !untried.leastSeconds && !trials.isStopped())
    return *trials.found();
  Plan plan =
      boundByAll(*trials.found(), std::min(trials.leastBound(), untried.leastSeconds.value_or(trials.leastBound())));
  plan.tried = trials.tried();
  if (untried.leastSeconds)
    plan.notes.push_back(noteOn(*untried.leastSeconds, trials.isStopped()));
  plan.request.timeLimitSeconds = request.timeLimitSeconds;
  return plan;
}

llvm::Expected<Untried> TrainingChoice::tryAll(llvm::ArrayRef<PlanRequest> points) {
  unsigned worse = 0;
  for (numTried = 0;;) {
    auto isBetter = trials.tryPoint(points[numTried], points.size() - numTried);
    if (!isBetter)
      return isBetter.takeError();
    ++numTried;
    worse = *isBetter || !trials.found() ? 0 : worse + 1;
    llvm::Expected<Untried> untried = lookAhead(points.drop_front(numTried), worse);
    if (!untried || untried->isEnd)
      return untried;
  }
}

llvm::Expected<Plan> TrainingChoice::run() {
  auto requests = microBatchRequests(request);
  if (!requests)
    return requests.takeError();
  if (requests->size() == 1 && policiesOf(request).size() == 1)
    trials.insist();
  else
    trials.keepTimeToFinish();
  llvm::Expected<Untried> untried = tryAll(*requests);
  if (untried && !trials.found() && trials.secondsLeft() > 0) { // a longer search may find what fits
    trials.insist();
    untried = tryAll(*requests);
  }
  if (!untried)
    return untried.takeError();
  if (llvm::Error error = trials.finish())
    return std::move(error);
  return trials.found() ? llvm::Expected<Plan>(describe(*untried)) : nothingFits(requests->size());
}

} // namespace

bool leavesTrainingOpen(const PlanRequest &request) {
  bool isOpen = !request.globalBatch || !request.microBatch || !request.pipeline.count || !request.copies.count;
  return request.mode == StepMode::Train && (isOpen || request.recompute == RecomputeChoice::Auto);
}

llvm::Expected<Plan> chooseTraining(const PlanRequest &request, const PointPlanner &points) {
  if (!request.copies.count || request.pipeline != CountChoice{1})
    return request.copies.count ? choosePipeline(request, points) : chooseCopies(request, points);
  auto choose = [&](const PlanRequest &own) { return TrainingChoice(own, points).run(); };
  bool isGiven = request.globalBatch || request.microBatch || copiesOf(request) > 1;
  return isGiven ? choose(request) : planOwnBatch(request, points.whole, choose);
}

} // namespace apc
