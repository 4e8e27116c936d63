// Ranges of the largest transient bytes, each with a Lagrangian bound and a frontier.
#include "MemoryLimit.h"

#include "../Local/LocalSearch.h"
#include "../Local/Repair.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace apc::dp {

namespace {

/// The distinct transient bytes of the surviving strategies, ascending.
std::vector<int64_t> transientValues(const ReducedProblem &reduced) {
  std::vector<int64_t> values;
  for (const UnaryTable &unary : reduced.unaries)
    llvm::append_range(values, unary.transientBytes);
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The least of the largest transient bytes, over all assignments.
int64_t leastTransient(const ReducedProblem &reduced) {
  int64_t result = 0;
  for (uint32_t unary : reduced.unaryOf)
    result = std::max(result, *llvm::min_element(reduced.unaries[unary].transientBytes));
  return result;
}

/// Assignments whose largest transient bytes are in [least, most].
struct Range {
  int64_t least, most;
  double bound; ///< a lower bound on their seconds or bytes
};

/// Lowest bound first; of equal bounds, the lower range.
struct LaterRange {
  bool operator()(const Range &a, const Range &b) const {
    return std::tie(a.bound, a.least) > std::tie(b.bound, b.least);
  }
};

using RangeQueue = std::priority_queue<Range, std::vector<Range>, LaterRange>;

/// Splits a range at `at`, which is above its lower end and begins the upper part.
void split(RangeQueue &queue, llvm::ArrayRef<int64_t> values, const Range &range, int64_t at, double bound) {
  queue.push({range.least, *std::prev(llvm::lower_bound(values, at)), bound});
  queue.push({at, range.most, bound});
}

/// Relative error of a dual's value.
constexpr double rounding = 1e-13;

class RangeSearch {
public:
  RangeSearch(const MemoryProblem &memory, llvm::ArrayRef<Assignment> known, Elimination &elimination,
              Incumbent &incumbent)
      : memory(memory), elimination(elimination), incumbent(incumbent), values(transientValues(memory.reduced)),
        limit(*memory.problem.memoryLimitBytes) {
    for (const Assignment &assignment : known)
      lines.push_back(judge(assignment));
  }

  double run() {
    std::optional<double> unresolved;
    auto leave = [&](double bound) { unresolved = std::min(unresolved.value_or(bound), bound); };
    queue.push({leastTransient(memory.reduced), values.back(), memory.reduced.constantSeconds});
    while (!queue.empty()) {
      Range range = queue.top();
      queue.pop();
      if (isReached(range.bound) || memory.deadline.expired()) {
        leave(range.bound);
        break;
      }
      if (std::optional<double> bound = solve(range))
        leave(*bound);
    }
    return std::min(unresolved.value_or(incumbent.seconds()), incumbent.seconds());
  }

private:
  /// An assignment. Its weighted sum, as a function of the weight of a byte, is a line.
  struct Line {
    Assignment assignment;
    double seconds;
    int64_t persistentBytes;
    int64_t transientBytes;
  };

  /// The minimal assignment of a run, offered to the incumbent; empty when there is none or at the deadline.
  std::optional<Line> minimum(const Weights &weights) {
    return minimum([&] { return elimination.run(weights); });
  }
  std::optional<Line> minimum(llvm::function_ref<bool()> run) {
    timedOut = timedOut || !run();
    if (timedOut || !elimination.total())
      return std::nullopt;
    return judge(memory.reduced.expand(elimination.decode()));
  }

  Line judge(Assignment assignment) {
    Evaluation cost = incumbent.offer(assignment);
    return {std::move(assignment), cost.seconds, cost.persistentBytes, cost.transientBytes};
  }

  bool fits(const Line &line) const { return line.persistentBytes + line.transientBytes <= limit; }

  bool isReached(double bound) const { return incumbent.isReachedBy(bound, memory.options.gapTolerance); }

  /// The fastest known line of a range on one side of its constraint.
  std::optional<size_t> fastestLine(const Range &range, int64_t maxPersistent, bool large) const {
    std::optional<size_t> best;
    for (auto [index, line] : llvm::enumerate(lines))
      if (line.transientBytes <= range.most && (line.persistentBytes > maxPersistent) == large &&
          (!best || line.seconds < lines[*best].seconds))
        best = index;
    return best;
  }

  /// Discards, answers or splits a range. Returns its bound when none of the three was possible.
  std::optional<double> solve(const Range &range) {
    int64_t maxPersistent = limit - range.least;
    if (maxPersistent < 0)
      return std::nullopt;
    if (!fastestLine(range, maxPersistent, /*large=*/true)) {
      std::optional<Line> fast = minimum({.maxTransientBytes = range.most});
      if (timedOut)
        return range.bound;
      if (!fast || fits(*fast))
        return std::nullopt;
      if (fast->persistentBytes <= maxPersistent) {
        split(queue, values, range, fast->transientBytes, std::max(range.bound, *elimination.total()));
        return std::nullopt;
      }
      lines.push_back(std::move(*fast));
    }
    if (!fastestLine(range, maxPersistent, /*large=*/false)) {
      std::optional<Line> small = minimum([&] { return elimination.runForBytes(range.most); });
      if (timedOut)
        return range.bound;
      if (small->persistentBytes > maxPersistent)
        return std::nullopt;
      lines.push_back(std::move(*small));
    }
    return solveBinding(range, maxPersistent);
  }

  /// There are assignments on either side of the constraint.
  std::optional<double> solveBinding(const Range &range, int64_t maxPersistent) {
    Dual dual = maximiseDual(range, maxPersistent);
    double bound = std::max(range.bound, dual.bound);
    if (timedOut || isReached(bound))
      return bound;
    const Line &large = lines[dual.large], &small = lines[dual.small];
    if (std::optional<Assignment> spliced = bestSplice(memory.problem, small.assignment, large.assignment)) {
      incumbent.offer(*spliced);
      incumbent.offer(repaired(memory.reduced, *spliced, memory.problem.memoryLimitBytes, memory.deadline));
    }
    if (isReached(bound))
      return bound;
    for (const Line *line : {&small, &large})
      if (line->transientBytes > range.least) {
        split(queue, values, range, line->transientBytes, bound);
        return std::nullopt;
      }
    if (!elimination.run({.secondsPerByte = dual.weight, .maxTransientBytes = range.most}))
      return bound;
    return deepen(range, maxPersistent, dual.weight, bound);
  }

  struct Dual {
    double bound = 0;
    double weight = 0;           ///< of a byte, in seconds
    size_t large = 0, small = 0; ///< the lines that meet there
  };

  /// The weight of a byte at which the lowest known lines of both sides meet.
  Dual meetingPoint(const Range &range, int64_t maxPersistent) const {
    Dual dual;
    dual.large = *fastestLine(range, maxPersistent, true);
    dual.small = *fastestLine(range, maxPersistent, false);
    while (true) {
      const Line &large = lines[dual.large], &small = lines[dual.small];
      dual.weight = std::max(0.0, (small.seconds - large.seconds) /
                                      static_cast<double>(large.persistentBytes - small.persistentBytes));
      auto valueOf = [&](const Line &line) {
        return line.seconds + dual.weight * static_cast<double>(line.persistentBytes - maxPersistent);
      };
      dual.bound = valueOf(small);
      size_t lowest = dual.small;
      for (auto [index, line] : llvm::enumerate(lines))
        if (line.transientBytes <= range.most && valueOf(line) < valueOf(lines[lowest]))
          lowest = index;
      size_t &side = lines[lowest].persistentBytes > maxPersistent ? dual.large : dual.small;
      if (side == lowest || valueOf(lines[lowest]) >= dual.bound - rounding * std::abs(dual.bound))
        return dual;
      side = lowest;
    }
  }

  /// The best Lagrangian bound of a range: adds lines where the known lines meet until no new line is lower there.
  /// Stops when the incumbent is reached.
  Dual maximiseDual(const Range &range, int64_t maxPersistent) {
    constexpr unsigned maxEvaluations = 60;
    Dual best;
    for (unsigned evaluation = 0; evaluation < maxEvaluations; ++evaluation) {
      Dual meeting = meetingPoint(range, maxPersistent);
      std::optional<Line> line = minimum({.secondsPerByte = meeting.weight, .maxTransientBytes = range.most});
      if (!line)
        break;
      double value = *elimination.total() - meeting.weight * static_cast<double>(maxPersistent);
      if (evaluation == 0 || value > best.bound)
        best = {value, meeting.weight, meeting.large, meeting.small};
      best.large = meeting.large;
      best.small = meeting.small;
      double atMeeting = line->seconds + meeting.weight * static_cast<double>(line->persistentBytes - maxPersistent);
      if (isReached(best.bound) || atMeeting >= meeting.bound - rounding * std::abs(meeting.bound))
        break;
      lines.push_back(std::move(*line));
    }
    return best;
  }

  /// Looks for the best answer of a range within a distance of its bound. The distance grows until an answer is found
  /// or the incumbent is proven; a distance without an answer raises the bound.
  std::optional<double> deepen(const Range &range, int64_t maxPersistent, double weight, double bound) {
    constexpr double firstShare = 1.0 / 32, growth = 2, thresholdRounding = 1e-11, roundedShare = 0.25;
    double dual = *elimination.total() - weight * static_cast<double>(maxPersistent);
    double distance = (*incumbent.secondsToBeat() - dual) * firstShare;
    double maxError = *incumbent.secondsToBeat() * memory.options.gapTolerance * roundedShare;
    while (true) {
      double reach = std::min(dual + distance, *incumbent.secondsToBeat());
      double threshold = reach + weight * static_cast<double>(maxPersistent);
      threshold += thresholdRounding * std::abs(threshold);
      FrontierAnswer answer =
          searchFrontier(memory.reduced, memory.order, elimination,
                         {weight, threshold, maxPersistent, memory.options.maxFrontier, maxError}, memory.deadline);
      std::optional<Line> fastest;
      if (answer.fastest)
        fastest = judge(memory.reduced.expand(*answer.fastest));
      if (!answer.isComplete)
        return bound;
      if (fastest && fastest->seconds <= reach) {
        bound = std::max(bound, fastest->seconds - answer.error);
        if (!fits(*fastest))
          split(queue, values, range, fastest->transientBytes, bound);
        else if (answer.error > 0)
          return bound;
        return std::nullopt;
      }
      bound = std::max(bound, reach - answer.error);
      if (isReached(bound))
        return bound;
      distance *= growth;
    }
  }

  const MemoryProblem &memory;
  Elimination &elimination;
  Incumbent &incumbent;
  std::vector<int64_t> values;
  int64_t limit;
  RangeQueue queue;
  std::vector<Line> lines; ///< the assignments found so far
  bool timedOut = false;
};

} // namespace

double searchRanges(const MemoryProblem &memory, llvm::ArrayRef<Assignment> known, Elimination &elimination,
                    Incumbent &incumbent) {
  return RangeSearch(memory, known, elimination, incumbent).run();
}

std::optional<LeastMemory> findLeastMemory(const MemoryProblem &memory, Elimination &elimination) {
  std::vector<int64_t> values = transientValues(memory.reduced);
  std::optional<LeastMemory> best;
  RangeQueue queue;
  queue.push({leastTransient(memory.reduced), values.back(), 0});
  while (!queue.empty()) {
    Range range = queue.top();
    queue.pop();
    if (best && (best->bytes <= *memory.problem.memoryLimitBytes || range.bound >= static_cast<double>(best->bytes)))
      break;
    if (!elimination.runForBytes(range.most))
      return std::nullopt;
    if (!elimination.total())
      continue;
    Assignment assignment = memory.reduced.expand(elimination.decode());
    Evaluation cost = evaluate(memory.problem, assignment);
    if (!best || cost.bytes() < best->bytes)
      best = LeastMemory{cost.bytes(), std::move(assignment)};
    if (cost.transientBytes > range.least)
      split(queue, values, range, cost.transientBytes, *elimination.total() + static_cast<double>(range.least));
  }
  return best;
}

} // namespace apc::dp
