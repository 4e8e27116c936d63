// The search `auto`: an answer at once, the exact search from there, and more bound where that did not finish.
#include "Deadline.h"
#include "DpStart.h"
#include "Incumbent.h"
#include "Recursive.h"

#include "apc/Support/Error.h"

namespace apc {

namespace {

/// One call of `searchAuto`.
class AutoSearch {
public:
  AutoSearch(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), deadline(options.timeLimitSeconds, options.stop), incumbent(problem),
        bound(trivialLowerBound(problem)) {}

  llvm::Expected<SearchResult> run() {
    if (std::optional<SearchResult> none = take("recursive", searchRecursive(problem, options)))
      return std::move(*none);
    if (!isDone()) {
      SearchOptions rest = options;
      rest.timeLimitSeconds = deadline.remaining();
      llvm::Expected<SearchResult> result =
          incumbent.exists() ? searchDpFrom(problem, rest, incumbent.assignment()) : searchDp(problem, rest);
      if (std::optional<SearchResult> none = take("dp", std::move(result)))
        return std::move(*none);
    }
    constexpr double additionsPerSecond = 5e8;
    if (incumbent.exists() && !isDone()) {
      SearchOptions rest = options;
      rest.timeLimitSeconds = deadline.remaining();
      take("messages", searchRecursive(problem, rest, additionsPerSecond * options.timeLimitSeconds));
    }
    if (incumbent.exists())
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
  Deadline deadline;
  Incumbent incumbent;
  double bound; ///< proven: no assignment within the limit takes fewer seconds
  std::string failure;
};

} // namespace

llvm::Expected<SearchResult> searchAuto(const Problem &problem, const SearchOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  return AutoSearch(problem, options).run();
}

} // namespace apc
