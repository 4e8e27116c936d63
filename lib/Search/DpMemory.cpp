// Ranges of the largest transient bytes, each with a Lagrangian bound and a frontier.
#include "DpMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace apc::dp {

Evaluation Incumbent::offer(const Assignment &assignment) {
  Evaluation cost = evaluate(problem, assignment);
  if (found && cost.seconds >= bestCost.seconds)
    return cost;
  if (llvm::Error error = verify(problem, assignment)) {
    llvm::consumeError(std::move(error));
    return cost;
  }
  found = true;
  best = assignment;
  bestCost = cost;
  return cost;
}

bool Incumbent::isReachedBy(double bound, double gapTolerance) const {
  constexpr double rounding = 1e-12;
  return found && bound >= bestCost.seconds * (1 - std::max(gapTolerance, rounding));
}

SearchResult Incumbent::result(double bound) const {
  SearchResult answer;
  answer.status = isReachedBy(bound, 0) ? SearchStatus::Optimal : SearchStatus::Feasible;
  answer.assignment = best;
  answer.seconds = bestCost.seconds;
  answer.bytes = bestCost.bytes();
  answer.lowerBoundSeconds = answer.status == SearchStatus::Optimal ? bestCost.seconds : std::max(bound, 0.0);
  return answer;
}

