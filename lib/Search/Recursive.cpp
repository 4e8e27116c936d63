// The search `recursive`: double recursion and repair, under a memory limit at prices of a byte that close in on it.
#include "Recursive.h"

#include "DoubleRecursion.h"
#include "Folding.h"
#include "Incumbent.h"
#include "LocalSearch.h"
#include "MessageBound.h"
#include "Repair.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// One call of `searchRecursive`, on a problem that can be reduced.
class RecursiveSearch {
public:
  RecursiveSearch(const Problem &problem, const SearchOptions &options, double maxBoundWork,
                  const dp::Reduction &reduction)
      : problem(problem), options(options), maxBoundWork(maxBoundWork),
        deadline(options.timeLimitSeconds, options.stop), reduction(reduction), landscape(reduction),
        messages(landscape), incumbent(problem), bound(trivialLowerBound(problem)) {}

  /// What a search of the folded problem hands to that of the whole.
  struct Start {
    Assignment assignment;
    double bytePrice = 0; ///< seconds, where the limit binds
  };

  llvm::Expected<SearchResult> run(const Start *start) {
    if (problem.memoryLimitBytes) {
      int64_t least = leastPersistent() + leastTransient();
      if (least > *problem.memoryLimitBytes)
        return infeasible(llvm::formatv("every assignment needs at least {0} bytes of memory; the limit is {1}", least,
                                        *problem.memoryLimitBytes));
      maxTransient = *problem.memoryLimitBytes - leastPersistent();
    }
    if (start) {
      bytePrice = start->bytePrice;
      incumbent.offer(start->assignment);
      repairWithin(reduction.compress(start->assignment));
      landscape.weigh({bytePrice, maxTransient});
      passMessages(bytePrice, maxBoundWork);
    }
    if (!incumbent.exists() && !isImpossible && !attempt(0))
      closeIn();
    if (incumbent.exists() && !start && !isImpossible) {
      landscape.weigh({bytePrice, maxTransient});
      passMessages(bytePrice, maxBoundWork);
    }
    if (isImpossible)
      return infeasible("impossible pairs and the memory limit leave no choice for some node");
    if (incumbent.exists())
      return incumbent.result(bound);
    return noPlanError("recursive: found no assignment {0}, and no proof that there is none; the search 'dp' looks "
                       "everywhere",
                       problem.memoryLimitBytes ? "within the memory limit" : "without an impossible pair");
  }

  /// The price of a byte that the search ended with.
  double getBytePrice() const { return bytePrice; }

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

  static constexpr double maxStartWork = 2e7; ///< additions that messages may take to find a start

  /// Passes while they raise the bound and the work allows it, at least one. A sum under a price of a byte is at least
  /// the seconds plus the price of what is above the limit, whatever the transient bytes are.
  void passMessages(double bytesWeight, double maxWork) {
    double constant = reduction.constantSeconds, before = 0;
    if (problem.memoryLimitBytes)
      constant -= bytesWeight * static_cast<double>(*problem.memoryLimitBytes - leastTransient());
    constexpr unsigned maxPasses = 40;
    for (unsigned pass = 0; pass < maxPasses && (pass == 0 || (pass + 1) * messages.work() <= maxWork); ++pass) {
      std::optional<double> sum = messages.pass();
      isImpossible |= !sum;
      if (isImpossible || deadline.expired())
        return;
      bound = std::max(bound, constant + *sum);
      constexpr double leastRise = 1e-6;
      if (incumbent.isReachedBy(bound, options.gapTolerance) || (pass > 0 && *sum - before <= leastRise * *sum))
        return;
      // Rises become smaller and smaller: what the passes that are left cannot make up for at this pace is out of
      // reach.
      double atBest = constant + *sum + (maxPasses - pass) * (*sum - before);
      if (pass > 2 && incumbent.exists() && !incumbent.isReachedBy(atBest, options.gapTolerance))
        return;
      before = *sum;
    }
  }

  static constexpr std::optional<Outlook> noOutlook = std::nullopt;

  /// Recursion, or messages, and repair with a price for each persistent byte. Does the answer fit as it is?
  bool attempt(double bytesWeight) {
    std::optional<Assignment> cheapest;
    for (std::optional<Outlook> outlook : {std::optional(Outlook::Best), std::optional(Outlook::Idle), noOutlook}) {
      if (cheapest && (isImpossible || deadline.expired() || incumbent.isReachedBy(bound, options.gapTolerance)))
        break;
      landscape.weigh({bytesWeight, maxTransient});
      if (!outlook)
        passMessages(bytesWeight, maxStartWork);
      std::vector<uint32_t> chosen = outlook ? bisectAxes(problem, landscape, *outlook) : messages.decode();
      repair(landscape, std::nullopt, deadline, chosen);
      Assignment assignment = reduction.expand(chosen);
      incumbent.offer(assignment);
      if (!cheapest || weighted(assignment, bytesWeight) < weighted(*cheapest, bytesWeight))
        cheapest = assignment;
      if (!fits(assignment))
        repairWithin(std::move(chosen));
    }
    bytePrice = bytesWeight;
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
        repairWithin(reduction.compress(*start));
      }
  }

  const Problem &problem;
  const SearchOptions &options;
  double maxBoundWork; ///< additions that messages may take at the end, for the bound
  Deadline deadline;
  const dp::Reduction &reduction;
  Landscape landscape;
  MessagePassing messages;
  Incumbent incumbent;
  double bound; ///< proven: no assignment within the limit takes fewer seconds
  double bytePrice = 0;
  bool isImpossible = false; ///< proven
  int64_t maxTransient = std::numeric_limits<int64_t>::max();
  std::optional<Assignment> small, large; ///< the last that fits and the last that does not
};

using Start = RecursiveSearch::Start;

/// Leaves in `bytePrice`, when given, the price of a byte that the search ended with.
llvm::Expected<SearchResult> solve(const Problem &problem, const SearchOptions &options, double boundWork,
                                   const Start *start, double *bytePrice) {
  auto dominance = problem.memoryLimitBytes ? dp::Dominance::SecondsAndBytes : dp::Dominance::Seconds;
  std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dominance);
  if (const dp::Impossible *impossible = std::get_if<dp::Impossible>(&reduced))
    return infeasible(impossible->reason);
  RecursiveSearch search(problem, options, boundWork, std::get<dp::Reduction>(reduced));
  llvm::Expected<SearchResult> result = search.run(start);
  if (bytePrice)
    *bytePrice = search.getBytePrice();
  return result;
}

} // namespace

llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options, double boundWork) {
  std::optional<Start> start;
  if (std::optional<Folding> folding = fold(problem)) {
    double bytePrice = 0;
    llvm::Expected<SearchResult> folded = solve(folding->problem, options, 0, nullptr, &bytePrice);
    if (!folded)
      llvm::consumeError(folded.takeError());
    else if (folded->status != SearchStatus::Infeasible)
      start = Start{folding->unfold(folded->assignment), bytePrice};
  }
  return solve(problem, options, boundWork, start ? &*start : nullptr, nullptr);
}

llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  constexpr double boundWork = 6e7;
  return searchRecursive(problem, options, boundWork);
}

} // namespace apc
