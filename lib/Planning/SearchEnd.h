// What ended a search: whether somebody who searches again will find the same.
#pragma once

#include "apc/Search/Algorithms.h"

namespace apc {

/// `Itself`: by a proof, the gap, or a budget that is no time, which end it in the same place every time. The clock and
/// the user do not.
enum class SearchEnd : uint8_t { Itself, TimeLimit, Interrupt };

/// What ended a search that came back with `result` after `seconds` by the clock.
SearchEnd endOf(const SearchResult &result, const SearchOptions &options, double seconds);
/// The same for one that came back with nothing in hand and nothing proven.
SearchEnd endWithout(const SearchOptions &options, double seconds);

/// For people, when there are such: "the time limit of 60 s ended the search of 2 of 5 meshes before it was done: ...".
/// One search in all is just "the search".
std::vector<std::string> timeLimitNotes(llvm::ArrayRef<SearchEnd> ends, const SearchOptions &options);

/// What is said, once, of an answer when the user ended a search.
constexpr llvm::StringLiteral stoppedNote = "the search was stopped: this is the best that it had found by then";

} // namespace apc
