// One search on a problem file.
#include "apc/Driver/SolveProblem.h"

#include "apc/Planning/Stages/StageProblemJson.h"
#include "apc/Search/LeastBytes.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Search/SearchEnd.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>

namespace apc {

namespace {

/// Wall-clock seconds since it was made.
class Watch {
public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

private:
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

llvm::Expected<SolvedProblem> solveNodes(llvm::StringRef text, llvm::StringRef path, const Search &search,
                                         const SearchOptions &options) {
  llvm::Expected<Problem> problem = parseProblem(text, path);
  if (!problem)
    return problem.takeError();
  Watch watch;
  llvm::Expected<SearchResult> result = search.run(*problem, options);
  if (!result) {
    auto [fault, message] = takeMessage(result.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    result = SearchResult(); // unknown: nothing found, and no proof that there is nothing
    result->reason = std::move(message);
  }
  *result = withLeastBytes(*problem, std::move(*result));
  double seconds = watch.seconds();
  SearchEnd end = endOf(*result, options, seconds);
  llvm::append_range(result->notes, timeLimitNotes(end, options));
  if (end == SearchEnd::Interrupt)
    result->notes.push_back(stoppedNote());
  std::string json = printResult(*problem, *result, seconds);
  return SolvedProblem{std::move(json), result->hasAnswer() ? "" : std::move(result->reason)};
}

/// The problems of a file share the time limit.
llvm::Expected<SolvedProblem> solveStages(llvm::StringRef text, llvm::StringRef path, const SearchOptions &options) {
  llvm::Expected<StageProblemFile> file = parseStageProblems(text, path);
  if (!file)
    return file.takeError();
  SearchOptions shared = options;
  if (!shared.until)
    shared.until =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(std::min(options.timeLimitSeconds, 1e8)));
  std::vector<StageResult> results;
  std::vector<double> seconds;
  std::vector<std::string> reasons;
  for (const StageProblem &problem : file->problems) {
    Watch watch;
    llvm::Expected<StageResult> result = searchStages(problem, shared);
    if (!result)
      return result.takeError();
    seconds.push_back(watch.seconds());
    if (!result->hasAnswer())
      reasons.push_back(file->isList ? problem.name + ": " + result->reason : result->reason);
    results.push_back(std::move(*result));
  }
  return SolvedProblem{printStageResults(*file, results, seconds), llvm::join(reasons, "; ")};
}

} // namespace

llvm::Expected<SolvedProblem> solveProblem(llvm::StringRef path, llvm::StringRef name, const SearchOptions &options) {
  llvm::Expected<Search> search = findSearch(name);
  if (!search)
    return search.takeError();
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  return isStageProblem(*text) ? solveStages(*text, path, options) : solveNodes(*text, path, *search, options);
}

} // namespace apc
