// The end of a search, told by its answer and its time.
#include "apc/Search/SearchEnd.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace apc {

SearchEnd endOf(const SearchResult &result, const SearchOptions &options, double seconds) {
  bool isProven = result.status != SearchStatus::Feasible && result.status != SearchStatus::Unknown;
  bool isDone = isProven || (result.hasAnswer() && result.gap() <= options.gapTolerance);
  return isDone ? SearchEnd::Finished : endWithout(options, seconds);
}

SearchEnd endWithout(const SearchOptions &options, double seconds) {
  if (options.stop && options.stop->load())
    return SearchEnd::Interrupt;
  bool isOver = seconds >= options.timeLimitSeconds ||
                (options.clock && options.until && options.clock->seconds() >= *options.until);
  return isOver ? SearchEnd::TimeLimit : SearchEnd::Finished;
}

std::vector<std::string> timeLimitNotes(llvm::ArrayRef<SearchEnd> ends, const SearchOptions &options) {
  auto count = llvm::count(ends, SearchEnd::TimeLimit);
  if (count == 0)
    return {};
  std::string note;
  llvm::raw_string_ostream os(note);
  os << "the time limit of " << llvm::format("%g", options.timeLimitSeconds) << " s ended the search";
  if (ends.size() > 1)
    os << " of " << count << " of " << ends.size() << " meshes";
  bool isReproducible = options.clock && options.clock->isReproducible();
  os << " before it was done: "
     << (isReproducible ? "with more time (--time-limit) it may find a better answer"
                        : "another run may find another answer, and with more time (--time-limit) a better one");
  return {note};
}

std::string stoppedNote() { return "the search was stopped: this is the best that it had found by then"; }

} // namespace apc
