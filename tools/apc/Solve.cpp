// apc solve PROBLEM
#include "Commands.h"
#include "Flags.h"

#include "apc/Driver/SolveProblem.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"

namespace apc {

namespace {

struct SolveFlags {
  std::string problem;
  std::string search = "dp";
  SearchOptions options;
  bool json = false;
};

llvm::Error solve(const SolveFlags &flags) {
  SearchOptions options = flags.options;
  options.numThreads = usefulThreads(options.numThreads);
  options.stop = stopOnInterrupt();
  if (llvm::sys::Process::StandardErrIsDisplayed())
    options.progress = printProgress;
  llvm::Expected<SolvedProblem> solved = solveProblem(flags.problem, flags.search, options);
  if (!solved)
    return solved.takeError();
  llvm::outs() << solved->json;
  if (!solved->reason.empty())
    return noPlanError("{0}: {1}", flags.problem, solved->reason);
  return llvm::Error::success();
}

void addSearchFlags(CLI::App &app, SolveFlags &flags) {
  app.add_option("--search", flags.search, "The search, of a problem of nodes:\n" + searchesHelp())
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--gap", flags.options.gapTolerance,
                 "Stop when the answer is proven to be within this share of the optimum")
      ->type_name("SHARE")
      ->check(share())
      ->capture_default_str();
  addThreads(app, flags.options.numThreads);
  app.add_option("--time-limit", flags.options.timeLimitSeconds, "After which the best answer so far is given")
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
}

} // namespace

Command addSolve(CLI::App &app) {
  auto flags = std::make_shared<SolveFlags>();
  CLI::App *verb =
      app.add_subcommand("solve", "Run one search on a problem file; print assignment, cost and bound as JSON");
  verb->add_option("problem", flags->problem, "The problem file (JSON)")
      ->required()
      ->type_name("PROBLEM")
      ->check(notEmpty());
  addSearchFlags(*verb, *flags);
  verb->add_flag("--json", flags->json, "Accepted for uniformity: the answer is JSON in any case");
  verb->footer(
      "A problem of nodes: {\"nodes\": [{\"name\": \"a\", \"strategies\": [{\"name\": \"rows\", \"seconds\": 1.0}]}]}\n"
      "A problem of pipeline stages has \"layers\", and one search of its own, which finds the fastest cut, widths,\n"
      "recomputation and schedule of its \"space\": {\"layers\": {\"forward_seconds\": {\"1\": [4, 2]},\n"
      "\"backward_input_seconds\": {\"1\": [4, 2]}, \"backward_weight_seconds\": {\"1\": [4, 2]}, \"boundary_bytes\": "
      "[8]},\n"
      "\"micro_batches\": 8, \"space\": {\"workers\": [1, 2], \"schedules\": [{\"name\": \"1f1b\"}]}}\n"
      "A file with \"instances\" holds several of these.");
  return {verb, [flags] { return solve(*flags); }};
}

} // namespace apc
