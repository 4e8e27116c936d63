// The search `recursive`: double recursion and repair. Under a memory limit each persistent byte gets a weight in
// seconds, and the weights close in on the limit.
#include "Recursive.h"

#include "../Bounds/TrwsBound.h"
#include "../Incumbent.h"
#include "../Local/ForestMoves.h"
#include "../Local/LocalSearch.h"
#include "../Local/Repair.h"
#include "DoubleRecursion.h"

#include "apc/Support/Error.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cmath>

namespace apc {

namespace {

/// One phase on one problem, or on its folding.
class RecursiveSearch {
public:
  /// \p lowerBoundSeconds: a bound that is proven already.
  RecursiveSearch(const Problem &problem, const SearchOptions &options, Messaging &messaging,
                  std::optional<double> cutoffSeconds, double lowerBoundSeconds)
      : problem(problem), options(options), deadline(options), reduced(messaging.weighted.getReduced()),
        weighted(messaging.weighted), messaging(messaging), incumbent(problem, cutoffSeconds), cutoff(cutoffSeconds),
        bound(lowerBoundSeconds) {}

  /// An answer, or the proof that there is none; empty when neither is found.
  std::optional<SearchResult> find() {
    if (std::optional<SearchResult> none = leastBytesExceedLimit())
      return none;
    if (!attempt(0))
      closeIn();
    if (isImpossible)
      return infeasible(impossibleReason);
    return incumbent.exists() ? std::optional(incumbent.result(bound)) : std::nullopt;
  }

  /// After `find`: raises the bound at the answer's weight of a byte and around it. The messages that remain are those
  /// of the highest.
  void climb(double mostAdditions) {
    if (!incumbent.exists() || isImpossible)
      return;
    raiseBound({mostAdditions}, mostAdditions);
    raiseAt(*messaging.secondsPerByte, {mostAdditions / 4}, maxTransient);
  }

  /// Improves an answer and its bound. With a cutoff the bound comes first: if it reaches the cutoff, the rest is not
  /// needed.
  SearchResult finish(const InitialAnswer &first, const FoldedMessages *folded, const MessageBudget &budget) {
    start = folded;
    if (std::optional<SearchResult> none = leastBytesExceedLimit())
      return *none;
    byteWeight = first.secondsPerByte;
    incumbent.offer(first.result->assignment);
    if (cutoff)
      raiseAtAnswer(budget);
    if (!isImpossible && (!cutoff || !isReached())) {
      std::vector<uint32_t> chosen = reduced.compress(first.result->assignment);
      repairWithin(chosen);
      weighted.weigh({byteWeight, maxTransient});
      if (moveForests(weighted, deadline, chosen))
        repairWithin(chosen);
      raiseBound(budget, mostClimb);
    }
    SearchResult result = isImpossible ? infeasible(impossibleReason) : incumbent.result(bound);
    result.unlimitedBoundSeconds = unlimitedBound;
    return result;
  }

  /// The weight of a byte, in seconds, that the search ended with.
  double getSecondsPerByte() const { return byteWeight; }

  LeastWith takeLeastWith() { return std::move(leastWith); }

  /// The cheapest assignments that were found at the weights that were tried.
  llvm::ArrayRef<Assignment> getMet() const { return met; }

private:
  static constexpr const char *impossibleReason = "impossible pairs and the memory limit leave no choice for some node";

  /// Also sets the bounds on the transient bytes of any assignment.
  std::optional<SearchResult> leastBytesExceedLimit() {
    if (!problem.memoryLimitBytes)
      return std::nullopt;
    int64_t leastPersistent = 0;
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      leastPersistent += *llvm::min_element(weighted.unary(node).persistentBytes);
      leastTransient = std::max(leastTransient, *llvm::min_element(weighted.unary(node).transientBytes));
    }
    int64_t least = leastPersistent + leastTransient;
    if (least > *problem.memoryLimitBytes)
      return aboveMemoryLimit(problem, least);
    maxTransient = *problem.memoryLimitBytes - leastPersistent;
    return std::nullopt;
  }

  static constexpr double maxStartWork = 2e7; ///< additions that TRW-S may take to find a start

