// apc-conformance: ONNX's operator tests, run by the reference interpreter.
#include "apc/Conformance/Conformance.h"
#include "apc/Support/Error.h"

#include <CLI/CLI.hpp>

using namespace apc;

namespace {

/// "2x3" as the mesh [2, 3], "none" as no mesh.
llvm::Error readMeshes(const std::vector<std::string> &texts, std::vector<Mesh> &meshes) {
  for (std::string text : texts) {
    if (text == "none")
      continue;
    std::replace(text.begin(), text.end(), 'x', ',');
    llvm::Expected<Mesh> mesh = Mesh::parse("[" + text + "]");
    if (!mesh)
      return llvm::joinErrors(inputError("--ranks {0}: sizes as in 2x3, or none, are accepted", text),
                              mesh.takeError());
    meshes.push_back(std::move(*mesh));
  }
  return llvm::Error::success();
}

int report(llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  llvm::errs() << "apc-conformance: error: " << message << "\n";
  return static_cast<int>(fault);
}

/// The command line, before it is read into options.
struct Flags {
  ConformanceOptions options;
  std::string filter, junit;
  std::vector<std::string> ranks = {"2", "2x2", "2x3"};
  std::vector<size_t> zero;
};

void addFlags(CLI::App &app, Flags &flags) {
  ConformanceOptions &options = flags.options;
  app.add_option("folders", options.folders, "Folders to search for cases")->required()->type_name("DIR");
  app.add_option("--jobs", options.jobs, "Processes at a time")->check(CLI::Range(1, 256));
  app.add_option("--time-limit", options.timeLimitSeconds, "Seconds for one case")->check(CLI::Range(1, 86400));
  app.add_option("--ranks", flags.ranks, "Meshes to run every strategy on, such as 2,2x2,2x3; none for one rank alone")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("MESHES");
  app.add_option("--programs", options.maxPrograms, "Strategies to run for each case and mesh, at most")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--train", options.training, "Cases of training: a model.onnx beside a train.json");
  app.add_option("--devices", options.deviceCounts, "With --train: also plan for so many devices, such as 2,4")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  app.add_option("--search", options.searches,
                 "With --train: the searches that plan, such as auto,dp; default all but exhaustive")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  app.add_option("--zero", flags.zero, "With --train: plan within each of these stages of ZeRO, such as 0,1,2,3")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 3))
      ->type_name("STAGES");
  app.add_flag("--micro-batches", options.allInMicroBatches,
               "With --train: all searches and stages plan micro-batches, too, with and without recomputation");
  app.add_option("--filter", flags.filter, "Only cases with a part of their name that matches")->type_name("REGEX");
  app.add_option("--junit", flags.junit, "Write the results as JUnit XML")->type_name("FILE");
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app(
      "Runs every model.onnx below the folders on its test_data_set_*, on one rank and on all ranks of small meshes "
      "under every strategy, and compares with the outputs there.\n"
      "Exit codes: 0 no case failed; 1 some did; 2 bad input or usage.",
      "apc-conformance");
  Flags flags;
  addFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Fault::Input);
  }
  ConformanceOptions &options = flags.options;
  if (!flags.filter.empty())
    options.filter = flags.filter;
  if (!flags.junit.empty())
    options.junit = flags.junit;
  if (llvm::Error error = readMeshes(flags.ranks, options.meshes))
    return report(std::move(error));
  constexpr ZeroChoice stages[] = {ZeroChoice::Stage0, ZeroChoice::Stage1, ZeroChoice::Stage2, ZeroChoice::Stage3};
  for (size_t stage : flags.zero)
    options.zeroStages.push_back(stages[stage]);
  auto totals = runConformance(options, llvm::outs());
  if (!totals)
    return report(totals.takeError());
  llvm::outs().flush();
  if (std::error_code code = llvm::outs().error()) {
    llvm::outs().clear_error();
    return report(inputError("stdout: cannot be written: {0}", code.message()));
  }
  return totals->failed == 0 ? 0 : 1;
}
