// The searches: free functions over a Problem of plain values, and the table that the flag, its help and the tests
// read.
#pragma once

#include "apc/Search/Problem.h"
#include "apc/Support/WorkClock.h"

#include <atomic>
#include <functional>
#include <memory>

namespace apc {

/// The state of a search after one of its phases.
struct SearchProgress {
  llvm::StringRef phase; ///< "recursive", "dp", "messages"
  double elapsedSeconds = 0;
  double seconds = 0; ///< of the best answer
  double lowerBoundSeconds = 0;
  double gap = 0;
};

/// Orders of elimination that `dp` has found, by the structure of their problems: which nodes there are, how many
/// strategies they have, and which of their tables are equal. For many problems of few structures; threads may share
/// it.
class KnownOrders;

/// None are known at first.
std::shared_ptr<KnownOrders> makeKnownOrders();

struct SearchOptions {
  /// Budgets of work follow from it, so that equal limits give equal answers.
  double timeLimitSeconds = 60;
  /// Optional. Where time is read and work is counted; none: each search has a clock of its own.
  std::shared_ptr<WorkClock> clock = nullptr;
  /// Optional. The time is over at this reading of `clock`, whatever is left of the limit: searches that are part of
  /// something larger share its time.
  std::optional<double> until = {};
  unsigned numThreads = 1; ///< never changes a result
  /// Stop when (seconds - bound) / seconds is at most this.
  double gapTolerance = 0;
  /// `dp`: the most entries that one frontier may hold before the search turns to bounds.
  size_t maxFrontier = 20000;
  /// `exhaustive`: the most assignments that may be tried.
  uint64_t maxAssignments = 50'000'000;
  /// Optional. Once it is true, the search returns its best answer so far, as if its time were over.
  const std::atomic<bool> *stop = nullptr;
  /// Optional. `auto` calls it after each of its phases, on the thread that searches.
  std::function<void(const SearchProgress &)> progress = {};
  std::shared_ptr<KnownOrders> orders = nullptr; ///< that `dp` follows, and adds to; never changes a result

  /// `clock`, or a new one that ends with the time limit where there is none.
  std::shared_ptr<WorkClock> clockOrNew() const {
    return clock ? clock : std::make_shared<WorkClock>(timeLimitSeconds);
  }
};

enum class SearchStatus : uint8_t {
  Unknown,    ///< nothing found, and no proof that there is nothing
  Optimal,    ///< an answer, and a proof that none is faster
  Feasible,   ///< an answer
  Infeasible, ///< a proof that there is no answer
  CutOff,     ///< a proof that no answer is faster than the cutoff that the caller gave
};

/// "unknown", "optimal", "feasible", "infeasible", "cut_off".
llvm::StringRef searchStatusName(SearchStatus status);

/// The result of a search. Without an answer `assignment` is empty, and `reason` says which limit or which impossible
/// pairs are in the way.
struct SearchResult {
  SearchStatus status = SearchStatus::Unknown;
  Assignment assignment;
  double seconds = 0;
  int64_t bytes = 0;
  /// No assignment within the limit can be faster. Equal to `seconds` when optimal.
  double lowerBoundSeconds = 0;
  /// No assignment can be faster, whatever bytes it takes; 0 where nothing is known.
  double unlimitedBoundSeconds = 0;
  std::string reason;
  std::vector<std::string> notes = {}; ///< for the user; for example pins that disagree

  bool hasAnswer() const { return status == SearchStatus::Optimal || status == SearchStatus::Feasible; }
  /// (seconds - lower bound) / seconds; 0 when both are 0.
  double gap() const;
};

/// Tries every assignment in lexicographic order; the first of equal answers wins. The oracle of the tests. An error
/// when there are more than `maxAssignments`.
llvm::Expected<SearchResult> searchExhaustive(const Problem &problem, const SearchOptions &options);

/// Exact by variable elimination (min-fill order, shared tables for repeated parts), with a time/memory frontier where
/// the memory limit binds. When a budget is exceeded: the best assignment found, and a proven lower bound; an error of
/// fault NoPlan when no assignment was found by then. Ties: each node takes the smallest strategy index, in the order
/// in which nodes are decided, which depends on the problem alone. Sources: Dechter, "Bucket elimination" (1999),
/// section 4; for the memory limit the Lagrangian dual of Held and Karp (1971) with reduced-cost pruning.
llvm::Expected<SearchResult> searchDp(const Problem &problem, const SearchOptions &options);

/// Double recursion over the axes of the mesh (`NodeTable::axes`), then moves of one and of two nodes until none gains.
/// Where the memory limit binds, bytes get a weight in seconds, and several weights are tried. Near-linear,
/// deterministic, for any number of devices. An error of fault NoPlan when it finds no assignment and no proof that
/// there is none. Source: see `bisectAxes`.
llvm::Expected<SearchResult> searchRecursive(const Problem &problem, const SearchOptions &options);

/// `recursive` for a quick answer, then `dp` from that answer within the time limit, then TRW-S for the bound where a
/// gap remains. Stops at `gapTolerance`, at the time limit, or on `stop`, with the best answer and the best bound of
/// all.
llvm::Expected<SearchResult> searchAuto(const Problem &problem, const SearchOptions &options);

/// From the pinned nodes (`Node::pin`) along edges in both directions. One node after the other takes the strategy with
/// the least seconds of redistribution to the nodes decided before it; ties: its own seconds, then the index. Nodes of
/// a lower `priority` come first, then nodes nearer to a pin, then by index. Pinned nodes that still have several
/// strategies are decided together by `dp`, and so are the parts of the graph that no pin reaches. Where strategies
/// that come from two pins meet and the meeting costs seconds, a note names both pins and the path from each. Where no
/// strategy can meet both pins, that is an input error. NoPlan when the result exceeds the memory limit. Near-linear.
/// Sources: the breadth-first propagation of MindSpore's sharding_propagation, and the priorities of GSPMD (Xu et al.
/// 2021, section 3.5).
llvm::Expected<SearchResult> searchPropagation(const Problem &problem, const SearchOptions &options);

/// The problem as a mixed-integer program, solved by CBC. Shares nothing with `dp` but the pruning of dominated
/// strategies, so it certifies `dp`. One 0/1 variable for each node and strategy and one variable for each possible
/// pair of an edge, tied by sums (the local polytope: Wainwright and Jordan 2008, section 4.1); persistent bytes plus
/// one variable for the largest transient bytes stay within the limit. Starts from `recursive`. Costs are exact to 1e-7
/// of the whole. An input error when there are more than 4 million pairs.
llvm::Expected<SearchResult> searchIlp(const Problem &problem, const SearchOptions &options);

/// Seconds that no assignment can beat, in one pass over the tables: the minimum of every node plus the minimum of
/// every edge. For callers that discard whole problems before solving them.
double trivialLowerBound(const Problem &problem);

/// One row of the table of searches.
struct Search {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  llvm::Expected<SearchResult> (*run)(const Problem &, const SearchOptions &);
};

/// The search that is run when the user names none.
constexpr llvm::StringLiteral defaultSearch = "auto";

llvm::ArrayRef<Search> allSearches();
/// The row of that name; the error lists the names there are.
llvm::Expected<Search> findSearch(llvm::StringRef name);

} // namespace apc
