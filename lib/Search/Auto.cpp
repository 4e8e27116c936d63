// The search `auto`: `recursive` for a quick answer, `dp` from that answer; where a gap remains, TRW-S, and both again
// on the strategies that may still be part of a better answer.
#include "Deadline.h"
#include "Dp/BestMix.h"
#include "Dp/Start.h"
#include "Incumbent.h"
#include "Recursive/Recursive.h"

#include "apc/Search/Phases.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

/// The second phase of `auto`.
class AutoSearch {
public:
  AutoSearch(const Problem &problem, const SearchOptions &options, SharedWork &shared,
             std::optional<double> cutoffSeconds)
      : problem(problem), options(options), shared(shared), cutoff(cutoffSeconds), deadline(options),
        incumbent(problem, cutoffSeconds), bound(trivialLowerBound(problem)), unlimitedBound(bound) {}

  /// `begin`, unless `raise` was called for the same problem and limit. Then more passes of TRW-S, if the gap is still
  /// too large, which also leave fewer strategies; and at last `dp` whatever it takes, exact or not: so the answer is
  /// never worse than that of a search by itself.
  llvm::Expected<SearchResult> run(const InitialAnswer &first) {
    if (wasRaised(first))
      takeStart(first);
    else if (std::optional<SearchResult> none = begin(first))
      return std::move(*none);
    recall();
    narrowDown();
    if (cutoff && !isCutOff())
      mix();
    // Without an answer `dp` is run even when the time is over: it then takes a moment to find one.
    bool hasTime = !incumbent.exists() || !deadline.expired();
    bool isExact = narrowed && isDone();
    if (!isOptimal() && !isExact && hasTime)
      if (std::optional<SearchResult> none = runDp(/*onlyExact=*/true, options.timeLimitSeconds))
        return std::move(*none);
    if (incumbent.exists() && !isDone() && !isCutOff())
      if (std::optional<SearchResult> none = runDp(/*onlyExact=*/false, options.timeLimitSeconds))
        return std::move(*none);
    if (incumbent.exists() || incumbent.isReachedBy(bound, options.gapTolerance))
      return found();
    return noPlanError("auto: {0}", failure);
  }

  /// `begin`, and some passes of TRW-S: mostly a better bound.
  llvm::Expected<SearchResult> raise(const InitialAnswer &first) {
    if (std::optional<SearchResult> none = begin(first))
      return std::move(*none);
    if (incumbent.exists() && !isDone() && !isCutOff()) {
      RecursiveEnd end = raiseBound(shared.get().messagesOfWhole(options.numThreads), somePasses);
      if (!end.leastWith.empty())
        shared.get().remember(problem, end.leastWith, end.ignoresLimit);
    }
    return found();
  }

private:
  /// The second phase of `recursive`. Then `dp`, unless the answer is optimal or the cutoff is reached: it is exact,
  /// and cheap where memory does not bind and tables are small. Returns a result without an answer, which ends the
  /// search.
  std::optional<SearchResult> begin(const InitialAnswer &first) {
    if (std::optional<SearchResult> none =
            take("recursive", searchRecursiveFrom(problem, options, shared, first, cutoff, recursiveBoundWork)))
      return none;
    secondsPerByte = first.secondsPerByte;
    constexpr double shortWork = 0.1, someWork = 1; // seconds' worth of additions
    bool isNeeded = incumbent.exists() && !isOptimal() && !deadline.expired();
    if (isNeeded && !cutoff)
      mix();
    if (isNeeded && !isOptimal())
      return runDp(/*onlyExact=*/true, cutoff ? shortWork : someWork);
    return std::nullopt;
  }

  bool wasRaised(const InitialAnswer &first) {
    return first.result && first.result->hasAnswer() && shared.get().knowsOf(problem);
  }

  SearchResult found() const {
    SearchResult result = incumbent.result(bound);
    result.unlimitedBoundSeconds = unlimitedBound;
    return result;
  }

  /// Goes on from the end of `raise`.
  void takeStart(const InitialAnswer &first) {
    incumbent.offer(first.result->assignment);
    bound = std::max(bound, first.result->lowerBoundSeconds);
    unlimitedBound = std::max(unlimitedBound, first.result->unlimitedBoundSeconds);
    secondsPerByte = first.secondsPerByte;
  }

