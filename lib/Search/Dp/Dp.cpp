// The search `dp`: pruning, order, elimination; ranges where the memory limit binds; and, when a budget is exceeded,
// the best answer and the best bound so far.
#include "Start.h"

#include "../Local/LocalSearch.h"
#include "../Local/Repair.h"
#include "../Reduce/WeightedProblem.h"
#include "MemoryLimit.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Support/Error.h"

#include <cmath>

namespace apc {

using namespace dp;

namespace {

/// One call of `searchDp`.
class DpSearch {
public:
  DpSearch(const Problem &problem, const SearchOptions &options, const DpStart &start)
      : problem(problem), options(options), deadline(options, start.secondsLeft),
        incumbent(problem, start.cutoffSeconds), known(start.reduced), onlyExact(start.onlyExact),
        limitBinds(start.limitBinds && known && problem.memoryLimitBytes), bound(trivialLowerBound(problem)) {
    if (start.assignment)
      incumbent.offer(*start.assignment);
  }

  llvm::Expected<SearchResult> run() {
    llvm::Expected<SearchResult> result = search();
    if (result)
      result->unlimitedBoundSeconds = unlimitedBound;
    return result;
  }

private:
  llvm::Expected<SearchResult> search() {
    if (limitBinds && isTooWideWithBytes())
      return searchWide();
    switch (searchFastest()) {
    case Outcome::Answered:
      return std::move(answer);
    case Outcome::BudgetExceeded:
      return bestSoFar();
    case Outcome::TooWide:
      return searchWide();
    case Outcome::AboveLimit:
      return searchWithinMemory();
    }
    llvm_unreachable("every outcome is dealt with");
  }

  /// The end of the search without a memory limit.
  enum class Outcome { Answered, BudgetExceeded, TooWide, AboveLimit };

  Outcome answered(SearchResult result) {
    answer = std::move(result);
    return Outcome::Answered;
  }

  bool isTooWideWithBytes() const { return !makeExactOrder(*known, maxWork(), options.orders.get()); }

  /// Ignores the memory limit. Its tables are freed before the limited search makes its own.
  Outcome searchFastest() {
    std::variant<ReducedProblem, Impossible> outcome =
        reduceProblem(problem, Dominance::Seconds, known, options.numThreads);
    deadline.spend(reductionWork(problem));
    if (const Impossible *impossible = std::get_if<Impossible>(&outcome))
      return answered(infeasible(impossible->reason));
    const ReducedProblem &reduced = std::get<ReducedProblem>(outcome);
    std::optional<EliminationOrder> exact = makeExactOrder(reduced, maxWork(), options.orders.get());
    if (!exact && startSuffices())
      return Outcome::TooWide;
    EliminationOrder order = exact ? std::move(*exact) : makeRelaxedOrder(reduced, options.orders.get());
    Elimination elimination(reduced, order, options.numThreads, deadline);
    if (!elimination.run({}))
      return Outcome::BudgetExceeded;
    if (!elimination.total())
      return answered(infeasible(stuckReason(*elimination.firstStuckNode())));
    unlimitedBound = *elimination.total();
    bound = std::max(bound, unlimitedBound);
    fastest = withLeastBytes(problem, reduced.expand(elimination.decode()));
    Evaluation cost = incumbent.offer(fastest);
    if (incumbent.isReachedBy(bound, options.gapTolerance))
      return answered(incumbent.result(bound));
    if (order.isRelaxed)
      return Outcome::TooWide;
    bool fits = !problem.memoryLimitBytes || cost.bytes() <= *problem.memoryLimitBytes;
    return fits ? answered(incumbent.result(cost.seconds)) : Outcome::AboveLimit;
  }

  /// The problem has possible assignments: `searchFastest` has found one.
  ReducedProblem reduceWithBytes() const {
    if (known && problem.memoryLimitBytes)
      return *known;
    return std::get<ReducedProblem>(reduceProblem(problem, Dominance::SecondsAndBytes, nullptr, options.numThreads));
  }

  /// The most additions of one elimination if the whole search is to end within the time limit. Depends on the options,
  /// not on the machine.
  double maxWork() const { return 1e9 * options.timeLimitSeconds; }

  std::string stuckReason(uint32_t node) const {
    return "impossible pairs leave no choice for node '" + problem.nodes[node].name +
           "' and the nodes that it depends on";
  }

