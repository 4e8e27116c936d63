// The search `dp`: reduction, plan, elimination; where the memory limit binds, ranges; where a budget is hit, the best
// answer at hand with the best bound at hand.
#include "Start.h"

#include "../Local/LocalSearch.h"
#include "../Local/Repair.h"
#include "../Reduce/WeightedProblem.h"
#include "MemoryLimit.h"

#include "apc/Support/Error.h"

#include <cmath>

namespace apc {

using namespace dp;

namespace {

/// One call of `searchDp`.
class DpSearch {
public:
  DpSearch(const Problem &problem, const SearchOptions &options, const DpStart &start)
      : problem(problem), options(options),
        deadline(start.secondsLeft.value_or(options.timeLimitSeconds), options.stop),
        incumbent(problem, start.cutoffSeconds), known(start.reduction), onlyExact(start.onlyExact),
        bound(trivialLowerBound(problem)) {
    if (start.assignment)
      incumbent.offer(*start.assignment);
  }

  llvm::Expected<SearchResult> run() {
    switch (searchFastest()) {
    case Outcome::Answered:
      return std::move(answer);
    case Outcome::BudgetHit:
      return answerAtHand();
    case Outcome::TooWide:
      return searchWide();
    case Outcome::AboveLimit:
      return searchWithinMemory();
    }
    llvm_unreachable("every outcome is dealt with");
  }

private:
  /// What the search without a memory limit ends with.
  enum class Outcome { Answered, BudgetHit, TooWide, AboveLimit };

  Outcome answered(SearchResult result) {
    answer = std::move(result);
    return Outcome::Answered;
  }

  /// As if there were no memory limit. Its tables are gone when those of the limited search are made.
  Outcome searchFastest() {
    std::variant<Reduction, Impossible> reduced = reduce(problem, Dominance::Seconds, known);
    if (const Impossible *impossible = std::get_if<Impossible>(&reduced))
      return answered(infeasible(impossible->reason));
    const Reduction &reduction = std::get<Reduction>(reduced);
    std::optional<Plan> exact = makeExactPlan(reduction, maxWork());
    if (!exact && startSuffices())
      return Outcome::TooWide;
    Plan plan = exact ? std::move(*exact) : makeRelaxedPlan(reduction);
    Elimination elimination(reduction, plan, options.numThreads, deadline);
    if (!elimination.run({}))
      return Outcome::BudgetHit;
    if (!elimination.total())
      return answered(infeasible(stuckReason(*elimination.firstStuckNode())));
    bound = std::max(bound, *elimination.total());
    fastest = withLeastBytes(problem, reduction.expand(elimination.decode()));
    Evaluation cost = incumbent.offer(fastest);
    if (incumbent.isReachedBy(bound, options.gapTolerance))
      return answered(incumbent.result(bound));
    if (plan.isRelaxed)
      return Outcome::TooWide;
    bool fits = !problem.memoryLimitBytes || cost.bytes() <= *problem.memoryLimitBytes;
    return fits ? answered(incumbent.result(cost.seconds)) : Outcome::AboveLimit;
  }

  /// What is possible has been found out before.
  Reduction reduceWithBytes() const {
    if (known && problem.memoryLimitBytes)
      return *known;
    return std::get<Reduction>(reduce(problem, Dominance::SecondsAndBytes));
  }

  /// Additions that one elimination may take for the whole search to have a chance in the time limit; a rule of the
  /// options, not of the machine.
  double maxWork() const { return 1e9 * options.timeLimitSeconds; }

  std::string stuckReason(uint32_t node) const {
    return "impossible pairs leave no choice for node '" + problem.nodes[node].name +
           "' and the nodes that it depends on";
  }

  /// The fastest assignment is known and does not fit.
  llvm::Expected<SearchResult> searchWithinMemory() {
    Reduction reduction = reduceWithBytes();
    Plan plan = makePlan(reduction, maxWork());
    if (plan.isRelaxed)
      return searchWide();
    Elimination elimination(reduction, plan, options.numThreads, deadline);
    MemoryProblem memory{problem, reduction, plan, options, deadline};
    if (!incumbent.exists()) {
      std::optional<LeastMemory> least = findLeastMemory(memory, elimination);
      if (!least)
        return answerAtHand();
      if (least->bytes > *problem.memoryLimitBytes)
        return infeasible(llvm::formatv("every assignment needs at least {0} bytes of memory; the limit is {1}",
                                        least->bytes, *problem.memoryLimitBytes));
      incumbent.offer(least->assignment);
      incumbent.offer(improveByOneNode(problem, least->assignment, deadline));
    }
    Assignment start = incumbent.assignment();
    bound = std::max(bound, searchRanges(memory, {fastest, std::move(start)}, elimination, incumbent));
    return incumbent.result(bound);
  }