  /// More passes of TRW-S, on the whole problem or on what is left of it.
  RecursiveEnd raiseBound(Messaging &messaging, unsigned passes) {
    constexpr double additionsPerSecond = 5e8;
    SearchOptions rest = options;
    rest.timeLimitSeconds = deadline.remaining();
    InitialAnswer found{incumbent.result(bound), secondsPerByte};
    RecursiveEnd end = searchRecursiveOn(problem, rest, messaging, shared.get().startOfMessages(), found, cutoff,
                                         {additionsPerSecond * options.timeLimitSeconds, passes});
    take("messages", end.result);
    return end;
  }

  /// Begins with what earlier searches have proven about single strategies.
  void recall() {
    if (!incumbent.exists() || isDone() || isCutOff())
      return;
    LeastWith proven = shared.get().recall(problem);
    if (!proven.empty() && leaveOut(proven, shared.get().proven->ignoresLimit) && !isDone())
      runDp(/*onlyExact=*/true, exactWork);
  }

  static constexpr double exactWork = 4; ///< seconds' worth of additions
  static constexpr unsigned somePasses = 8;

  /// TRW-S tells which strategies may be part of a better answer: mostly few, after some passes, and `dp` is exact with
  /// them alone. Where their tables are still too large, more passes on what is left, while that leaves much less.
  void narrowDown() {
    constexpr double muchFewer = 0.8;
    constexpr unsigned manyPasses = 40;
    unsigned passes = somePasses;
    for (bool mayGoOn = true; mayGoOn && incumbent.exists() && !isDone() && !isCutOff(); passes = manyPasses) {
      std::optional<Messaging> ofNarrowed;
      if (narrowed)
        ofNarrowed.emplace(*narrowed, options.numThreads);
      RecursiveEnd end =
          raiseBound(ofNarrowed ? *ofNarrowed : shared.get().messagesOfWhole(options.numThreads), passes);
      if (isOptimal() || end.leastWith.empty() || deadline.expired())
        return;
      if (!narrowed)
        shared.get().remember(problem, end.leastWith, end.ignoresLimit);
      double pairs = numPairs(known());
      mayGoOn =
          leaveOut(end.leastWith, end.ignoresLimit) && (passes == somePasses || numPairs(known()) <= muchFewer * pairs);
      if (mayGoOn && !isDone())
        runDp(/*onlyExact=*/true, exactWork);
    }
  }

  /// Leaves out what is no part of a better answer. False when nothing is left: the answer is proven. \p ignoresLimit:
  /// nor of a better one that takes more bytes.
  bool leaveOut(const LeastWith &leastWith, bool ignoresLimit) {
    double below = *incumbent.secondsToBeat();
    std::variant<ReducedProblem, Impossible> left = narrow(problem, known(), leastWith, below, options.numThreads);
    deadline.spend(reductionWork(problem));
    narrowedBelow = below;
    narrowedFreely = narrowedFreely && ignoresLimit;
    if (std::holds_alternative<Impossible>(left)) {
      bound = std::max(bound, below);
      if (narrowedFreely)
        unlimitedBound = std::max(unlimitedBound, below);
      return false;
    }
    narrowed = std::move(std::get<ReducedProblem>(left));
    return true;
  }

  /// The strategies that are still in play.
  const ReducedProblem &known() { return narrowed ? *narrowed : *shared.get().reduced; }

  /// The best mix of the answers that `recursive` met at its weights of a byte.
  void mix() {
    const std::vector<Assignment> &met = shared.get().met;
    if (incumbent.exists() && !isDone() && met.size() > 1)
      if (auto mixed = bestMix(problem, incumbent.assignment(), met, options, deadline.remaining()))
        incumbent.offer(*mixed);
  }
  bool isCutOff() const { return cutoff && bound >= *cutoff * (1 - options.gapTolerance); }
  /// Proven to be the best answer, or not better than the cutoff.
  bool isOptimal() const { return isCutOff() || incumbent.isReachedBy(bound, 0); }
  /// \p workSeconds: so many seconds' worth of additions, but until the deadline of the search.
  std::optional<SearchResult> runDp(bool onlyExact, double workSeconds) {
    DpStart start{incumbent.exists() ? &incumbent.assignment() : nullptr,
                  cutoff,
                  deadline.remaining(),
                  shared.get().reduced ? &known() : nullptr,
                  onlyExact,
                  secondsPerByte > 0};
    SearchOptions own = options;
    own.timeLimitSeconds = std::min(options.timeLimitSeconds, workSeconds);
    return take("dp", searchDpFrom(problem, own, start));
  }
  bool isDone() const { return incumbent.isReachedBy(bound, options.gapTolerance) || deadline.expired(); }

