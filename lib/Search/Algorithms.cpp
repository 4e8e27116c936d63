// The table of searches, the names of their results, and the trivial bound.
#include "apc/Search/Algorithms.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace apc {

static constexpr Search searches[] = {
    {"auto", "recursive, then search dp from there, then bounds, until the gap or the time limit", searchAuto},
    {"dp", "search dp, exact: one op after the other is eliminated", searchDp},
    {"recursive", "cuts the mesh axis by axis; fast on large models", searchRecursive},
    {"propagation", "pinned ops hand their cuts on; search dp decides the rest", searchPropagation},
    {"ilp", "a mixed-integer program; exact, for moderate sizes", searchIlp},
    {"exhaustive", "tries every assignment; for small problems", searchExhaustive},
};

llvm::ArrayRef<Search> allSearches() { return searches; }

llvm::Expected<Search> findSearch(llvm::StringRef name) {
  const Search *found = llvm::find_if(searches, [&](const Search &search) { return search.name == name; });
  if (found != std::end(searches))
    return *found;
  auto names = llvm::map_range(searches, [](const Search &search) { return llvm::StringRef(search.name); });
  return inputError("there is no search '{0}'; there are: {1}", name, llvm::join(names, ", "));
}

llvm::StringRef searchStatusName(SearchStatus status) {
  switch (status) {
  case SearchStatus::Unknown:
    return "unknown";
  case SearchStatus::Optimal:
    return "optimal";
  case SearchStatus::Feasible:
    return "feasible";
  case SearchStatus::Infeasible:
    return "infeasible";
  case SearchStatus::CutOff:
    return "cut_off";
  }
  llvm_unreachable("every status has a name");
}

double SearchResult::gap() const {
  return seconds <= lowerBoundSeconds ? 0.0 : (seconds - lowerBoundSeconds) / seconds;
}

double trivialLowerBound(const Problem &problem) {
  std::vector<double> least(problem.nodeTables.size());
  for (auto [table, value] : llvm::zip(problem.nodeTables, least)) {
    value = table.costs.front().seconds;
    for (const StrategyCost &cost : table.costs)
      value = std::min(value, cost.seconds);
  }
  std::vector<double> leastPair(problem.pairTables.size());
  for (auto [table, value] : llvm::zip(problem.pairTables, leastPair)) {
    std::optional<double> best;
    for (size_t row = 0; row < table.rows(); ++row)
      for (double seconds : table.row(row))
        if (seconds == seconds && (!best || seconds < *best))
          best = seconds;
    value = best.value_or(0);
  }
  double bound = 0;
  for (const Node &node : problem.nodes)
    bound += least[node.table.index()];
  for (const Edge &edge : problem.edges)
    bound += leastPair[edge.table.index()];
  return bound;
}

} // namespace apc
