// The searches `recursive` and `auto` in two stages, for callers that hold many problems against each other: an answer
// to each at once, then the rest of the work where it can still change which one is best.
#pragma once

#include "apc/Search/Algorithms.h"

#include <memory>

namespace apc {

/// What the stages of one problem share, made when it is first asked for: the problem without dominated strategies, and
/// with what repeats in it folded. Serves one problem, whose memory limit alone may change between stages.
class Preparation {
public:
  Preparation();
  ~Preparation();
  Preparation(Preparation &&) noexcept;

  struct Parts;
  Parts &get() { return *parts; }

private:
  std::unique_ptr<Parts> parts;
};

/// What the first stage found.
struct FirstAnswer {
  /// Empty: nothing was found and nothing proven. Its bound is a trivial one.
  std::optional<SearchResult> result;
  double bytePrice = 0; ///< seconds for a persistent byte, where the memory limit binds
};

/// Double recursion and repair on the problem with what repeats folded, or as it is where nothing does. An input error
/// when the problem does not pass `check`.
llvm::Expected<FirstAnswer> searchFirst(const Problem &problem, const SearchOptions &options, Preparation &preparation);

/// What goes on from the first stage of the same problem and options. \p cutoffSeconds: an answer that is no faster is
/// of no use; the search stops once its bound is within the gap tolerance of the cutoff, or of its own answer; when
/// that leaves it without an answer it says infeasible, with the bound. Seconds; never changes what is found below it.
struct SecondStage {
  llvm::Expected<SearchResult> (*run)(const Problem &problem, const SearchOptions &options, Preparation &preparation,
                                      const FirstAnswer &first, std::optional<double> cutoffSeconds);
  bool isQuick; ///< as the first stage: no work is worth waiting for a better cutoff
};

/// Empty for searches that do all their work at once.
std::optional<SecondStage> secondStageOf(const Search &search);

/// The second stage of `recursive`: repair where folding forced equal choices, and messages for the bound.
llvm::Expected<SearchResult> searchRecursiveFrom(const Problem &problem, const SearchOptions &options,
                                                 Preparation &preparation, const FirstAnswer &first,
                                                 std::optional<double> cutoffSeconds);

/// The second stage of `auto`: that of `recursive`, `dp` within the time limit, then more messages for the bound.
llvm::Expected<SearchResult> searchAutoFrom(const Problem &problem, const SearchOptions &options,
                                            Preparation &preparation, const FirstAnswer &first,
                                            std::optional<double> cutoffSeconds);

} // namespace apc
