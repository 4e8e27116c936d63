// Numbers of micro-batches one after the other, each with every policy of recomputation; then the fastest to the end.
#include "MicroBatchChoice.h"

#include "TimeShare.h"
#include "TrainingTrials.h"

#include "apc/Planning/NothingFits.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// Points that are left, and why nothing more is to be found there.
struct Untried {
  bool isEnd = false;
  llvm::ArrayRef<PlanRequest> left;
  SearchEnd why = SearchEnd::Finished;
};

/// Goes through numbers of micro-batches, fewest first.
class MicroBatchChoice {
public:
  MicroBatchChoice(const PlanRequest &request, const PointPlanner &points)
      : request(request), points(points),
        trials(request, {points.whole, points.quick, points.least, points.onlyAdds, points.bound}, points.control) {}

  llvm::Expected<Plan> run();

private:
  /// Tries \p points until none of those that are left is worth it.
  llvm::Expected<Untried> tryAll(llvm::ArrayRef<PlanRequest> points);
  /// Is none of the points \p left worth a try, after \p worse numbers in a row that gave nothing better?
  llvm::Expected<Untried> lookAhead(llvm::ArrayRef<PlanRequest> left, unsigned worse);
  llvm::Error nothingFits(size_t all, bool isExplained) const;
  Plan describe(const Untried &untried) const;

  const PlanRequest &request;
  const PointPlanner &points;
  TrainingTrials trials;
  size_t numTried = 0;
};

llvm::Expected<Untried> MicroBatchChoice::lookAhead(llvm::ArrayRef<PlanRequest> left, unsigned worse) {
  if (left.empty() || !trials.found())
    return Untried{left.empty() || trials.secondsLeft() <= 0, {}};
  if (!trials.isStopped())
    if (llvm::Error error = trials.leastSecondsFrom(left.front()).takeError())
      return std::move(error);
  constexpr unsigned patience = 2;
  const bool isEnough = worse >= patience || trials.end() != SearchEnd::Finished;
  return Untried{isEnough || trials.isProven(trials.knownLeastOf(left)), left, trials.end()};
}

llvm::Error MicroBatchChoice::nothingFits(size_t all, bool isExplained) const {
  if (llvm::Error refused = trials.refusedAll())
    return refused;
  std::string text = "with any number of micro-batches and any --recompute that is allowed: ";
  if (numTried < all || trials.isStopped())
    text = llvm::formatv("{0} when {1} of {2} numbers of micro-batches had been tried; with the last: ",
                         trials.isStopped() ? "stopped" : "the time limit was over", numTried, all);
  return llvm::make_error<NothingFits>(text, trials.lastFailure(), trials.tried(),
                                       isExplained ? std::nullopt : trials.lastFailed());
}

Plan MicroBatchChoice::describe(const Untried &untried) const {
  const bool isAlone = trials.tried().size() == 1 && untried.left.empty() && !trials.isStopped();
  if (isAlone && trials.leastBound() >= trials.found()->lowerBoundSeconds)
    return withTimeLimitOf(request, *trials.found());
  Plan plan = boundByAll(*trials.found(), trials.leastBound(untried.left));
  plan.tried = trials.tried();
  if (!untried.left.empty())
    plan.notes.push_back(noteOnMoreMicroBatches(trials.knownLeastOf(untried.left), untried.why));
  return withTimeLimitOf(request, std::move(plan));
}

llvm::Expected<Untried> MicroBatchChoice::tryAll(llvm::ArrayRef<PlanRequest> points) {
  unsigned worse = 0;
  for (numTried = 0;;) {
    if (!trials.leaveOut(points[numTried])) {
      auto isBetter = trials.tryPoint(points[numTried], points.size() - numTried);
      if (!isBetter)
        return isBetter.takeError();
      worse = *isBetter || !trials.found() ? 0 : worse + 1;
    }
    ++numTried;
    llvm::Expected<Untried> untried = lookAhead(points.drop_front(numTried), worse);
    if (!untried || untried->isEnd)
      return untried;
  }
}

llvm::Expected<Plan> MicroBatchChoice::run() {
  auto requests = microBatchRequests(request);
  if (!requests)
    return requests.takeError();
  const bool isOne = requests->size() == 1 && policiesOf(request).size() == 1;
  isOne ? trials.insist(points.explained) : trials.keepTimeToFinish();
  llvm::Error error = trials.tryLayout(*requests);
  llvm::Expected<Untried> untried = error ? std::move(error) : tryAll(*requests);
  if (!isOne && untried && !trials.found() && trials.secondsLeft() > 0) { // a longer search may find what fits
    trials.insist(points.whole);
    untried = tryAll(*requests);
  }
  if (!untried)
    return untried.takeError();
  if (llvm::Error error = trials.finish())
    return std::move(error);
  if (llvm::Error error = trials.found() ? trials.raiseLeast(untried->left) : nothingFits(requests->size(), isOne))
    return std::move(error);
  return describe(*untried);
}

} // namespace

llvm::Expected<Plan> chooseMicroBatches(const PlanRequest &request, const PointPlanner &points) {
  return MicroBatchChoice(request, points).run();
}

} // namespace apc
