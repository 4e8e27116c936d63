// apc solve PROBLEM
#include "Commands.h"

#include "apc/Driver/SolveProblem.h"

namespace apc {

namespace {

struct SolveFlags {
  std::string problem;
  std::string search = "dp";
  SearchOptions options;
  bool json = false;
};

llvm::Error solve(const SolveFlags &flags) {
  llvm::Expected<SolvedProblem> solved = solveProblem(flags.problem, flags.search, flags.options);
  if (!solved)
    return solved.takeError();
  llvm::outs() << solved->json;
  if (solved->result.status == SearchStatus::Infeasible)
    return noPlanError("{0}: {1}", flags.problem, solved->result.reason);
  return llvm::Error::success();
}

} // namespace

Command addSolve(CLI::App &app) {
  auto flags = std::make_shared<SolveFlags>();
  CLI::App *verb =
      app.add_subcommand("solve", "Run one search on a problem file; print assignment, cost and bound as JSON");
  verb->add_option("problem", flags->problem, "The problem file (JSON)")->required();
  std::string names;
  for (const Search &search : allSearches())
    names += (names.empty() ? "" : ", ") + search.name.str() + " (" + search.summary.str() + ")";
  verb->add_option("--search", flags->search, "The search: " + names)->capture_default_str();
  verb->add_option("--threads", flags->options.numThreads, "Threads; never changes the answer")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->add_option("--time-limit", flags->options.timeLimitSeconds,
                   "Seconds after which the best answer so far is given")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_flag("--json", flags->json, "Accepted for uniformity: the answer is JSON in any case");
  return {verb, [flags] { return solve(*flags); }};
}

} // namespace apc