  /// Where the graph is too wide for exact tables.
  bool startSuffices() const { return onlyExact && incumbent.exists(); }

  /// The graph is too wide for exact tables.
  llvm::Expected<SearchResult> searchWide() { return startSuffices() ? answerAtHand() : searchWithBounds(); }

  /// Relaxed sums from below, single-node moves from above, under a memory limit for a series of prices of a byte.
  llvm::Expected<SearchResult> searchWithBounds() {
    Reduction reduction = reduceWithBytes();
    Plan plan = makePlan(reduction, maxWork());
    Elimination elimination(reduction, plan, options.numThreads, deadline);
    Landscape landscape(reduction);
    auto offerImproved = [&](std::vector<uint32_t> chosen) {
      incumbent.offer(reduction.expand(chosen));
      repair(landscape, problem.memoryLimitBytes, deadline, chosen);
      incumbent.offer(reduction.expand(chosen));
    };
    offerImproved(reduction.compress(greedyAssignment(problem)));
    if (problem.memoryLimitBytes && elimination.run({.seconds = 0, .bytes = 1}) && elimination.total()) {
      if (*elimination.total() > static_cast<double>(*problem.memoryLimitBytes))
        return infeasible(llvm::formatv("every assignment needs more than {0} persistent bytes; the limit is {1}",
                                        static_cast<int64_t>(*elimination.total()) - 1, *problem.memoryLimitBytes));
      offerImproved(elimination.decode());
    }
    double price = 0, low = 0;
    constexpr unsigned maxEvaluations = 24;
    std::optional<double> high;
    for (unsigned evaluation = 0; evaluation < maxEvaluations && elimination.run({.bytes = price}); ++evaluation) {
      std::vector<uint32_t> chosen = elimination.decode();
      offerImproved(chosen);
      double limit = static_cast<double>(problem.memoryLimitBytes.value_or(0));
      bound = std::max(bound, *elimination.total() - price * limit);
      if (!problem.memoryLimitBytes || incumbent.isReachedBy(bound, options.gapTolerance))
        break;
      Evaluation cost = evaluate(problem, reduction.expand(chosen));
      if (cost.bytes() > *problem.memoryLimitBytes)
        low = price;
      else
        high = price;
      if (high && *high == 0)
        break;
      double first = cost.seconds / std::max(1.0, static_cast<double>(cost.bytes()));
      price = high ? (low + *high) / 2 : std::max(4 * price, first);
    }
    return answerAtHand();
  }

  /// A budget was hit. Where there is no answer yet, single-node moves get a moment beyond the deadline to find one.
  llvm::Expected<SearchResult> answerAtHand() {
    if (incumbent.isReachedBy(bound, options.gapTolerance))
      return incumbent.result(bound);
    constexpr double graceSeconds = 1;
    if (!incumbent.exists())
      incumbent.offer(improveByOneNode(problem, greedyAssignment(problem), Deadline(graceSeconds)));
    if (incumbent.exists())
      return incumbent.result(bound);
    return noPlanError("dp: found no assignment {0}within the time limit of {1} s, and no proof that there is none; "
                       "allow more time{2}",
                       problem.memoryLimitBytes ? "below the memory limit " : "", options.timeLimitSeconds,
                       problem.memoryLimitBytes ? " or memory" : "");
  }

  const Problem &problem;
  const SearchOptions &options;
  Deadline deadline;
  Incumbent incumbent;
  const Reduction *known; ///< may be null
  bool onlyExact;
  SearchResult answer;
  Assignment fastest; ///< when there is no limit
  double bound;       ///< proven: no assignment within the limit takes fewer seconds
};

} // namespace

llvm::Expected<SearchResult> searchDp(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  return DpSearch(problem, options, {}).run();
}

llvm::Expected<SearchResult> searchDpFrom(const Problem &problem, const SearchOptions &options, const DpStart &start) {
  return DpSearch(problem, options, start).run();
}

} // namespace apc
