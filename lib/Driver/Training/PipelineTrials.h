// The points of a pipeline that were planned: micro-batches x policies of recomputation.
#pragma once

#include "PointPlanner.h"
#include "TrainingTrials.h"

#include <map>

namespace apc {

/// Tries the points of numbers of workers.
class PipelineTrials {
public:
  /// \p pool: all devices. \p hasPlan: there is a plan if none is found here; else trials go on until one is, however
  /// long that takes.
  PipelineTrials(const PlanRequest &request, const PointPlanner &points, const Pool &pool, bool hasPlan)
      : request(request), points(points), pool(pool),
        trials(request, {points.whole, points.whole, points.least, points.onlyAdds, points.bound}, points.control),
        policies(policiesOf(request)), hasPlan(hasPlan) {}

  /// The point of the known layout where that has as many workers; else, and where that fits not, the first point of
  /// `workers` that fits, of those with some 8 micro-batches a worker or more, until \p end seconds are left; of those
  /// with fewer where these are refused. Errors: all are refused.
  llvm::Error begin(int64_t workers, double end);
  /// Other micro-batches and policies of workers that have begun, as long as they are better, until \p end seconds are
  /// left.
  llvm::Error improve(int64_t workers, double end);
  /// Where trials took next to no time, plans all micro-batches of the workers of the best once more, and in a fifth of
  /// the time those of the others, whatever else is known: plans of points that are expected to be slower than the best
  /// are not made as well as they could be.
  llvm::Error tryAllAlone();
  /// The workers of which something fits, the fastest first.
  std::vector<int64_t> begun() const;
  const TrainingTrials &all() const { return trials; }
  double secondsLeft() const { return trials.secondsLeft(); }
  /// Seconds in which a point can be planned again, at the least.
  double secondsOfPoint() const { return shareOfPoint * request.timeLimitSeconds; }
  /// Has all that was done taken a small part of the time?
  bool hasMuchTime() const { return trials.secondsLeft() > shareOfMuch * request.timeLimitSeconds; }
  /// Has something been found that is faster than the step that is known?
  bool beatsKnown() const {
    return trials.found() && trials.found()->stepSeconds < points.control.knownSeconds.value_or(0);
  }
  /// The best of workers that have begun: its rank and its point.
  std::pair<PlanRank, PlanRequest> bestWith(int64_t workers) const {
    const Here &here = bestOf.at(workers);
    return {here.rank, here.point};
  }

private:
  /// The best that was found of a number of workers.
  struct Here {
    PlanRank rank;
    PlanRequest point;
    bool isByMemory; ///< more memory might make it faster
    bool isOfLayout = false;
  };

  /// All micro-batches that the schedule takes on so many workers, the fewest first. Errors (input): there are none.
  llvm::Expected<std::vector<PlanRequest>> pointsOf(int64_t workers) const;
  enum class Outcome { IsBest, IsWorse, FitsNot };

  /// Plans a point; the best is that of its number of workers.
  llvm::Expected<Outcome> tryPoint(const PlanRequest &point, double end);
  /// Plans `point` by \p plan, true where it fits, with its policy and those behind it until one fits; ends where that
  /// takes long.
  llvm::Error tryUntilPolicyFits(PlanRequest point, double end,
                                 llvm::function_ref<llvm::Expected<bool>(const PlanRequest &)> plan);
  /// All micro-batches of workers that have begun, with the policy of their best.
  llvm::Error tryAlone(int64_t workers, double end);
  /// Each point with every policy, until one fits; true where all were refused.
  llvm::Expected<bool> tryUntilOneFits(llvm::ArrayRef<PlanRequest> points, double end);
  /// With \p policy until another one is better; also the point behind one that is worse, where points take little
  /// time: some schedules want numbers of micro-batches that the workers divide.
  llvm::Error tryAsLongAsBetter(llvm::ArrayRef<PlanRequest> points, RecomputeSetting policy, double end);
  /// The best point with other policies, as long as they are better.
  llvm::Error tryPolicies(llvm::ArrayRef<RecomputeSetting> others, double end);

  static constexpr double shareOfPoint = 0.05, shareOfMuch = 0.8;

  const PlanRequest &request;
  const PointPlanner &points;
  const Pool &pool;
  TrainingTrials trials;
  std::vector<RecomputeSetting> policies;
  bool hasPlan;
  bool wasCheap = true;           ///< the last point of `tryUntilPolicyFits` took little time
  std::optional<Here> bestHere;   ///< of the number of workers that is being tried
  std::map<int64_t, Here> bestOf; ///< by number of workers
};

} // namespace apc