  /// Passes of TRW-S at one weight of a byte: at least one, then more while they raise the bound and the work allows
  /// it. Within the limit, persistent bytes are at most the limit minus the least transient bytes. So a bound on the
  /// weighted sum, minus the weight of that many bytes, is a bound on the seconds. Returns it. Strategies of more than
  /// \p mostTransient bytes are left out.
  double raiseAt(double secondsPerByte, const MessageBudget &budget, int64_t mostTransient) {
    weighted.weigh({secondsPerByte, mostTransient});
    double constant = reduced.constantSeconds, before = 0, best = 0;
    if (problem.memoryLimitBytes)
      constant -= secondsPerByte * static_cast<double>(*problem.memoryLimitBytes - leastTransient);
    if (std::optional<double> sum = startMessages(mostTransient)) {
      best = constant + *sum;
      bound = std::max(bound, best);
      if (isReached())
        return best;
    }
    TrwsBound &trws = *messaging.trws;
    for (unsigned pass = 0; pass < budget.passes && (pass == 0 || (pass + 1) * trws.work() <= budget.additions);
         ++pass) {
      std::optional<double> sum = trws.pass();
      constexpr double perAddition = 0.3; // nanoseconds: kinds of strategies are taken together
      deadline.spend(perAddition * trws.work());
      additions += trws.work();
      isImpossible |= !sum;
      if (isImpossible || deadline.expired())
        break;
      best = std::max(best, constant + *sum);
      bound = std::max(bound, best);
      constexpr double leastRise = 1e-6;
      if (isReached() || (pass > 0 && *sum - before <= leastRise * *sum))
        break;
      // Rises become smaller from pass to pass: a target that the remaining passes miss at the current pace is out of
      // reach.
      double atBest = constant + *sum + (budget.passes - pass) * (*sum - before);
      if (pass > 2 && incumbent.secondsToBeat() && !incumbent.isReachedBy(atBest, options.gapTolerance))
        break;
      before = *sum;
    }
    if (!isImpossible)
      noteLeast(constant);
    return best;
  }

  /// New messages where there are none under these transient bytes. Returns the bound of those that the folded problem
  /// gives.
  std::optional<double> startMessages(int64_t mostTransient) {
    if (messaging.trws && messaging.mostTransient == mostTransient)
      return std::nullopt;
    messaging.mostTransient = mostTransient;
    TrwsBound &trws = messaging.trws.emplace(weighted, messaging.copies);
    return start ? start->start(problem, weighted, trws) : std::nullopt;
  }

  /// Keeps what the last pass says about single strategies, where it says more than other weights did.
  void noteLeast(double constant) {
    leastWith.resize(weighted.numNodes());
    for (size_t node = 0; node < weighted.numNodes(); ++node) {
      llvm::ArrayRef<double> now = messaging.trws->leastWith(node);
      leastWith[node].resize(now.size(), 0);
      for (auto [known, seconds] : llvm::zip_equal(leastWith[node], now))
        known = constant + seconds <= known ? known : constant + seconds;
    }
  }

  bool isReached() const { return incumbent.isReachedBy(bound, options.gapTolerance); }

  /// The weight of a byte to begin with: the best that is known, or else that of the answer.
  double firstWeight() const {
    double known = start ? start->getSecondsPerByte() : 0;
    return messaging.secondsPerByte.value_or(known > 0 ? known : byteWeight);
  }

  /// The same at the weight of a byte that the answer came from, or near it. Where that is 0, the limit counts for
  /// nothing, and the bound holds for any number of bytes.
  double raiseAtAnswer(const MessageBudget &budget) {
    if (byteWeight > 0)
      return raiseAt(firstWeight(), budget, maxTransient);
    double best = raiseAt(0, budget, std::numeric_limits<int64_t>::max());
    unlimitedBound = std::max(unlimitedBound, best);
    return best;
  }

  static constexpr double mostClimb = 3e8; ///< additions

  /// Raises the bound at the weight of a byte that the answer came from. Where the limit binds, it then climbs over
  /// weights around it while the work allows it: apart from unfinished convergence the bound is concave in the weight.
  void raiseBound(const MessageBudget &budget, double mostAdditions) {
    double best = raiseAtAnswer(budget), before = additions, weight = byteWeight > 0 ? firstWeight() : 0;
    constexpr double firstStep = 1.5, lastStep = 1.02;
    auto left = [&] { return std::min(budget.additions, mostAdditions) - (additions - before); };
    for (double step = firstStep; weight > 0 && step > lastStep; step = std::sqrt(step))
      for (double scale : {step, 1 / step})
        while (left() > 0 && !isReached() && !isImpossible && !deadline.expired()) {
          double there = raiseAt(weight * scale, {left(), budget.passes}, maxTransient);
          if (there <= best)
            break;
          best = there;
          weight *= scale;
        }
    messaging.secondsPerByte = weight;
  }

  static constexpr std::optional<Outlook> noOutlook = std::nullopt;

