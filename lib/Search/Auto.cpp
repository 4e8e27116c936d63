// The search `auto`: an answer at once, the exact search from there, and more bound where that did not finish.
#include "Deadline.h"
#include "DpStart.h"
#include "Incumbent.h"
#include "Recursive.h"

#include "apc/Search/Stages.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

/// One call of `searchAuto`, or of its second stage.
class AutoSearch {
public:
  AutoSearch(const Problem &problem, const SearchOptions &options, std::optional<double> cutoffSeconds)
      : problem(problem), options(options), cutoff(cutoffSeconds), deadline(options.timeLimitSeconds, options.stop),
        incumbent(problem, cutoffSeconds), bound(trivialLowerBound(problem)) {}

  llvm::Expected<SearchResult> run() {
    if (std::optional<SearchResult> none = take("recursive", searchRecursive(problem, options)))
      return std::move(*none);
    return finish();
  }

  llvm::Expected<SearchResult> runFrom(const std::optional<SearchResult> &first) {
    if (first && first->status == SearchStatus::Infeasible)
      return *first;
    if (first) {
      bound = std::max(bound, first->lowerBoundSeconds);
      incumbent.offer(first->assignment);
    }
    return finish();
  }

  /// `dp` unless the answer is optimal or the cutoff reached, for it is exact at little cost where memory does not
  /// bind; where too large a gap remains, messages.
  llvm::Expected<SearchResult> finish() {
    bool isCutOff = cutoff && bound >= *cutoff * (1 - options.gapTolerance);
    if (!isCutOff && !incumbent.isReachedBy(bound, 0) && !deadline.expired()) {
      DpStart start{incumbent.exists() ? &incumbent.assignment() : nullptr, cutoff, deadline.remaining()};
      if (std::optional<SearchResult> none = take("dp", searchDpFrom(problem, options, start)))
        return std::move(*none);
    }
    constexpr double additionsPerSecond = 5e8;
    if (incumbent.exists() && !isDone()) {
      SearchOptions rest = options;
      rest.timeLimitSeconds = deadline.remaining();
      take("messages", searchRecursive(problem, rest, additionsPerSecond * options.timeLimitSeconds));
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
  std::optional<double> cutoff; ///< seconds
  Deadline deadline;
  Incumbent incumbent;
  double bound; ///< proven: no assignment within the limit takes fewer seconds
  std::string failure;
};

} // namespace

llvm::Expected<SearchResult> searchAuto(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  return AutoSearch(problem, options, std::nullopt).run();
}

llvm::Expected<SearchResult> searchAutoFrom(const Problem &problem, const SearchOptions &options,
                                            const std::optional<SearchResult> &first,
                                            std::optional<double> cutoffSeconds) {
  if (llvm::Error error = problem.check())
    return error;
  return AutoSearch(problem, options, cutoffSeconds).runFrom(first);
}

std::optional<SecondStage> secondStageOf(const Search &search) {
  return search.run == searchAuto ? std::optional(SecondStage{searchAutoFrom}) : std::nullopt;
}

} // namespace apc
