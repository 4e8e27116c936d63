// The end of a search: whether somebody who searches again will find the same.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// `Finished`: by a proof, the gap, or a deterministic budget; reproducible. So is `TimeLimit` while the clock goes by
/// work; `Interrupt` is not.
enum class SearchEnd : uint8_t { Finished, TimeLimit, Interrupt };

/// The end of a search that came back with `result` after `seconds` on its clock.
SearchEnd endOf(const SearchResult &result, const SearchOptions &options, double seconds);
/// The same for a search that came back with nothing in hand and nothing proven.
SearchEnd endWithout(const SearchOptions &options, double seconds);

/// For people, when there are such: "the time limit of 60 s ended the search of 2 of 5 meshes before it was done: ...",
/// and whether another run may end elsewhere. One search in all is just "the search".
std::vector<std::string> timeLimitNotes(llvm::ArrayRef<SearchEnd> ends, const SearchOptions &options);

/// The note on an answer whose search the user ended.
std::string stoppedNote();

} // namespace apc