  /// A repaired start by double recursion, and the time that it took.
  struct Start {
    std::vector<uint32_t> chosen;
    Deadline time;
  };
  /// By outlook.
  using Bisected = std::array<std::optional<Start>, 2>;
  static_assert(static_cast<size_t>(Outlook::Best) < 2 && static_cast<size_t>(Outlook::Idle) < 2);

  Start bisected(Outlook outlook) const {
    Start start{bisectAxes(problem, weighted, outlook), deadline.fork()};
    constexpr double perPair = 0.4; // nanoseconds
    start.time.spend(perPair * numPairs(reduced));
    repairFreely(start.chosen, start.time);
    return start;
  }

  /// Both starts side by side under the current weights; none on one thread, which may not need the second.
  Bisected bisectedTogether() const {
    Bisected starts;
    if (options.numThreads > 1)
      forEach(starts.size(), options.numThreads,
              [&](size_t index) { starts[index] = bisected(static_cast<Outlook>(index)); });
    return starts;
  }

  /// Under the current weights.
  std::vector<uint32_t> startBy(std::optional<Outlook> outlook, double secondsPerByte, Bisected &together) {
    if (outlook) {
      std::optional<Start> &made = together[static_cast<size_t>(*outlook)];
      Start start = made ? std::move(*made) : bisected(*outlook);
      deadline.join(start.time);
      return std::move(start.chosen);
    }
    raiseAt(secondsPerByte, {maxStartWork}, maxTransient);
    std::vector<uint32_t> chosen = messaging.trws->decode();
    repairFreely(chosen, deadline);
    return chosen;
  }

  /// Three starts (double recursion with two outlooks, and TRW-S), each repaired, at one weight of a byte. Returns
  /// whether the cheapest of the three fits the memory limit.
  bool attempt(double secondsPerByte) {
    std::optional<Assignment> cheapest;
    bool hasAxes = llvm::any_of(problem.nodeTables, [](const NodeTable &table) { return !table.axes.empty(); });
    weighted.weigh({secondsPerByte, maxTransient});
    Bisected together = hasAxes ? bisectedTogether() : Bisected();
    for (std::optional<Outlook> outlook : {std::optional(Outlook::Best), noOutlook, std::optional(Outlook::Idle)}) {
      if (cheapest && (isImpossible || deadline.expired() || incumbent.isReachedBy(bound, options.gapTolerance)))
        break;
      if (outlook == Outlook::Idle && !hasAxes) // the same as `Best`
        continue;
      weighted.weigh({secondsPerByte, maxTransient});
      std::vector<uint32_t> chosen = startBy(outlook, secondsPerByte, together);
      Assignment assignment = reduced.expand(chosen);
      incumbent.offer(assignment);
      if (!cheapest || weightedSum(assignment, secondsPerByte) < weightedSum(*cheapest, secondsPerByte))
        cheapest = assignment;
      if (!fits(assignment))
        repairWithin(std::move(chosen));
    }
    byteWeight = secondsPerByte;
    if (!llvm::is_contained(met, *cheapest))
      met.push_back(*cheapest);
    (fits(*cheapest) ? small : large) = *cheapest;
    return fits(*cheapest);
  }

  /// Moves of one, two and many nodes under the current weights, without the limit.
  void repairFreely(std::vector<uint32_t> &chosen, const Deadline &until) const {
    repair(weighted, std::nullopt, until, chosen);
    std::vector<uint32_t> repaired = chosen;
    if (moveForests(weighted, until, chosen))
      repairSince(repaired, weighted, until, chosen);
  }

  double weightedSum(const Assignment &assignment, double secondsPerByte) const {
    Evaluation cost = evaluate(problem, assignment);
    return cost.seconds + secondsPerByte * static_cast<double>(cost.persistentBytes);
  }

  bool fits(const Assignment &assignment) const {
    return !problem.memoryLimitBytes || evaluate(problem, assignment).bytes() <= *problem.memoryLimitBytes;
  }

  /// Moves of one and two nodes by seconds alone, within the limit.
  void repairWithin(std::vector<uint32_t> chosen) {
    weighted.weigh({0, maxTransient});
    repair(weighted, problem.memoryLimitBytes, deadline, chosen);
    incumbent.offer(reduced.expand(chosen));
  }

