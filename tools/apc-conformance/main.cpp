// apc-conformance: ONNX's operator tests, run by the reference interpreter.
#include "apc/Driver/Conformance.h"
#include "apc/Support/Error.h"

#include <CLI/CLI.hpp>

using namespace apc;

int main(int argc, char **argv) {
  CLI::App app("Runs every model.onnx below the folders on its test_data_set_* and compares with the outputs there.\n"
               "Exit codes: 0 no case failed; 1 some did; 2 bad input or usage.",
               "apc-conformance");
  ConformanceOptions options;
  std::string filter, junit;
  app.add_option("folders", options.folders, "Folders to search for cases")->required()->type_name("DIR");
  app.add_option("--jobs", options.jobs, "Processes at a time")->check(CLI::Range(1, 256));
  app.add_option("--time-limit", options.timeLimitSeconds, "Seconds for one case")->check(CLI::Range(1, 86400));
  app.add_option("--filter", filter, "Only cases with a part of their name that matches")->type_name("REGEX");
  app.add_option("--junit", junit, "Write the results as JUnit XML")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Fault::Input);
  }
  if (!filter.empty())
    options.filter = filter;
  if (!junit.empty())
    options.junit = junit;
  auto totals = runConformance(options, llvm::outs());
  if (!totals) {
    auto [fault, message] = takeMessage(totals.takeError());
    llvm::errs() << "apc-conformance: error: " << message << "\n";
    return static_cast<int>(fault);
  }
  return totals->failed == 0 ? 0 : 1;
}
