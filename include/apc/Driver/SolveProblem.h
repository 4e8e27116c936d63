// `apc solve`: one search on a problem file.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

struct SolvedProblem {
  SearchResult result;
  std::string json; ///< the document of the result, also without an answer
};

/// Reads, searches, prints. Errors: an unreadable or ill-formed file, an unknown search.
llvm::Expected<SolvedProblem> solveProblem(llvm::StringRef path, llvm::StringRef search, const SearchOptions &options);

} // namespace apc