namespace {

/// The distinct transient bytes of the kept strategies, ascending.
std::vector<int64_t> transientValues(const Reduction &reduction) {
  std::vector<int64_t> values;
  for (const UnaryTable &unary : reduction.unaries)
    llvm::append_range(values, unary.transientBytes);
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Every assignment's largest transient bytes are at least this.
int64_t leastTransient(const Reduction &reduction) {
  int64_t result = 0;
  for (uint32_t unary : reduction.unaryOf)
    result = std::max(result, *llvm::min_element(reduction.unaries[unary].transientBytes));
  return result;
}

/// Assignments whose largest transient bytes are in [least, most].
struct Range {
  int64_t least, most;
  double bound; ///< seconds or bytes that none of them can beat
};

/// Lowest bound first; of equal bounds, the lower range.
struct LaterRange {
  bool operator()(const Range &a, const Range &b) const {
    return std::tie(a.bound, a.least) > std::tie(b.bound, b.least);
  }
};

using RangeQueue = std::priority_queue<Range, std::vector<Range>, LaterRange>;

/// Splits a range below `at`, which is above its lower end.
void split(RangeQueue &queue, llvm::ArrayRef<int64_t> values, const Range &range, int64_t at, double bound) {
  queue.push({range.least, *std::prev(llvm::lower_bound(values, at)), bound});
  queue.push({at, range.most, bound});
}

class RangeSearch {
public:
  RangeSearch(const MemoryProblem &memory, Elimination &elimination, Incumbent &incumbent)
      : memory(memory), elimination(elimination), incumbent(incumbent), values(transientValues(memory.reduction)),
        limit(*memory.problem.memoryLimitBytes) {}

  double run() {
    std::optional<double> unresolved;
    auto leave = [&](double bound) { unresolved = std::min(unresolved.value_or(bound), bound); };
    queue.push({leastTransient(memory.reduction), values.back(), memory.reduction.constantSeconds});
    while (!queue.empty()) {
      Range range = queue.top();
      queue.pop();
      if (incumbent.isReachedBy(range.bound, memory.options.gapTolerance) || memory.deadline.expired()) {
        leave(range.bound);
        break;
      }
      if (std::optional<double> bound = solve(range))
        leave(*bound);
    }
    return std::min(unresolved.value_or(incumbent.seconds()), incumbent.seconds());
  }

private:
  struct Line {
    double seconds;
    int64_t persistentBytes;
    int64_t transientBytes;
  };

  /// The least assignment under `weights`, offered to the incumbent; empty when there is none or at the deadline.
  std::optional<Line> least(const Weights &weights) {
    timedOut = timedOut || !elimination.run(weights);
    if (timedOut || !elimination.total())
      return std::nullopt;
    return judge(elimination.decode());
  }

  Line judge(llvm::ArrayRef<uint32_t> kept) {
    Evaluation cost = incumbent.offer(memory.reduction.expand(kept));
    return {cost.seconds, cost.persistentBytes, cost.transientBytes};
  }

  bool fits(const Line &line) const { return line.persistentBytes + line.transientBytes <= limit; }

  /// Returns the range's bound when it could not be settled: neither discarded, nor answered, nor split.
  std::optional<double> solve(const Range &range) {
    int64_t maxPersistent = limit - range.least;
    if (maxPersistent < 0)
      return std::nullopt;
    std::optional<Line> fast = least({.maxTransientBytes = range.most});
    if (timedOut)
      return range.bound;
    if (!fast || fits(*fast))
      return std::nullopt;
    double bound = std::max(range.bound, *elimination.total());
    if (incumbent.isReachedBy(bound, memory.options.gapTolerance))
      return bound;
    if (fast->persistentBytes <= maxPersistent) {
      split(queue, values, range, fast->transientBytes, bound);
      return std::nullopt;
    }
    std::optional<Line> small = least({.seconds = 0, .bytes = 1, .maxTransientBytes = range.most});
    if (timedOut)
      return bound;
    if (small->persistentBytes > maxPersistent)
      return std::nullopt;
    return solveBinding(range, maxPersistent, bound, *fast, *small);
  }

  /// Between an assignment that is too large and one that is small enough.
  std::optional<double> solveBinding(const Range &range, int64_t maxPersistent, double bound, Line large, Line small) {
    double weight = 0, dual = bound;
    maximiseDual(range, maxPersistent, large, small, weight, dual);
    bound = std::max(bound, dual);
    if (timedOut || incumbent.isReachedBy(bound, memory.options.gapTolerance))
      return bound;
    for (const Line *line : {&small, &large})
      if (line->transientBytes > range.least) {
        split(queue, values, range, line->transientBytes, bound);
        return std::nullopt;
      }
    if (!elimination.run({.bytes = weight, .maxTransientBytes = range.most}))
      return bound;
    return deepen(range, maxPersistent, weight, bound);
  }

  /// Raises `dual` to the best Lagrangian bound and sets its multiplier. `large` and `small` become the assignments on
  /// either side of the constraint whose lines meet there.
  void maximiseDual(const Range &range, int64_t maxPersistent, Line &large, Line &small, double &weight, double &dual) {
    constexpr unsigned maxEvaluations = 60;
    constexpr double rounding = 1e-13;
    for (unsigned evaluation = 0; evaluation < maxEvaluations; ++evaluation) {
      double trial = std::max(0.0, (small.seconds - large.seconds) /
                                       static_cast<double>(large.persistentBytes - small.persistentBytes));
      std::optional<Line> line = least({.bytes = trial, .maxTransientBytes = range.most});
      if (!line)
        return;
      double value = *elimination.total() - trial * static_cast<double>(maxPersistent);
      if (value > dual) {
        dual = value;
        weight = trial;
      }
      double meeting = small.seconds + trial * static_cast<double>(small.persistentBytes - maxPersistent);
      Line &side = line->persistentBytes <= maxPersistent ? small : large;
      bool isKnown = side.persistentBytes == line->persistentBytes && side.seconds <= line->seconds;
      if (value >= meeting - rounding * std::abs(meeting) || isKnown)
        return;
      side = *line;
    }
  }

  /// Looks for the range's best answer within a distance of its bound that grows until one is found or the incumbent is
  /// proven. A distance without an answer raises the bound.
  std::optional<double> deepen(const Range &range, int64_t maxPersistent, double weight, double bound) {
    constexpr double firstShare = 1.0 / 64, growth = 4, rounding = 1e-11;
    double dual = *elimination.total() - weight * static_cast<double>(maxPersistent);
    double distance = (incumbent.seconds() - dual) * firstShare;
    while (true) {
      double reach = std::min(dual + distance, incumbent.seconds());
      double threshold = reach + weight * static_cast<double>(maxPersistent);
      threshold += rounding * std::abs(threshold);
      FrontierAnswer answer =
          searchFrontier(memory.reduction, memory.plan, elimination,
                         {weight, threshold, maxPersistent, memory.options.maxFrontier}, memory.deadline);
      std::optional<Line> fastest;
      if (answer.fastest)
        fastest = judge(*answer.fastest);
      if (!answer.isComplete)
        return bound;
      if (fastest && fastest->seconds <= reach) {
        if (!fits(*fastest))
          split(queue, values, range, fastest->transientBytes, fastest->seconds);
        return std::nullopt;
      }
      bound = std::max(bound, reach);
      if (incumbent.isReachedBy(bound, memory.options.gapTolerance))
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
  bool timedOut = false;
};

} // namespace

double searchRanges(const MemoryProblem &memory, Elimination &elimination, Incumbent &incumbent) {
  return RangeSearch(memory, elimination, incumbent).run();
}

std::optional<LeastMemory> findLeastMemory(const MemoryProblem &memory, Elimination &elimination) {
  std::vector<int64_t> values = transientValues(memory.reduction);
  std::optional<LeastMemory> best;
  RangeQueue queue;
  queue.push({leastTransient(memory.reduction), values.back(), 0});
  while (!queue.empty()) {
    Range range = queue.top();
    queue.pop();
    if (best && (best->bytes <= *memory.problem.memoryLimitBytes || range.bound >= static_cast<double>(best->bytes)))
      break;
    if (!elimination.run({.seconds = 0, .bytes = 1, .maxTransientBytes = range.most}))
      return std::nullopt;
    if (!elimination.total())
      continue;
    Assignment assignment = memory.reduction.expand(elimination.decode());
    Evaluation cost = evaluate(memory.problem, assignment);
    if (!best || cost.bytes() < best->bytes)
      best = LeastMemory{cost.bytes(), std::move(assignment)};
    if (cost.transientBytes > range.least)
      split(queue, values, range, cost.transientBytes, *elimination.total() + static_cast<double>(range.least));
  }
  return best;
}

} // namespace apc::dp
