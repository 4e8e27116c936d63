// The search `auto`: an answer at once, the exact search from there, and more bound where that did not finish.
#include "Deadline.h"
#include "Dp/Start.h"
#include "Incumbent.h"
#include "Recursive/Recursive.h"

#include "apc/Search/Phases.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

/// One call of `searchAuto`, or of its second stage.
class AutoSearch {
public:
  AutoSearch(const Problem &problem, const SearchOptions &options, Preparation &preparation,
             std::optional<double> cutoffSeconds)
      : problem(problem), options(options), preparation(preparation), cutoff(cutoffSeconds),
        deadline(options.timeLimitSeconds, options.stop), incumbent(problem, cutoffSeconds),
        bound(trivialLowerBound(problem)) {}

  /// `recursive` from its first stage; `dp` unless the answer is optimal or the cutoff reached, for it is exact at
  /// little cost where memory does not bind; where too large a gap remains, more messages.
  llvm::Expected<SearchResult> run(const FirstAnswer &first) {
    if (std::optional<SearchResult> none =
            take("recursive", searchRecursiveFrom(problem, options, preparation, first, cutoff)))
      return std::move(*none);
    bool isCutOff = cutoff && bound >= *cutoff * (1 - options.gapTolerance);
    // Without an answer `dp` goes on for a moment when the time is over, to find one.
    bool hasTime = !incumbent.exists() || !deadline.expired();
    if (!isCutOff && !incumbent.isReachedBy(bound, 0) && hasTime) {
      const std::optional<dp::Reduction> &reduction = preparation.get().reduction;
      DpStart start{incumbent.exists() ? &incumbent.assignment() : nullptr, cutoff, deadline.remaining(),
                    reduction ? &*reduction : nullptr, /*onlyExact=*/true};
      if (std::optional<SearchResult> none = take("dp", searchDpFrom(problem, options, start)))
        return std::move(*none);
    }
    constexpr double additionsPerSecond = 5e8;
    if (incumbent.exists() && !isDone()) {
      SearchOptions rest = options;
      rest.timeLimitSeconds = deadline.remaining();
      FirstAnswer found{incumbent.result(bound), first.bytePrice};
      take("messages", searchRecursiveFrom(problem, rest, preparation, found, cutoff,
                                           additionsPerSecond * options.timeLimitSeconds));
    }
    if (incumbent.exists() || incumbent.isReachedBy(bound, options.gapTolerance))
      return incumbent.result(bound);
    return noPlanError("auto: {0}", failure);
  }

private:
  bool isDone() const { return incumbent.isReachedBy(bound, options.gapTolerance) || deadline.expired(); }

  /// Keeps what is better. Returns the answer when it is that there is none.
  std::optional<SearchResult> take(llvm::StringRef step, llvm::Expected<SearchResult> result) {
    if (!result) {
      failure = takeMessage(result.takeError()).second;
      return std::nullopt;
    }
    if (result->status == SearchStatus::Infeasible)
      return std::move(*result);
    incumbent.offer(result->assignment);
    bound = std::max(bound, result->lowerBoundSeconds);
    if (options.progress) {
      SearchResult now = incumbent.result(bound);
      options.progress({step, deadline.elapsed(), now.seconds, now.lowerBoundSeconds, now.gap()});
    }
    return std::nullopt;
  }

  const Problem &problem;
  const SearchOptions &options;
  Preparation &preparation;
  std::optional<double> cutoff; ///< seconds
  Deadline deadline;
  Incumbent incumbent;
  double bound; ///< proven: no assignment within the limit takes fewer seconds
  std::string failure;
};

} // namespace

llvm::Expected<SearchResult> searchAuto(const Problem &problem, const SearchOptions &options) {
  Preparation preparation;
  llvm::Expected<FirstAnswer> first = searchFirst(problem, options, preparation);
  if (!first)
    return first.takeError();
  return searchAutoFrom(problem, options, preparation, *first, std::nullopt);
}

llvm::Expected<SearchResult> searchAutoFrom(const Problem &problem, const SearchOptions &options,
                                            Preparation &preparation, const FirstAnswer &first,
                                            std::optional<double> cutoffSeconds) {
  return AutoSearch(problem, options, preparation, cutoffSeconds).run(first);
}

std::optional<SecondStage> secondStageOf(const Search &search) {
  if (search.run == searchAuto)
    return SecondStage{searchAutoFrom, /*isQuick=*/false};
  if (search.run == searchRecursive)
    return SecondStage{searchRecursiveFrom, /*isQuick=*/true};
  return std::nullopt;
}

} // namespace apc
