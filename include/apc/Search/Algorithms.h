// The searches: free functions over a Problem of plain values, and the one table that flag, help and tests read.
#pragma once

#include "apc/Search/Problem.h"

#include <atomic>
#include <functional>

namespace apc {

/// Where a search is: what it has just done, after how many seconds, and what it has by then.
struct SearchProgress {
  llvm::StringRef step; ///< "recursive", "dp", "messages"
  double elapsedSeconds = 0;
  double seconds = 0; ///< of the best answer
  double lowerBoundSeconds = 0;
  double gap = 0;
};

struct SearchOptions {
  double timeLimitSeconds = 60;
  unsigned numThreads = 1; ///< never changes a result
  /// Stop when (seconds - bound) / seconds is at most this.
  double gapTolerance = 0;
  /// `dp`: the most entries that one frontier may hold before the search turns to bounds.
  size_t maxFrontier = 20000;
  /// `exhaustive`: the most assignments that may be tried.
  uint64_t maxAssignments = 50'000'000;
  /// When given: once it is true, the search comes back with what it has, as if its time were over.
  const std::atomic<bool> *stop = nullptr;
  /// `auto`: told after each of its steps; may be empty. Called on the thread that searches.
  std::function<void(const SearchProgress &)> progress = {};
};

enum class SearchStatus : uint8_t { Optimal, Feasible, Infeasible };

llvm::StringRef searchStatusName(SearchStatus status); ///< "optimal", "feasible", "infeasible"

/// The answer of a search. `assignment` is empty when infeasible, and `reason` then says which limit or which
/// impossible pairs.
struct SearchResult {
  SearchStatus status = SearchStatus::Infeasible;
  Assignment assignment;
  double seconds = 0;
  int64_t bytes = 0;
  /// No assignment within the limit can be faster. Equal to `seconds` when optimal.
  double lowerBoundSeconds = 0;
  std::string reason;
  std::vector<std::string> notes = {}; ///< what a user should know about the answer: pins that disagree

  /// (seconds - lower bound) / seconds; 0 when both are 0.
  double gap() const;
};

/// Tries every assignment, first best wins (lexicographic order). The oracle; an error when there are more than
/// `maxAssignments`.
llvm::Expected<SearchResult> searchExhaustive(const Problem &problem, const SearchOptions &options);

/// Exact by variable elimination (min-fill order, shared tables for repeated parts), with a time/memory frontier where
/// the memory limit binds. When a budget is hit: the best assignment found, and a proven lower bound; an error of fault
/// NoPlan when not even one assignment was found by then. Ties: each node takes the smallest strategy index, in the
/// order in which nodes are decided, which is a function of the problem alone. Sources: Dechter, "Bucket elimination"
/// (1999), section 4, and, for the memory limit, the Lagrangian dual of Held and Karp (1971) with reduced-cost pruning.
llvm::Expected<SearchResult> searchDp(const Problem &problem, const SearchOptions &options);

/// Double recursion over the axes of the mesh (`NodeTable::axes`), then moves of one and of two nodes until none gains;
/// for a memory limit that binds, at a series of prices of a byte. Near-linear, deterministic, any number of devices.
/// An error of fault NoPlan when it finds no assignment and no proof that there is none. Source: see `bisectAxes`.
llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options);

/// `recursive` for an answer at once; `dp` from there within the time limit; where a gap remains, more messages for the
/// bound. Stops at `gapTolerance`, at the time limit, or on `stop`, with the best answer and the best bound of all.
llvm::Expected<SearchResult> searchAuto(const Problem &problem, const SearchOptions &options);

/// From the nodes that are pinned (`Node::pin`), along edges in both directions: one node after the other takes, of its
/// strategies, the one with the least seconds of redistribution to the nodes decided before it; ties: its own seconds,
/// then the index. Nodes of a lower `turn` first, then those nearer to a pin, then by index; a pinned node to which
/// several strategies are left is decided with the other pinned ones by `dp`. Parts of the graph that no pin reaches
/// are decided by `dp`. Where strategies that come from two pins meet and the meeting costs seconds, a note names both
/// pins and the way from each; where no strategy can meet both, that is an input error. Near-linear. NoPlan when what
/// follows from the pins exceeds the memory limit. Source: the breadth-first propagation of MindSpore's
/// sharding_propagation and the priorities of GSPMD (Xu et al. 2021, section 3.5).
llvm::Expected<SearchResult> searchPropagation(const Problem &problem, const SearchOptions &options);

/// The problem as a mixed-integer program, by CBC: a certificate that shares nothing with `dp` but the shaving of
/// dominated strategies. One 0/1 variable for each node and strategy, one variable for each possible pair of an edge,
/// tied by sums (the local polytope: Wainwright and Jordan 2008, section 4.1); persistent bytes plus one variable for
/// the largest transient bytes stay within the limit. Starts from `recursive`. Costs are exact to 1e-7 of the whole.
/// An input error when there are more than 4 million pairs.
llvm::Expected<SearchResult> searchIlp(const Problem &problem, const SearchOptions &options);

/// Seconds that no assignment can beat, in one pass over the tables: the least of every node plus the least of every
/// edge. For callers that discard whole problems before solving them.
double trivialLowerBound(const Problem &problem);

/// One row of the table of searches.
struct Search {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  llvm::Expected<SearchResult> (*run)(const Problem &, const SearchOptions &);
};

/// What a plan is searched with when nobody names a search.
constexpr llvm::StringLiteral defaultSearch = "auto";

llvm::ArrayRef<Search> allSearches();
/// The row of that name; the error lists the names there are.
llvm::Expected<Search> findSearch(llvm::StringRef name);

} // namespace apc
