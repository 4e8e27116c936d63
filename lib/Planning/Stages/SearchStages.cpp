// Branch and bound over schedules, cuts, widths and recomputation.
#include "apc/Planning/Stages/SearchStages.h"

#include "PathCuts.h"
#include "StageBounds.h"

#include "apc/Schedule/Pipeline/PipelineBounds.h"
#include "apc/Search/SearchEnd.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace apc {

namespace {

/// The best candidate so far.
struct Incumbent {
  size_t point = 0;
  PartialChoice choice;
  PipelineTime time;
};

/// How a partial choice compares with a whole one in the order of ties, as far as it is decided.
enum class TieOrder : uint8_t { Before, Open, Behind };

template <typename T>
TieOrder comparePrefix(const std::vector<T> &prefix, const std::vector<T> &whole) {
  auto [left, right] = std::mismatch(prefix.begin(), prefix.end(), whole.begin(), whole.end());
  if (left == prefix.end())
    return TieOrder::Open;
  return *left < *right ? TieOrder::Before : TieOrder::Behind;
}

TieOrder compare(const PartialChoice &partial, const PartialChoice &whole) {
  TieOrder order = comparePrefix(partial.ends, whole.ends);
  if (order == TieOrder::Open)
    order = comparePrefix(partial.widths, whole.widths);
  return order == TieOrder::Open ? comparePrefix(partial.recompute, whole.recompute) : order;
}

class StageSearch {
public:
  /// \p options: with a clock.
  StageSearch(const StageProblem &problem, const SearchOptions &options)
      : problem(problem), options(options), clock(options.clock), watch(*clock), costs(problem),
        points(pointsOf(problem, refused)) {
    for (const StagePoint &point : points)
      memories.emplace_back(problem, costs, point);
    for (size_t index = 0; index < points.size(); ++index) {
      bounds.emplace_back(problem, costs, points[index], memories[index]);
      paths.emplace_back(problem, costs, points[index], memories[index]);
    }
  }

  StageResult run() {
    std::vector<std::pair<double, size_t>> order; ///< points that may fit, by their bound
    for (size_t index = 0; index < points.size(); ++index) {
      if (std::optional<double> bound = bounds[index].seconds({}))
        order.push_back({*bound, index});
      else
        exceed(memories[index].leastLimit());
    }
    llvm::sort(order);
    for (auto [bound, index] : order)
      if (!incumbent || !isOver())
        startFrom(index);
    for (auto [bound, index] : order) {
      current = index;
      PartialChoice partial;
      if (!isHopeless(bound, partial))
        cut(partial, bound);
    }
    return result();
  }

private:
  const StagePoint &point() const { return points[current]; }
  const PipelineShape &shape() const { return points[current].shape(); }

  bool isOver() {
    constexpr unsigned together = 64;
    if (isStopped || ++numAsked % together != 1)
      return isStopped;
    constexpr double perAsking = 500; // nanoseconds
    clock->spend(perAsking * together);
    isStopped = (options.stop && options.stop->load(std::memory_order_relaxed)) ||
                watch.seconds() >= options.timeLimitSeconds || (options.until && clock->seconds() >= *options.until);
    return isStopped;
  }

  /// Keeps the bound of candidates that are not looked at.
  void discard(double bound) { leastDiscarded = std::min(leastDiscarded.value_or(bound), bound); }

  /// Keeps the least limit of all candidates that do not fit.
  void exceed(int64_t bytes) { leastExcess = std::min(leastExcess.value_or(bytes), bytes); }

  /// Discards a partial choice none of whose candidates is better than the incumbent, or as good and earlier.
  bool isHopeless(double bound, const PartialChoice &partial) {
    if (!incumbent)
      return false;
    double best = incumbent->time.stepSeconds;
    bool isClose = options.gapTolerance > 0 && bound >= best * (1 - options.gapTolerance);
    bool isTie =
        bound == best && (current > incumbent->point ||
                          (current == incumbent->point && compare(partial, incumbent->choice) == TieOrder::Behind));
    if (bound <= best && !isClose && !isTie)
      return false;
    discard(bound);
    return true;
  }

  /// Whether a worker whose stages are all cut may fit.
  bool fits(const PartialChoice &partial, uint32_t worker) {
    if (!problem.memoryLimitBytes)
      return true;
    std::vector<StageWork> stages(shape().numStages());
    for (uint32_t chunk = 0; chunk < shape().chunks; ++chunk) {
      uint32_t stage = shape().stageOf(worker, chunk);
      stages[stage] = costs.stageOf(shape(), partial, stage, StageCosts::For::Memory);
    }
    int64_t bytes = point().simulator.peakBytes(worker, stages);
    if (bytes <= *problem.memoryLimitBytes)
      return true;
    exceed(bytes);
    return false;
  }

