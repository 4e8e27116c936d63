// The search `recursive`: double recursion and repair, under a memory limit at prices of a byte that close in on it.
#include "Recursive.h"

#include "../Bounds/TrwsBound.h"
#include "../Incumbent.h"
#include "../Local/ForestMoves.h"
#include "../Local/LocalSearch.h"
#include "../Local/Repair.h"
#include "DoubleRecursion.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

namespace {

/// One stage on one problem, or on its folding.
class RecursiveSearch {
public:
  /// \p lowerBoundSeconds: what is proven already.
  RecursiveSearch(const Problem &problem, const SearchOptions &options, Landscape &landscape,
                  std::optional<double> cutoffSeconds, double lowerBoundSeconds)
      : problem(problem), options(options), deadline(options.timeLimitSeconds, options.stop),
        reduction(landscape.getReduction()), landscape(landscape), incumbent(problem, cutoffSeconds),
        cutoff(cutoffSeconds), bound(lowerBoundSeconds) {}

  /// An answer, or the proof that there is none, or neither.
  std::optional<SearchResult> find() {
    if (std::optional<SearchResult> none = leastBytesExceedLimit())
      return none;
    if (!attempt(0))
      closeIn();
    if (isImpossible)
      return infeasible(impossibleReason);
    return incumbent.exists() ? std::optional(incumbent.result(bound)) : std::nullopt;
  }

  /// From an answer to a better one and a bound; \p maxBoundWork: additions that messages may take. With a cutoff the
  /// bound comes first, for it may leave nothing to look for.
  SearchResult finish(const FirstAnswer &first, double maxBoundWork) {
    if (std::optional<SearchResult> none = leastBytesExceedLimit())
      return *none;
    bytePrice = first.bytePrice;
    incumbent.offer(first.result->assignment);
    if (cutoff)
      passMessages(bytePrice, maxBoundWork);
    if (!isImpossible && (!cutoff || !isReached())) {
      std::vector<uint32_t> chosen = reduction.compress(first.result->assignment);
      repairWithin(chosen);
      landscape.weigh({bytePrice, maxTransient});
      if (moveForests(landscape, deadline, chosen))
        repairWithin(chosen);
      raiseBound(maxBoundWork);
    }
    return isImpossible ? infeasible(impossibleReason) : incumbent.result(bound);
  }

  /// The price of a byte that the search ended with.
  double getBytePrice() const { return bytePrice; }

private:
  static constexpr const char *impossibleReason = "impossible pairs and the memory limit leave no choice for some node";

  /// Sets the least and the most transient bytes of any node.
  std::optional<SearchResult> leastBytesExceedLimit() {
    if (!problem.memoryLimitBytes)
      return std::nullopt;
    int64_t leastPersistent = 0;
    for (size_t node = 0; node < landscape.numNodes(); ++node) {
      leastPersistent += *llvm::min_element(landscape.unary(node).persistentBytes);
      leastTransient = std::max(leastTransient, *llvm::min_element(landscape.unary(node).transientBytes));
    }
    int64_t least = leastPersistent + leastTransient;
    if (least > *problem.memoryLimitBytes)
      return infeasible(llvm::formatv("every assignment needs at least {0} bytes of memory; the limit is {1}", least,
                                      *problem.memoryLimitBytes));
    maxTransient = *problem.memoryLimitBytes - leastPersistent;
    return std::nullopt;
  }

  static constexpr double maxStartWork = 2e7; ///< additions that messages may take to find a start

  /// Passes while they raise the bound and the work allows it, at least one. A sum under a price of a byte is at least
  /// the seconds plus the price of what is above the limit, whatever the transient bytes are. Returns the bound at this
  /// price.
  double passMessages(double bytesWeight, double maxWork) {
    landscape.weigh({bytesWeight, maxTransient});
    if (!messages)
      messages.emplace(landscape);
    double constant = reduction.constantSeconds, before = 0, best = 0;
    if (problem.memoryLimitBytes)
      constant -= bytesWeight * static_cast<double>(*problem.memoryLimitBytes - leastTransient);
    constexpr unsigned maxPasses = 40;
    for (unsigned pass = 0; pass < maxPasses && (pass == 0 || (pass + 1) * messages->work() <= maxWork); ++pass) {
      std::optional<double> sum = messages->pass();
      additions += messages->work();
      isImpossible |= !sum;
      if (isImpossible || deadline.expired())
        break;
      best = std::max(best, constant + *sum);
      bound = std::max(bound, best);
      constexpr double leastRise = 1e-6;
      if (isReached() || (pass > 0 && *sum - before <= leastRise * *sum))
        break;
      // Rises become smaller and smaller: what the passes that are left cannot make up for at this pace is out of
      // reach.
      double atBest = constant + *sum + (maxPasses - pass) * (*sum - before);
      if (pass > 2 && incumbent.secondsToBeat() && !incumbent.isReachedBy(atBest, options.gapTolerance))
        break;
      before = *sum;
    }
    return best;
  }

  bool isReached() const { return incumbent.isReachedBy(bound, options.gapTolerance); }

