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

namespace apc {

namespace {

llvm::Expected<SolvedProblem> solveNodes(llvm::StringRef text, llvm::StringRef path, const Search &search,
                                         const SearchOptions &options) {
  llvm::Expected<Problem> problem = parseProblem(text, path);
  if (!problem)
    return problem.takeError();
  const WorkClock wall = WorkClock::ofWall();
  SearchOptions own = options;
  own.clock = options.clockOrNew();
  const Stopwatch watch(*own.clock);
  llvm::Expected<SearchResult> result = search.run(*problem, own);
  if (!result) {
    auto [fault, message] = takeMessage(result.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    result = SearchResult(); // unknown: nothing found, and no proof that there is nothing
    result->reason = std::move(message);
  }
  *result = withLeastBytes(*problem, std::move(*result));
  SearchEnd end = endOf(*result, own, watch.seconds());
  llvm::append_range(result->notes, timeLimitNotes(end, own));
  if (end == SearchEnd::Interrupt)
    result->notes.push_back(stoppedNote());
  std::string json = printResult(*problem, *result, wall.seconds());
  return SolvedProblem{std::move(json), result->hasAnswer() ? "" : std::move(result->reason)};
}

/// The problems of a file share the time limit.
llvm::Expected<SolvedProblem> solveStages(llvm::StringRef text, llvm::StringRef path, const SearchOptions &options) {
  llvm::Expected<StageProblemFile> file = parseStageProblems(text, path);
  if (!file)
    return file.takeError();
  SearchOptions shared = options;
  shared.clock = options.clockOrNew();
  if (!shared.until)
    shared.until = shared.clock->seconds() + options.timeLimitSeconds;
  std::vector<StageResult> results;
  std::vector<double> seconds;
  std::vector<std::string> reasons;
  for (const StageProblem &problem : file->problems) {
    const WorkClock wall = WorkClock::ofWall();
    llvm::Expected<StageResult> result = searchStages(problem, shared);
    if (!result)
      return result.takeError();
    seconds.push_back(wall.seconds());
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