  /// The stages from the first that has no layers.
  void cut(PartialChoice &partial, double bound) {
    if (isOver())
      return discard(bound);
    auto stage = static_cast<uint32_t>(partial.ends.size());
    uint32_t numLeft = shape().numStages() - stage - 1, first = stage == 0 ? 0 : partial.ends.back();
    for (uint32_t end = numLeft == 0 ? problem.numLayers() : first + 1; end + numLeft <= problem.numLayers(); ++end) {
      partial.ends.push_back(end);
      std::optional<double> seconds = bounds[current].seconds(partial.ends);
      double next = withPaths(std::max(bound, seconds.value_or(bound)), partial);
      bool isWorkerWhole = shape().chunkOf(stage) + 1 == shape().chunks;
      if (seconds && !isHopeless(next, partial) && (!isWorkerWhole || fits(partial, shape().workerOf(stage)))) {
        if (numLeft > 0)
          cut(partial, next);
        else
          widen(partial, next);
      }
      partial.ends.pop_back();
    }
  }

  /// The workers from the first that has no width.
  void widen(PartialChoice &partial, double bound) {
    if (isOver())
      return discard(bound);
    bool areSearched = !problem.space.widths.empty();
    if (areSearched && partial.widths.size() < shape().workers)
      return tryWidths(partial, bound);
    if (!areSearched)
      partial.widths.assign(shape().workers, 0);
    recompute(partial, bound);
    if (!areSearched)
      partial.widths.clear();
  }

  void tryWidths(PartialChoice &partial, double bound) {
    auto worker = static_cast<uint32_t>(partial.widths.size());
    uint64_t used = 0, numLeft = shape().workers - worker - 1;
    for (uint32_t width : partial.widths)
      used += costs.widths()[width];
    for (uint32_t width = 0; width < costs.widths().size(); ++width) {
      uint64_t sum = used + costs.widths()[width];
      if (sum + numLeft * *llvm::min_element(costs.widths()) > *problem.space.devices ||
          sum + numLeft * *llvm::max_element(costs.widths()) < *problem.space.devices)
        continue;
      partial.widths.push_back(width);
      if (fits(partial, worker)) {
        double next = std::max(bound, boundOf(partial));
        if (!isHopeless(next, partial))
          widen(partial, next);
      }
      partial.widths.pop_back();
    }
  }

  /// The stages from the first whose recomputation is open.
  void recompute(PartialChoice &partial, double bound) {
    if (isOver())
      return discard(bound);
    bool isDecided = partial.recompute.empty() && (!problem.space.recompute || shape().chunks == 1);
    if (isDecided && !recomputeWhereNeeded(partial))
      return;
    auto stage = static_cast<uint32_t>(partial.recompute.size());
    if (stage == shape().numStages()) {
      double next = std::max(bound, boundOf(partial));
      if (!isHopeless(next, partial) && !isHopeless(withPaths(next, partial), partial))
        simulate(partial);
      if (isDecided)
        partial.recompute.clear();
      return;
    }
    for (bool again : {false, true}) {
      partial.recompute.push_back(again);
      if (fits(partial, shape().workerOf(stage))) {
        double next = again ? std::max(bound, boundOf(partial)) : bound;
        if (!isHopeless(next, partial))
          recompute(partial, next);
      }
      partial.recompute.pop_back();
    }
  }

  /// Each stage recomputes if it must, which is best where workers have one stage each; false where a stage does not
  /// fit.
  bool recomputeWhereNeeded(PartialChoice &choice) const {
    choice.recompute.clear();
    for (uint32_t stage = 0, first = 0; stage < shape().numStages(); first = choice.ends[stage++]) {
      std::optional<bool> needed =
          memories[current].recomputes(stage, choice.widths[shape().workerOf(stage)], first, choice.ends[stage]);
      if (!needed) {
        choice.recompute.clear();
        return false;
      }
      choice.recompute.push_back(*needed);
    }
    return true;
  }

  double boundOf(const PartialChoice &partial) const {
    return pipelineBound(shape(), costs.workOf(shape(), partial), point().splitsBackward);
  }

  /// The bound, or that of a path of an earlier candidate.
  double withPaths(double bound, const PartialChoice &partial) {
    return incumbent ? paths[current].raise(bound, partial.ends, incumbent->time.stepSeconds) : bound;
  }

  /// Offers a whole choice; where it is no better than the incumbent, similar ones need not be simulated.
  void simulate(const PartialChoice &choice) {
    std::optional<double> seconds = offer(choice);
    if (seconds && *seconds > incumbent->time.stepSeconds)
      paths[current].learn(choice);
  }

  /// The seconds of a whole choice that fits, which becomes the incumbent where it is better.
  std::optional<double> offer(const PartialChoice &choice) {
    ++numSimulated;
    // A schedule of the table has no workers that wait for each other, as the tests of the table show.
    PipelineTime time = llvm::cantFail(point().simulator.run(costs.workOf(shape(), choice)));
    for (const WorkerTime &worker : time.workers)
      if (problem.memoryLimitBytes && worker.peakBytes > *problem.memoryLimitBytes) {
        exceed(worker.peakBytes);
        return std::nullopt;
      }
    double seconds = time.stepSeconds;
    if (!incumbent || seconds < incumbent->time.stepSeconds ||
        (seconds == incumbent->time.stepSeconds &&
         (current < incumbent->point ||
          (current == incumbent->point && compare(choice, incumbent->choice) == TieOrder::Before))))
      incumbent = Incumbent{current, choice, std::move(time)};
    return seconds;
  }