  /// Messages at the price of a byte that the answer came from and, where the limit binds, at prices around it, as long
  /// as the work allows it: as a function of the price the bound is concave but for messages that have not converged.
  void raiseBound(double maxWork) {
    double best = passMessages(bytePrice, maxWork), before = additions;
    constexpr double firstStep = 1.5, lastStep = 1.02, maxClimb = 3e8;
    auto left = [&] { return std::min(maxWork, maxClimb) - (additions - before); };
    for (double step = firstStep; bytePrice > 0 && step > lastStep; step = std::sqrt(step))
      for (double factor : {step, 1 / step})
        while (left() > 0 && !isReached() && !isImpossible && !deadline.expired()) {
          double price = bytePrice * factor, there = passMessages(price, left());
          if (there <= best)
            break;
          best = there;
          bytePrice = price;
        }
  }

  static constexpr std::optional<Outlook> noOutlook = std::nullopt;

  /// Recursion, or messages, and repair with a price for each persistent byte. Does the answer fit as it is?
  bool attempt(double bytesWeight) {
    std::optional<Assignment> cheapest;
    bool hasAxes = llvm::any_of(problem.nodeTables, [](const NodeTable &table) { return !table.axes.empty(); });
    for (std::optional<Outlook> outlook : {std::optional(Outlook::Best), noOutlook, std::optional(Outlook::Idle)}) {
      if (cheapest && (isImpossible || deadline.expired() || incumbent.isReachedBy(bound, options.gapTolerance)))
        break;
      if (outlook == Outlook::Idle && !hasAxes) // would be the same again
        continue;
      landscape.weigh({bytesWeight, maxTransient});
      if (!outlook)
        passMessages(bytesWeight, maxStartWork);
      std::vector<uint32_t> chosen = outlook ? bisectAxes(problem, landscape, *outlook) : messages->decode();
      repairFreely(chosen);
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

  /// Moves of one, of two and of many nodes, under the landscape's weights.
  void repairFreely(std::vector<uint32_t> &chosen) {
    repair(landscape, std::nullopt, deadline, chosen);
    std::vector<uint32_t> repaired = chosen;
    if (moveForests(landscape, deadline, chosen))
      repairSince(repaired, landscape, deadline, chosen);
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
  Deadline deadline;
  const dp::Reduction &reduction;
  Landscape &landscape;
  std::optional<MessagePassing> messages; ///< made when the first are passed
  Incumbent incumbent;
  std::optional<double> cutoff; ///< seconds
  double bound;                 ///< proven: no assignment within the limit takes fewer seconds
  double bytePrice = 0;
  double additions = 0;       ///< that messages have taken
  bool isImpossible = false;  ///< proven
  int64_t leastTransient = 0; ///< of every assignment's largest
  int64_t maxTransient = std::numeric_limits<int64_t>::max();
  std::optional<Assignment> small, large; ///< the last that fits and the last that does not
};

/// The folded problem's answer as one of the whole; empty when folding leaves none.
std::optional<FirstAnswer> findFolded(const Problem &problem, const SearchOptions &options, FoldedParts &parts) {
  parts.folding.problem.memoryLimitBytes = problem.memoryLimitBytes;
  Landscape landscape(parts.reduction);
  RecursiveSearch search(parts.folding.problem, options, landscape, std::nullopt,
                         trivialLowerBound(parts.folding.problem));
  std::optional<SearchResult> found = search.find();
  if (!found || found->status == SearchStatus::Infeasible)
    return std::nullopt;
  // What is proven of the folded problem is not proven of the whole.
  Incumbent whole(problem);
  whole.offer(parts.folding.unfold(found->assignment));
  if (!whole.exists())
    return std::nullopt;
  return FirstAnswer{whole.result(trivialLowerBound(problem)), search.getBytePrice()};
}

} // namespace

llvm::Expected<FirstAnswer> searchFirst(const Problem &problem, const SearchOptions &options,
                                        Preparation &preparation) {
  if (llvm::Error error = problem.check())
    return error;
  Preparation::Parts &parts = preparation.get();
  if (std::optional<dp::Impossible> impossible = parts.make(problem))
    return FirstAnswer{infeasible(impossible->reason)};
  if (parts.folded)
    if (std::optional<FirstAnswer> answer = findFolded(problem, options, *parts.folded))
      return std::move(*answer);
  RecursiveSearch search(problem, options, parts.landscapeOfWhole(), std::nullopt, trivialLowerBound(problem));
  std::optional<SearchResult> found = search.find();
  return FirstAnswer{std::move(found), search.getBytePrice()};
}

llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 Preparation &preparation, const FirstAnswer &first,
                                                 std::optional<double> cutoffSeconds, double boundWork) {
  if (!first.result)
    return noPlanError("recursive: found no assignment {0}, and no proof that there is none; the search 'dp' looks "
                       "everywhere",
                       problem.memoryLimitBytes ? "within the memory limit" : "without an impossible pair");
  if (first.result->status == SearchStatus::Infeasible)
    return *first.result;
  RecursiveSearch search(problem, options, preparation.get().landscapeOfWhole(), cutoffSeconds,
                         first.result->lowerBoundSeconds);
  return search.finish(first, boundWork);
}

llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 Preparation &preparation, const FirstAnswer &first,
                                                 std::optional<double> cutoffSeconds) {
  constexpr double boundWork = 6e7;
  return searchRecursiveFrom(problem, options, preparation, first, cutoffSeconds, boundWork);
}

llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options) {
  Preparation preparation;
  llvm::Expected<FirstAnswer> first = searchFirst(problem, options, preparation);
  if (!first)
    return first.takeError();
  return searchRecursiveFrom(problem, options, preparation, *first, std::nullopt);
}

} // namespace apc