  /// The fastest assignment is known, and it does not fit.
  llvm::Expected<SearchResult> searchWithinMemory() {
    ReducedProblem reduced = reduceWithBytes();
    EliminationOrder order = makeOrder(reduced, maxWork(), options.orders.get());
    if (order.isRelaxed)
      return searchWide();
    Elimination elimination(reduced, order, options.numThreads, deadline);
    MemoryProblem memory{problem, reduced, order, options, deadline};
    if (!incumbent.exists()) {
      std::optional<LeastMemory> least = findLeastMemory(memory, elimination);
      if (!least)
        return bestSoFar();
      if (least->bytes > *problem.memoryLimitBytes)
        return aboveMemoryLimit(problem, least->bytes);
      incumbent.offer(least->assignment);
      incumbent.offer(repaired(reduced, least->assignment, problem.memoryLimitBytes, deadline));
    }
    Assignment start = incumbent.assignment();
    bound = std::max(bound, searchRanges(memory, {fastest, std::move(start)}, elimination, incumbent));
    return incumbent.result(bound);
  }

  /// May a search whose exact tables would be too large stop with its start?
  bool startSuffices() const { return onlyExact && incumbent.exists(); }

  /// Exact tables would be too large.
  llvm::Expected<SearchResult> searchWide() { return startSuffices() ? bestSoFar() : searchWithBounds(); }

  /// Relaxed sums give bounds, local moves give answers; under a memory limit at a series of weights of a byte.
  llvm::Expected<SearchResult> searchWithBounds() {
    ReducedProblem reduced = reduceWithBytes();
    EliminationOrder order = makeOrder(reduced, maxWork(), options.orders.get());
    Elimination elimination(reduced, order, options.numThreads, deadline);
    WeightedProblem weighted(reduced, options.numThreads);
    auto offerImproved = [&](std::vector<uint32_t> chosen) {
      incumbent.offer(reduced.expand(chosen));
      repair(weighted, problem.memoryLimitBytes, deadline, chosen);
      incumbent.offer(reduced.expand(chosen));
    };
    offerImproved(reduced.compress(greedyAssignment(problem)));
    if (problem.memoryLimitBytes && elimination.runForBytes() && elimination.total()) {
      if (*elimination.total() > static_cast<double>(*problem.memoryLimitBytes))
        return infeasible("what rests on the devices takes at least " +
                          againstLimit(static_cast<int64_t>(*elimination.total()), *problem.memoryLimitBytes));
      offerImproved(elimination.decode());
    }
    double weight = 0, low = 0;
    constexpr unsigned maxEvaluations = 24;
    std::optional<double> high;
    for (unsigned evaluation = 0; evaluation < maxEvaluations && elimination.run({.secondsPerByte = weight});
         ++evaluation) {
      std::vector<uint32_t> chosen = elimination.decode();
      offerImproved(chosen);
      double limit = static_cast<double>(problem.memoryLimitBytes.value_or(0));
      bound = std::max(bound, *elimination.total() - weight * limit);
      if (!problem.memoryLimitBytes || incumbent.isReachedBy(bound, options.gapTolerance))
        break;
      Evaluation cost = evaluate(problem, reduced.expand(chosen));
      if (cost.bytes() > *problem.memoryLimitBytes)
        low = weight;
      else
        high = weight;
      if (high && *high == 0)
        break;
      double first = cost.seconds / std::max(1.0, static_cast<double>(cost.bytes()));
      weight = high ? (low + *high) / 2 : std::max(4 * weight, first);
    }
    return bestSoFar();
  }

  /// A budget was exceeded. If there is no answer yet, moves of nodes get one second to find one.
  llvm::Expected<SearchResult> bestSoFar() {
    if (incumbent.isReachedBy(bound, options.gapTolerance))
      return incumbent.result(bound);
    constexpr double graceSeconds = 1;
    if (!incumbent.exists())
      incumbent.offer(repaired(problem, greedyAssignment(problem), Deadline(graceSeconds)));
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
  const ReducedProblem *known; ///< may be null
  bool onlyExact, limitBinds;
  SearchResult answer;
  Assignment fastest;        ///< of all assignments, ignoring the limit
  double bound;              ///< proven: no assignment within the limit takes fewer seconds
  double unlimitedBound = 0; ///< nor does any other that takes more bytes
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
