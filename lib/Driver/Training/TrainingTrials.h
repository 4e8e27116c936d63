// Points of a training step that were planned: micro-batches x policies of recomputation.
#pragma once

#include "PointPlanner.h"
#include "TrainingPoints.h"

#include "apc/Planning/Planning.h"
#include "apc/Planning/RecomputedPairs.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>

namespace apc {

/// Plans one point after the other and keeps the best.
class TrainingTrials {
public:
  using PlanRequested = llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)>;

  /// Planners of a request: to the end, and until a good answer where memory binds; and of bounds of all policies.
  struct Planners {
    PlanRequested whole, quick;
    PointPlanner::PlanLeast least;
    PointPlanner::AddsOnly onlyAdds;
    PointPlanner::BoundOfRequest bound;
  };

  /// \p control: told each point, and asked whether to stop; with a clock.
  TrainingTrials(const PlanRequest &request, Planners plan, const PlanningControl &control)
      : request(request), plan(plan), control(control), policies(policiesOf(request)) {}

  /// Plans `point` with every policy, with those that beat keeping everything for fewer layers, and with pairs of
  /// policies where some fit and others do not; true when that gave a better plan. \p pointsLeft share the time that is
  /// left, this one among them.
  llvm::Expected<bool> tryPoint(const PlanRequest &point, size_t pointsLeft);
  /// Plans the point of the layout that is known, where it is one of \p all micro-batches, before any other: the
  /// fastest plan has about as many of them, and recomputes about as much. Behind a plan of another policy than those
  /// to try, bounds come first.
  llvm::Error tryLayout(llvm::ArrayRef<PlanRequest> all);
  /// Plans every point to the end from now on, by \p planner.
  void insist(PlanRequested planner) {
    plan.quick = planner;
    keptSeconds = 0;
  }
  /// Keeps a share of the time for `finish`.
  void keepTimeToFinish() { keptSeconds = shareToFinish * request.timeLimitSeconds; }
  /// Plans the fastest of the points to the end that have first answers alone, while time is left.
  llvm::Error finish();
  /// Seconds that no step takes less than with the micro-batches of `point`. Bounds of fewer micro-batches hold for
  /// more: work is subadditive, an op or a collective on half the samples takes at least half the time; what policies
  /// of recomputation may save is left out. Where memory is short, what a step keeps in it counts, or the ops that run
  /// again. Where any plan will do, only the part known without a search; once the clock is over, an even share of the
  /// work of all ops.
  llvm::Expected<double> leastSecondsFrom(const PlanRequest &point);
  /// The part of that which is known without another search; 0 for nothing.
  double knownLeast(const PlanRequest &point) const;
  /// The least of some points, at least one.
  double knownLeastOf(llvm::ArrayRef<PlanRequest> points) const;
  bool isStopped() const { return control.stop && control.stop->load(); } ///< by the user
  /// None once the user has asked to stop.
  double secondsLeft() const { return isStopped() ? 0 : request.timeLimitSeconds - keptSeconds - watch.seconds(); }
  /// Finished: there is time for more.
  SearchEnd end() const {
    if (isStopped())
      return SearchEnd::Interrupt;
    return secondsLeft() > 0 ? SearchEnd::Finished : SearchEnd::TimeLimit;
  }

  /// A plan that fits.
  struct Fitting {
    PlanRank rank;
    int64_t limitBytes;
    double lowerBoundSeconds;
    double unlimitedBoundSeconds; ///< of plans that may need any memory
    bool isByMemory;              ///< more memory might make it faster
    double unsharedSeconds;       ///< beside what searches count
  };
  /// Plans one request quickly, with so many seconds; none where nothing fits.
  llvm::Expected<std::optional<Fitting>> tryOne(PlanRequest own, double seconds);
  /// The same by another planner.
  llvm::Expected<std::optional<Fitting>> tryOne(PlanRequest own, double seconds, PlanRequested by);