  /// An answer to begin with: the most even cut, then boundaries moved by one layer while that helps.
  void startFrom(size_t index) {
    current = index;
    PartialChoice choice{bounds[index].balancedEnds(), {}, {}};
    const auto *even = llvm::find_if(costs.widths(), [&](uint32_t width) {
      return !problem.space.devices || uint64_t(width) * shape().workers == *problem.space.devices;
    });
    if (even == costs.widths().end())
      return;
    choice.widths.assign(shape().workers, static_cast<uint32_t>(even - costs.widths().begin()));
    std::optional<double> best = offerCut(choice);
    for (bool improves = best.has_value(); improves && !isOver();) {
      improves = false;
      for (size_t boundary = 0; boundary + 1 < choice.ends.size(); ++boundary)
        for (uint32_t moved : {choice.ends[boundary] - 1, choice.ends[boundary] + 1}) {
          uint32_t before = boundary == 0 ? 0 : choice.ends[boundary - 1], kept = choice.ends[boundary];
          if (moved <= before || moved >= choice.ends[boundary + 1])
            continue;
          choice.ends[boundary] = moved;
          std::optional<double> seconds = offerCut(choice);
          if (seconds && *seconds < *best) {
            best = seconds;
            improves = true;
          } else {
            choice.ends[boundary] = kept;
          }
        }
    }
  }

  /// The seconds of a cut with widths, whose stages recompute if they must, or all of them.
  std::optional<double> offerCut(PartialChoice choice) {
    if (!recomputeWhereNeeded(choice))
      return std::nullopt;
    std::optional<double> seconds = offer(choice);
    if (seconds || !problem.space.recompute)
      return seconds;
    choice.recompute.assign(shape().numStages(), true);
    return offer(choice);
  }

  StageResult result() {
    StageResult result;
    result.numSimulated = numSimulated;
    if (!incumbent) {
      result.status = isStopped ? SearchStatus::Unknown : SearchStatus::Infeasible;
      result.lowerBoundSeconds = leastDiscarded.value_or(0);
      result.reason = reasonWithout();
    } else {
      result.seconds = incumbent->time.stepSeconds;
      result.lowerBoundSeconds = std::min(result.seconds, leastDiscarded.value_or(result.seconds));
      result.status = result.lowerBoundSeconds < result.seconds ? SearchStatus::Feasible : SearchStatus::Optimal;
      current = incumbent->point;
      describe(result);
    }
    if (!isStopped)
      return result;
    bool isInterrupted = options.stop && options.stop->load();
    if (isInterrupted)
      result.notes.push_back(stoppedNote());
    else
      llvm::append_range(result.notes, timeLimitNotes(SearchEnd::TimeLimit, options));
    return result;
  }

  void describe(StageResult &result) const {
    const PartialChoice &choice = incumbent->choice;
    result.choice.schedule = point().schedule;
    result.choice.workers = shape().workers;
    uint32_t before = 0;
    for (uint32_t end : choice.ends) {
      result.choice.stageSizes.push_back(end - before);
      before = end;
    }
    for (uint32_t width : choice.widths)
      result.choice.widths.push_back(costs.widths()[width]);
    result.choice.recompute = choice.recompute;
    for (const WorkerTime &worker : incumbent->time.workers) {
      result.finishSeconds.push_back(worker.finishSeconds);
      result.memoryBytes.push_back(worker.peakBytes);
    }
  }

  std::string reasonWithout() const {
    if (points.empty())
      return "no schedule of the space takes its numbers: " + llvm::join(refused, "; ");
    if (isStopped)
      return "the search ended before it found stages that fit, or a proof that there are none";
    if (leastExcess)
      return llvm::formatv("every choice of stages needs at least {0} of memory on a worker; the limit is {1}",
                           formatBytes(static_cast<double>(*leastExcess)),
                           formatBytes(static_cast<double>(*problem.memoryLimitBytes)));
    return llvm::formatv("no widths of the space add up to {0} devices", problem.space.devices.value_or(0));
  }

  const StageProblem &problem;
  const SearchOptions &options;
  std::shared_ptr<WorkClock> clock;
  Stopwatch watch;
  StageCosts costs;
  std::vector<std::string> refused; ///< why the other points have no lists
  std::vector<StagePoint> points;
  std::vector<StageMemory> memories; ///< by point
  std::vector<StageBounds> bounds;   ///< by point
  std::vector<PathCuts> paths;       ///< by point
  size_t current = 0;
  std::optional<Incumbent> incumbent;
  std::optional<double> leastDiscarded;
  std::optional<int64_t> leastExcess; ///< memory above the limit
  uint64_t numSimulated = 0, numAsked = 0;
  bool isStopped = false;
};

} // namespace

llvm::Expected<StageResult> searchStages(const StageProblem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  SearchOptions own = options;
  own.clock = options.clockOrNew();
  return StageSearch(problem, own).run();
}

} // namespace apc
