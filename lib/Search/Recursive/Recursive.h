// The parts of `recursive` that `auto` uses.
#pragma once

#include "../Bounds/FoldedMessages.h"
#include "../Reduce/Folding.h"
#include "../Reduce/Narrowing.h"
#include "../Reduce/WeightedProblem.h"

#include "apc/Search/Phases.h"

namespace apc {

/// A weighted problem with the messages of TRW-S on it, from which one search after the other goes on.
struct Messaging {
  explicit Messaging(const ReducedProblem &reduced, unsigned numThreads, std::vector<double> copies = {})
      : weighted(reduced, numThreads), copies(std::move(copies)) {}
  Messaging(const Messaging &) = delete; // `trws` refers to `weighted`

  WeightedProblem weighted;
  std::vector<double> copies;           ///< by edge of `weighted`: how many it stands for; empty: one each
  std::optional<TrwsBound> trws;        ///< made by the first pass
  int64_t mostTransient = 0;            ///< strategies of more bytes are left out of `trws`
  std::optional<double> secondsPerByte; ///< the weight of a byte with the highest bound; none: not known
};

/// The folded problem and its tables.
struct FoldedParts {
  Folding folding;
  ReducedProblem reduced;
};

/// Proven bounds for the strategies of a whole problem, numbered as the problem does; 0 where nothing is.
struct ProvenLeast {
  LeastWith leastWith;
  /// Answers within more memory are not spoken of. None: the caller vouches for all.
  std::optional<int64_t> memoryLimitBytes;
  bool ignoresLimit = false; ///< true: they hold for answers of any number of bytes
};

struct SharedWork::Parts {
  std::optional<ReducedProblem> reduced;
  std::optional<Messaging> whole;         ///< of `reduced`; made by `messagesOfWhole`
  std::optional<FoldedParts> folded;      ///< empty when nothing repeats
  bool hasFolded = false;                 ///< folding was tried
  std::optional<FoldedMessages> messages; ///< of the last search of `folded`
  std::vector<Assignment> met;            ///< the best at each weight of a byte; they need not fit
  std::optional<ProvenLeast> proven;

  /// Makes `reduced` and `folded` if they are missing. Returns the reason when the problem has no answer under any
  /// memory limit.
  std::optional<Impossible> make(const Problem &problem, unsigned numThreads);
  Messaging &messagesOfWhole(unsigned numThreads);
  /// Where messages on the problem, or on a part of its strategies, begin; null where nothing is known.
  const FoldedMessages *startOfMessages() const { return messages ? &*messages : nullptr; }

  /// Remembers what holds for the strategies of `reduced`.
  void remember(const Problem &problem, const LeastWith &leastWith, bool ignoresLimit);
  /// Is something known under the limit of \p problem?
  bool knowsOf(const Problem &problem) const;
  /// Bounds for the strategies of `reduced`; empty when nothing is known under the limit of \p problem.
  LeastWith recall(const Problem &problem) const;
};

/// The additions that TRW-S may take for the bound of `searchRecursive`; about 30 ms.
constexpr double recursiveBoundWork = 6e7;

/// TRW-S may go on for so long at one weight of a byte.
struct MessageBudget {
  double additions;
  unsigned passes = 40;
};

struct RecursiveEnd {
  SearchResult result;
  LeastWith leastWith; ///< empty where the phase ended before it passed messages
  bool ignoresLimit;   ///< `leastWith` holds for any number of bytes
};

/// The second phase of `recursive` on a part of the strategies: a proof that there is no answer, or a bound, holds for
/// that part. \p first has an answer.
RecursiveEnd searchRecursiveOn(const Problem &problem, const SearchOptions &options, Messaging &messaging,
                               const FoldedMessages *start, const InitialAnswer &first,
                               std::optional<double> cutoffSeconds, const MessageBudget &budget);

/// The second phase of `recursive`: repair where folding forced equal choices, and TRW-S for the bound, in at most
/// \p boundWork additions.
llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 SharedWork &shared, const InitialAnswer &first,
                                                 std::optional<double> cutoffSeconds, double boundWork);

} // namespace apc
