// One search on a problem file.
#include "apc/Search/SearchEnd.h"

#include "apc/Driver/SolveProblem.h"

#include "apc/Search/LeastBytes.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace apc {

llvm::Expected<SolvedProblem> solveProblem(llvm::StringRef path, llvm::StringRef name, const SearchOptions &options) {
  llvm::Expected<Search> search = findSearch(name);
  if (!search)
    return search.takeError();
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  llvm::Expected<Problem> problem = parseProblem(*text, path);
  if (!problem)
    return problem.takeError();
  auto begin = std::chrono::steady_clock::now();
  llvm::Expected<SearchResult> result = search->run(*problem, options);
  if (!result) {
    auto [fault, message] = takeMessage(result.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    result = SearchResult(); // unknown: nothing found, and no proof that there is nothing
    result->reason = std::move(message);
  }
  *result = withLeastBytes(*problem, std::move(*result));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  SearchEnd end = endOf(*result, options, seconds);
  llvm::append_range(result->notes, timeLimitNotes(end, options));
  if (end == SearchEnd::Interrupt)
    result->notes.push_back(stoppedNote());
  std::string json = printResult(*problem, *result, seconds);
  return SolvedProblem{std::move(*result), std::move(json)};
}

} // namespace apc