  /// Keeps a better answer or bound. Returns a result without an answer, which ends the search.
  std::optional<SearchResult> take(llvm::StringRef phase, llvm::Expected<SearchResult> result) {
    if (!result) {
      failure = takeMessage(result.takeError()).second;
      return std::nullopt;
    }
    if (!result->hasAnswer() && !narrowedBelow)
      return std::move(*result);
    if (result->hasAnswer())
      incumbent.offer(result->assignment);
    if (narrowedFreely) // otherwise what was left out may be faster with more bytes
      unlimitedBound = std::max(unlimitedBound, std::min(result->unlimitedBoundSeconds,
                                                         narrowedBelow.value_or(result->unlimitedBoundSeconds)));
    double proven = result->lowerBoundSeconds;
    if (narrowedBelow) // what was left out has no fewer seconds
      proven = result->status == SearchStatus::Infeasible ? *narrowedBelow : std::min(proven, *narrowedBelow);
    bound = std::max(bound, proven);
    if (options.progress && incumbent.exists()) {
      SearchResult now = incumbent.result(bound);
      options.progress({phase, wall.seconds(), now.seconds, now.lowerBoundSeconds, now.gap()});
    }
    return std::nullopt;
  }

  const Problem &problem;
  const SearchOptions &options;
  SharedWork &shared;
  std::optional<double> cutoff; ///< seconds
  Deadline deadline;
  const WorkClock wall = WorkClock::ofWall();
  Incumbent incumbent;
  double bound;                           ///< proven: no assignment within the limit takes fewer seconds
  double unlimitedBound;                  ///< proven: nor does any other that takes more bytes
  std::optional<ReducedProblem> narrowed; ///< the strategies that may be part of an answer of fewer seconds than
  std::optional<double> narrowedBelow;    ///< these
  bool narrowedFreely = true;             ///< or of an answer that takes more bytes
  double secondsPerByte = 0; ///< with which the first answer was found; above 0 where the memory limit binds
  std::string failure;
};

llvm::Expected<SearchResult> continueAuto(const Problem &problem, const SearchOptions &options, SharedWork &shared,
                                          const InitialAnswer &first, std::optional<double> cutoffSeconds) {
  return AutoSearch(problem, options, shared, cutoffSeconds).run(first);
}

llvm::Expected<SearchResult> raiseAuto(const Problem &problem, const SearchOptions &options, SharedWork &shared,
                                       const InitialAnswer &first, std::optional<double> cutoffSeconds) {
  return AutoSearch(problem, options, shared, cutoffSeconds).raise(first);
}

llvm::Expected<SearchResult> continueRecursive(const Problem &problem, const SearchOptions &options, SharedWork &shared,
                                               const InitialAnswer &first, std::optional<double> cutoffSeconds) {
  return searchRecursiveFrom(problem, options, shared, first, cutoffSeconds, recursiveBoundWork);
}

} // namespace

llvm::Expected<SearchResult> searchAuto(const Problem &problem, const SearchOptions &options) {
  SharedWork shared;
  llvm::Expected<InitialAnswer> first = searchFirst(problem, options, shared);
  if (!first)
    return first.takeError();
  return continueAuto(problem, options, shared, *first, std::nullopt);
}

std::optional<SecondPhase> secondPhaseOf(const Search &search) {
  if (search.run == searchAuto)
    return SecondPhase{continueAuto, raiseAuto};
  if (search.run == searchRecursive)
    return SecondPhase{continueRecursive, nullptr};
  return std::nullopt;
}

} // namespace apc