  /// The fastest answer does not fit. Finds a weight of a byte that is high enough, then bisects for the lowest.
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
        repairWithin(reduced.compress(*start));
      }
  }

  const Problem &problem;
  const SearchOptions &options;
  Deadline deadline;
  const ReducedProblem &reduced;
  WeightedProblem &weighted;
  Messaging &messaging;
  const FoldedMessages *start = nullptr; ///< where messages begin; may be null
  Incumbent incumbent;
  std::optional<double> cutoff; ///< seconds
  double bound;                 ///< proven: no assignment within the limit takes fewer seconds
  double unlimitedBound = 0;    ///< proven: no assignment at all does
  double byteWeight = 0;        ///< of a persistent byte, in seconds
  double additions = 0;         ///< that TRW-S has taken
  LeastWith leastWith;
  bool isImpossible = false;  ///< proven
  int64_t leastTransient = 0; ///< no assignment's largest transient bytes are below this
  int64_t maxTransient = std::numeric_limits<int64_t>::max();
  std::vector<Assignment> met;
  std::optional<Assignment> small, large; ///< the last assignment that fits, and the last that does not
};

/// The answer of the folded problem as an answer of the whole; empty when there is none.
std::optional<InitialAnswer> findFolded(const Problem &problem, const SearchOptions &options,
                                        SharedWork::Parts &parts) {
  Folding &folding = parts.folded->folding;
  folding.problem.memoryLimitBytes = problem.memoryLimitBytes;
  Messaging messaging(parts.folded->reduced, options.numThreads, copiesOfEdges(folding, parts.folded->reduced));
  RecursiveSearch search(folding.problem, options, messaging, std::nullopt, trivialLowerBound(folding.problem));
  std::optional<SearchResult> found = search.find();
  for (const Assignment &assignment : search.getMet())
    parts.met.push_back(folding.unfold(assignment));
  if (!found || !found->hasAnswer())
    return std::nullopt;
  // A proof for the folded problem does not hold for the whole: keep the assignment only.
  Incumbent whole(problem);
  whole.offer(folding.unfold(found->assignment));
  if (!whole.exists())
    return std::nullopt;
  search.climb(numPairs(*parts.reduced) / 2); // a quarter of a pass over the whole
  if (messaging.trws)
    parts.messages.emplace(problem, folding, messaging.weighted, *messaging.trws, *messaging.secondsPerByte);
  return InitialAnswer{whole.result(trivialLowerBound(problem)), search.getSecondsPerByte()};
}

} // namespace

llvm::Expected<InitialAnswer> searchFirst(const Problem &problem, const SearchOptions &options, SharedWork &shared) {
  if (llvm::Error error = problem.check())
    return error;
  SharedWork::Parts &parts = shared.get();
  const Deadline deadline(options);
  if (!parts.reduced)
    deadline.spend(reductionWork(problem));
  if (std::optional<Impossible> impossible = parts.make(problem, options.numThreads))
    return InitialAnswer{infeasible(impossible->reason)};
  parts.messages.reset();
  if (parts.folded)
    if (std::optional<InitialAnswer> answer = findFolded(problem, options, parts))
      return std::move(*answer);
  RecursiveSearch search(problem, options, parts.messagesOfWhole(options.numThreads), std::nullopt,
                         trivialLowerBound(problem));
  std::optional<SearchResult> found = search.find();
  llvm::append_range(parts.met, search.getMet());
  return InitialAnswer{std::move(found), search.getSecondsPerByte()};
}

llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 SharedWork &shared, const InitialAnswer &first,
                                                 std::optional<double> cutoffSeconds, double boundWork) {
  if (!first.result)
    return noPlanError("recursive: found no assignment {0}, and no proof that there is none; the search 'dp' looks "
                       "everywhere",
                       problem.memoryLimitBytes ? "within the memory limit" : "without an impossible pair");
  if (!first.result->hasAnswer())
    return *first.result;
  SharedWork::Parts &parts = shared.get();
  return searchRecursiveOn(problem, options, parts.messagesOfWhole(options.numThreads), parts.startOfMessages(), first,
                           cutoffSeconds, {boundWork})
      .result;
}

RecursiveEnd searchRecursiveOn(const Problem &problem, const SearchOptions &options, Messaging &messaging,
                               const FoldedMessages *start, const InitialAnswer &first,
                               std::optional<double> cutoffSeconds, const MessageBudget &budget) {
  RecursiveSearch search(problem, options, messaging, cutoffSeconds, first.result->lowerBoundSeconds);
  SearchResult result = search.finish(first, start, budget);
  return {std::move(result), search.takeLeastWith(), first.secondsPerByte == 0};
}

llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options) {
  SharedWork shared;
  llvm::Expected<InitialAnswer> first = searchFirst(problem, options, shared);
  if (!first)
    return first.takeError();
  return searchRecursiveFrom(problem, options, shared, *first, std::nullopt, recursiveBoundWork);
}

} // namespace apc
