// `apc solve`: one search on a problem file.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

struct SolvedProblem {
  std::string json;   ///< the document of the result, also without an answer
  std::string reason; ///< why there is no answer; empty when there is one, and for each problem of a file
};

/// Reads, searches, prints. A file with `layers` is a problem of stages, which has one search of its own; one with
/// `instances` holds several. Every other file is a problem of nodes, for \p search. Errors: an unreadable or
/// ill-formed file, an unknown search.
llvm::Expected<SolvedProblem> solveProblem(llvm::StringRef path, llvm::StringRef search, const SearchOptions &options);

} // namespace apc
