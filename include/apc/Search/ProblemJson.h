// The text form of a problem and of an answer, so that a search is tested and a failure reproduced from a file.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// Reads
///   {"memory_limit_bytes": 15,
///    "nodes": [{"name": "a", "strategies": [{"name": "rows", "seconds": 1.0, "persistent_bytes": 4, "transient_bytes":
///    2}]}], "edges": [{"from": "a", "to": "b", "seconds": [[0, 1], [1, 0]]}]}
/// `null` in `seconds` is an impossible pair; byte keys default to 0, the limit to none; a strategy
/// may have "axes": [1, 0] (`NodeTable::axes`), a node "pin": "who fixed it", "priority": 1 and "hub": true (`Node`).
/// Equal tables are shared. Errors name `source`, the key and the accepted values. The result has passed
/// `Problem::check`.
llvm::Expected<Problem> parseProblem(llvm::StringRef json, llvm::StringRef source);
std::string printProblem(const Problem &problem);

/// Keys `status`, `seconds`, `bytes`, `lower_bound_seconds`, `gap`, `assignment` {node: strategy}, `search_seconds`,
/// `reason` when there is no answer, and `notes` when there are any.
std::string printResult(const Problem &problem, const SearchResult &result, double searchSeconds);

} // namespace apc
