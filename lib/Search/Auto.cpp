// The search `auto`: `recursive` for a quick answer, `dp` from that answer, TRW-S and `dp` again where a gap remains.
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
        incumbent(problem, cutoffSeconds), bound(trivialLowerBound(problem)) {}

  /// The second phase of `recursive`. Then `dp`, unless the answer is optimal or the cutoff is reached: it is exact,
  /// and cheap where memory does not bind. Then more passes of TRW-S, if the gap is still too large, and at last `dp`
  /// where it is not exact: so the answer is never worse than that of a search by itself. Where others have an answer,
  /// the passes come before a `dp` that takes long: their bound is mostly enough.
  llvm::Expected<SearchResult> run(const InitialAnswer &first) {
    if (std::optional<SearchResult> none =
            take("recursive", searchRecursiveFrom(problem, options, shared, first, cutoff, recursiveBoundWork)))
      return std::move(*none);
    secondsPerByte = first.secondsPerByte;
    if (cutoff && incumbent.exists() && !isOptimal()) {
      if (std::optional<SearchResult> none = runDp(/*onlyExact=*/true, shortWork))
        return std::move(*none);
      raiseBound();
    }
    if (!isCutOff())
      mix();
    // Without an answer `dp` is run even when the time is over: it then takes a moment to find one.
    bool hasTime = !incumbent.exists() || !deadline.expired();
    if (!isOptimal() && hasTime)
      if (std::optional<SearchResult> none = runDp(/*onlyExact=*/true, options.timeLimitSeconds))
        return std::move(*none);
    if (!cutoff)
      raiseBound();
    if (incumbent.exists() && !isDone() && !isCutOff())
      if (std::optional<SearchResult> none = runDp(/*onlyExact=*/false, options.timeLimitSeconds))
        return std::move(*none);
    if (incumbent.exists() || incumbent.isReachedBy(bound, options.gapTolerance))
      return incumbent.result(bound);
    return noPlanError("auto: {0}", failure);
  }

private:
  /// More passes of TRW-S.
  void raiseBound() {
    constexpr double additionsPerSecond = 5e8;
    if (!incumbent.exists() || isDone() || isCutOff())
      return;
    SearchOptions rest = options;
    rest.timeLimitSeconds = deadline.remaining();
    InitialAnswer found{incumbent.result(bound), secondsPerByte};
    take("messages",
         searchRecursiveFrom(problem, rest, shared, found, cutoff, additionsPerSecond * options.timeLimitSeconds));
  }
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
  static constexpr double shortWork = 0.1; ///< seconds' worth of additions
  /// \p workSeconds: so many seconds' worth of additions, but until the deadline of the search.
  std::optional<SearchResult> runDp(bool onlyExact, double workSeconds) {
    const std::optional<ReducedProblem> &reduced = shared.get().reduced;
    DpStart start{incumbent.exists() ? &incumbent.assignment() : nullptr,
                  cutoff,
                  deadline.remaining(),
                  reduced ? &*reduced : nullptr,
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
    if (!result->hasAnswer())
      return std::move(*result);
    incumbent.offer(result->assignment);
    bound = std::max(bound, result->lowerBoundSeconds);
    if (options.progress) {
      SearchResult now = incumbent.result(bound);
      options.progress({phase, deadline.elapsed(), now.seconds, now.lowerBoundSeconds, now.gap()});
    }
    return std::nullopt;
  }

  const Problem &problem;
  const SearchOptions &options;
  SharedWork &shared;
  std::optional<double> cutoff; ///< seconds
  Deadline deadline;
  Incumbent incumbent;
  double bound;              ///< proven: no assignment within the limit takes fewer seconds
  double secondsPerByte = 0; ///< with which the first answer was found; above 0 where the memory limit binds
  std::string failure;
};

llvm::Expected<SearchResult> continueAuto(const Problem &problem, const SearchOptions &options, SharedWork &shared,
                                          const InitialAnswer &first, std::optional<double> cutoffSeconds) {
  return AutoSearch(problem, options, shared, cutoffSeconds).run(first);
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
    return SecondPhase{continueAuto, /*isCheap=*/false};
  if (search.run == searchRecursive)
    return SecondPhase{continueRecursive, /*isCheap=*/true};
  return std::nullopt;
}

} // namespace apc