  const std::optional<Plan> &found() const { return best; }
  /// Of the best, or of a layout that is known and faster; `found` is there.
  double secondsToBeat() const { return std::min(best->stepSeconds, control.knownSeconds.value_or(best->stepSeconds)); }
  /// Does such a bound show that nothing better is left?
  bool isProven(double least) const { return best && least >= secondsToBeat() * (1 - request.gapTolerance); }
  /// The least bound of all that were planned, and of those \p left; `found` is there.
  double leastBound(llvm::ArrayRef<PlanRequest> left = {}) const { return leastBounded(left).second; }
  /// Bounds the layers of the micro-batches with the least bound, those \p left among them, where memory binds; then
  /// the next, until a bound says all or the least of them is known.
  llvm::Error raiseLeast(llvm::ArrayRef<PlanRequest> left);
  /// True where what is known says that nothing better is to be found at \p point, which counts as bounded then.
  bool leaveOut(const PlanRequest &point);
  const std::vector<TriedPoint> &tried() const { return points; }
  /// Was the last request that was tried refused, as pins may refuse a micro-batch of one sample? Others may be taken.
  bool wasRefused() const { return isRefused; }
  llvm::Error lastRefusal() const { return llvm::make_error<PlannerError>(Fault::Input, refusal->message); }
  /// The last refusal, where every point was refused.
  llvm::Error refusedAll() const;
  const std::string &lastFailure() const { return reason; }
  /// The point of the last failure; there is one where nothing was found, and not all were refused.
  const std::optional<PlanRequest> &lastFailed() const { return failed; }

private:
  /// Plans `point` with one policy after the other until one is as fast as no limit of memory would make it, then
  /// fewer layers and pairs, until `end` seconds are left. Returns the seconds that no policy of
  /// any number of layers takes less than, where there are several policies and one fits.
  llvm::Expected<std::optional<double>> tryPolicies(const PlanRequest &point, double end);
  /// Is a point not worth a trial, where policies have been bounded? It is far from a layout that leads, and its bound
  /// leaves little or another policy \p fits there; or its policy adds too much.
  bool isLeftOut(const PlanRequest &trial, bool fits);
  /// The even share of the work of \p own, which takes no search.
  llvm::Expected<double> evenShareOf(PlanRequest own);
  /// Seconds that the policy of \p own adds to those of a step that keeps most, at the least: its ops run again, on all
  /// devices alike. 0 where the request refuses one of them.
  double secondsAddedTo(const PlanRequest &own);
  double secondsToBound() const; ///< that a search for a bound may take
  /// The bound of \p own whatever the memory. The plan that was made for it is the best where it fits and is faster.
  llvm::Expected<double> searchLeast(PlanRequest own);
  /// The part of `knownLeast` that holds whatever the memory, so that what ops add that run again may be added to it.
  double leastWithAnyMemory(const PlanRequest &point) const;
  /// Would a step with the micro-batches of \p point that keeps everything need more memory than there is, as far as is
  /// known? The best plan recomputes, or has smaller ones.
  bool isShortOfMemory(const PlanRequest &point) const;
  /// The micro-batch of the least bound of all that were planned and those \p left, and that bound.
  std::pair<std::optional<int64_t>, double> leastBounded(llvm::ArrayRef<PlanRequest> left) const;
  /// Bounds \p own, which keeps most, by its layers, each of which pays for its bytes.
  llvm::Error boundByLayers(PlanRequest own);
  /// Bounds \p own, which keeps most, by its layers where memory is short, and as a whole unless that says all.
  llvm::Error boundAll(const PlanRequest &own);
  /// Has the layout that is known a plan here, and have the trials taken a good part of the time? Bounds are worth more
  /// then than points far from it: these were costed as layouts, too, and are seldom faster.
  bool isLed() const {
    constexpr double share = 0.1;
    return ofLayout && watch.seconds() > share * request.timeLimitSeconds;
  }
  /// Has a point the micro-batches of that layout, and its policy? Or the next one that keeps more or less, where that
  /// is none for some layers.
  bool isNearLayout(const PlanRequest &point) const;
  /// `leastSecondsFrom` where the layout that is known has these micro-batches and recomputes something, and where it
  /// has others and leads; none else.
  llvm::Expected<std::optional<double>> leastBesideLayout(const PlanRequest &point);
  /// `tryOne`, or what that gave for the layout that is known.
  llvm::Expected<std::optional<Fitting>> tryPolicy(const PlanRequest &trial, double seconds);
  /// The share of memory in the seconds of a plan.
  struct Settled {
    double leastSeconds; ///< of any policy, whatever the memory
    bool isSettled;      ///< no policy can be noticeably faster than the plan
  };
  llvm::Expected<Settled> isSettledBy(const PlanRequest &point, const Fitting &found);
  using PolicyTrial = std::pair<PlanRequest, Fitting>;
  /// Looks for the fewest layers to recompute of all \p layers by the policy of \p trial.
  llvm::Expected<PolicySteps> tryFewerLayers(const PolicyTrial &trial, int64_t layers, double end);
  /// Tries fewer layers with the policies that fit, fastest first, then pairs of these and \p others, which do not fit.
  llvm::Error tryLayers(llvm::ArrayRef<PolicyTrial> fitting, llvm::ArrayRef<RecomputeChoice> others, double end);
  /// Tells the point that comes next behind \p what is done with it, and the best so far: "4 workers, 8 micro-batches
  /// of 8: best 766 ms, bound 640 ms, gap 16.45 %".
  void report(llvm::StringRef what, const PlanRequest &own) const;
  /// Takes down why `own` is refused. Errors: that refusal, where other micro-batches do not help.
  llvm::Error takeRefusal(const PlanRequest &own, std::string message);
  /// Takes down why `own` gave no plan. Errors: those that end all trials.
  llvm::Error takeFailure(const PlanRequest &own, llvm::Error error, bool isOutOfTime);

  const PlanRequest &request;
  Planners plan;
  const PlanningControl &control;
  std::vector<RecomputeSetting> policies;
  static constexpr double shareToFinish = 0.3; ///< of the time limit
  double keptSeconds = 0;
  Stopwatch watch = Stopwatch(*control.clock);
  std::optional<Plan> best;
  /// Bounds of the points of a micro-batch.
  struct Bounds {
    std::map<std::string, double> ofPoints; ///< by the name of a policy: of those that were planned
    std::optional<double> ofAll;            ///< of every policy of any number of layers, where it is known
  };
  std::map<std::optional<int64_t>, Bounds> bounds;        ///< by micro-batch
  std::vector<std::pair<double, PlanRequest>> unfinished; ///< seconds of first answers, and their points
  /// Bounds of all policies.
  struct LeastSeconds {
    double seconds = 0; ///< whatever the memory
    bool askedForLayers = false;
    std::optional<PipelineBound> ofLayers = {}; ///< of the same step, without a pipeline
  };
  std::map<std::optional<int64_t>, LeastSeconds> least; ///< by micro-batch: `leastSecondsFrom`
  std::map<std::optional<int64_t>, double> shares;      ///< by micro-batch: `evenShareOf` what keeps most, or 0
  std::vector<TriedPoint> points;
  std::string reason;                  ///< why nothing fits
  std::optional<PlanRequest> failed;   ///< where `reason` holds
  std::optional<PolicyTrial> ofLayout; ///< of the layout that is known
  struct Refusal {
    std::optional<int64_t> microBatch;
    std::string message;
  };
  std::optional<Refusal> refusal; ///< the last one
  bool isRefused = false;
};

} // namespace apc
