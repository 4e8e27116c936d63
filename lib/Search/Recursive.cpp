// The search `recursive`: double recursion and repair, under a memory limit at prices of a byte that close in on it.
#include "DoubleRecursion.h"
#include "Folding.h"
#include "Incumbent.h"
#include "LocalSearch.h"
#include "Repair.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// One call of `searchRecursive`, on a problem that can be reduced.
class RecursiveSearch {
public:
  RecursiveSearch(const Problem &problem, const SearchOptions &options, const dp::Reduction &reduction)
      : problem(problem), deadline(options.timeLimitSeconds, options.stop), reduction(reduction), landscape(reduction),
        incumbent(problem), bound(trivialLowerBound(problem)) {}

  /// Repairs what others found, then as without them.
  llvm::Expected<SearchResult> run(const Assignment *start) {
    if (problem.memoryLimitBytes) {
      int64_t least = leastPersistent() + leastTransient();
      if (least > *problem.memoryLimitBytes)
        return infeasible(llvm::formatv("every assignment needs at least {0} bytes of memory; the limit is {1}", least,
                                        *problem.memoryLimitBytes));
      maxTransient = *problem.memoryLimitBytes - leastPersistent();
    }
    if (start) {
      incumbent.offer(*start);
      repairWithin(compress(*start));
    }
    if (!incumbent.exists() && !attempt(0))
      closeIn();
    if (incumbent.exists())
      return incumbent.result(bound);
    return noPlanError("recursive: found no assignment {0}, and no proof that there is none; the search 'dp' looks "
                       "everywhere",
                       problem.memoryLimitBytes ? "within the memory limit" : "without an impossible pair");
  }

private:
  int64_t leastPersistent() const {
    int64_t sum = 0;
    for (size_t node = 0; node < landscape.numNodes(); ++node)
      sum += *llvm::min_element(landscape.unary(node).persistentBytes);
    return sum;
  }

  int64_t leastTransient() const {
    int64_t result = 0;
    for (size_t node = 0; node < landscape.numNodes(); ++node)
      result = std::max(result, *llvm::min_element(landscape.unary(node).transientBytes));
    return result;
  }

  /// Recursion and repair with a price for each persistent byte. Does the answer fit as it is?
  bool attempt(double bytesWeight) {
    std::optional<Assignment> cheapest;
    for (Outlook outlook : {Outlook::Best, Outlook::Idle}) {
      if (cheapest && deadline.expired())
        break;
      landscape.weigh({bytesWeight, maxTransient});
      std::vector<uint32_t> chosen = bisectAxes(problem, landscape, outlook);
      repair(landscape, std::nullopt, deadline, chosen);
      Assignment assignment = reduction.expand(chosen);
      incumbent.offer(assignment);
      if (!cheapest || weighted(assignment, bytesWeight) < weighted(*cheapest, bytesWeight))
        cheapest = assignment;
      if (!fits(assignment))
        repairWithin(std::move(chosen));
    }
    (fits(*cheapest) ? small : large) = *cheapest;
    return fits(*cheapest);
  }

  double weighted(const Assignment &assignment, double bytesWeight) const {
    Evaluation cost = evaluate(problem, assignment);
    return cost.seconds + bytesWeight * static_cast<double>(cost.persistentBytes);
  }

  bool fits(const Assignment &assignment) const {
    return !problem.memoryLimitBytes || evaluate(problem, assignment).bytes() <= *problem.memoryLimitBytes;
  }

  /// Seconds alone, and the limit as it is.
  void repairWithin(std::vector<uint32_t> chosen) {
    landscape.weigh({0, maxTransient});
    repair(landscape, problem.memoryLimitBytes, deadline, chosen);
    incumbent.offer(reduction.expand(chosen));
  }

  /// The fastest does not fit: a price of a byte that is high enough, then ever closer to the least that is.
  void closeIn() {
    Evaluation fastest = evaluate(problem, *large);
    double low = 0, high = fastest.seconds / std::max(1.0, static_cast<double>(fastest.bytes()));
    constexpr unsigned maxRaises = 16, maxHalvings = 8;
    unsigned raises = 0;
    for (; raises < maxRaises && !deadline.expired() && !attempt(high); ++raises) {
      low = high;
      high *= 4;
    }
    for (unsigned halvings = 0; raises < maxRaises && halvings < maxHalvings && !deadline.expired(); ++halvings) {
      double middle = (low + high) / 2;
      (attempt(middle) ? high : low) = middle;
      if (small && large)
        spliceAndRepair();
    }
  }

  void spliceAndRepair() {
    std::optional<Assignment> spliced = bestSplice(problem, *small, *large);
    for (const Assignment *start : {&*small, spliced ? &*spliced : nullptr})
      if (start) {
        incumbent.offer(*start);
        repairWithin(compress(*start));
      }
  }

  /// The way back from `Reduction::expand`; a strategy that was shaved becomes the first that was not.
  std::vector<uint32_t> compress(const Assignment &assignment) const {
    std::vector<uint32_t> chosen;
    for (auto [node, strategy] : llvm::enumerate(assignment.strategies)) {
      const std::vector<uint32_t> &kept = reduction.keepSets[reduction.keepOf[node]];
      auto found = llvm::lower_bound(kept, strategy);
      chosen.push_back(found != kept.end() && *found == strategy ? found - kept.begin() : 0);
    }
    return chosen;
  }

  const Problem &problem;
  Deadline deadline;
  const dp::Reduction &reduction;
  Landscape landscape;
  Incumbent incumbent;
  double bound; ///< proven: no assignment within the limit takes fewer seconds
  int64_t maxTransient = std::numeric_limits<int64_t>::max();
  std::optional<Assignment> small, large; ///< the last that fits and the last that does not
};

} // namespace

static llvm::Expected<SearchResult> solve(const Problem &problem, const SearchOptions &options,
                                          const Assignment *start) {
  auto dominance = problem.memoryLimitBytes ? dp::Dominance::SecondsAndBytes : dp::Dominance::Seconds;
  std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dominance);
  if (const dp::Impossible *impossible = std::get_if<dp::Impossible>(&reduced))
    return infeasible(impossible->reason);
  return RecursiveSearch(problem, options, std::get<dp::Reduction>(reduced)).run(start);
}

llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  std::optional<Assignment> start;
  if (std::optional<Folding> folding = fold(problem)) {
    llvm::Expected<SearchResult> folded = solve(folding->problem, options, nullptr);
    if (!folded)
      llvm::consumeError(folded.takeError());
    else if (folded->status != SearchStatus::Infeasible)
      start = folding->unfold(folded->assignment);
  }
  return solve(problem, options, start ? &*start : nullptr);
}

} // namespace apc
