// The searches `recursive` and `auto` in two phases, for callers that compare many problems: first a quick answer to
// each problem, then the rest of the work, where it can still change which problem is best.
#pragma once

#include "apc/Search/Algorithms.h"

#include <memory>

namespace apc {

/// Results that the phases of one problem share, each computed when it is first needed: the problem without dominated
/// strategies, and that problem with its repeated parts folded. Only the memory limit of the problem may change between
/// phases.
class SharedWork {
public:
  SharedWork();
  ~SharedWork();
  SharedWork(SharedWork &&) noexcept;

  /// Takes over what the last search with \p other has proven about single strategies: "no answer with this strategy
  /// takes fewer seconds". For a problem with the same strategies and seconds of which the caller knows that all
  /// answers it wants were answers to the other one, under the limit that one had.
  void trust(const SharedWork &other);

  /// Give back the memory of what only a first phase, or only the raising of a bound, needs; it is computed again when
  /// it is needed.
  void endFirstPhase();
  void endRaise();
  /// Gives back all memory, but for what is proven about single strategies.
  void end();

  struct Parts;
  Parts &get() { return *parts; }

private:
  std::unique_ptr<Parts> parts;
};

/// The result of the first phase.
struct InitialAnswer {
  /// Empty: nothing was found and nothing proven. The bound of an answer is trivial.
  std::optional<SearchResult> result;
  double secondsPerByte = 0; ///< the cost of a persistent byte in the search for it, where the memory limit binds
};

/// The first phase: double recursion and repair, on the folded problem where parts repeat. An input error when the
/// problem does not pass `check`.
llvm::Expected<InitialAnswer> searchFirst(const Problem &problem, const SearchOptions &options, SharedWork &shared);

/// The second phase continues from the initial answer to the same problem with the same options.
struct SecondPhase {
  /// \p cutoffSeconds: the caller has no use for an answer that is not faster. The search stops as soon as its bound is
  /// within the gap tolerance of the cutoff or of its own answer; without an answer its status is then `CutOff`, with
  /// the bound. The cutoff never changes an answer below it.
  using Run = llvm::Expected<SearchResult> (*)(const Problem &problem, const SearchOptions &options, SharedWork &shared,
                                               const InitialAnswer &first, std::optional<double> cutoffSeconds);
  Run run;
  /// The part of `run` that mostly raises the bound; its answer and bound may then be the start of `run`. Null where
  /// `run` is about as fast as the first phase, so that waiting for a better cutoff saves nothing.
  Run raise;
};

/// Empty for searches that do all their work at once.
std::optional<SecondPhase> secondPhaseOf(const Search &search);

} // namespace apc
