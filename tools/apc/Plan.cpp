// apc plan MODEL
#include "Commands.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Support/Units.h"

#include "llvm/Support/Process.h"

namespace apc {

namespace {

struct PlanFlags {
  ModelFlags model;
  PlanOptions options;
  std::string memoryLimit;
  std::string folder;
  bool json = false;
};

llvm::Expected<PlanOptions> readOptions(const PlanFlags &flags) {
  PlanOptions options = flags.options;
  options.modelPath = flags.model.path;
  llvm::Expected<ImportOptions> import = flags.model.options();
  if (!import)
    return import.takeError();
  options.import = std::move(*import);
  if (!flags.memoryLimit.empty()) {
    llvm::Expected<int64_t> bytes = parseBytes(flags.memoryLimit, "--memory-limit");
    if (!bytes)
      return bytes.takeError();
    options.memoryLimitBytes = *bytes;
  }
  if (llvm::sys::Process::StandardErrIsDisplayed())
    options.progress = [](llvm::StringRef text) { llvm::errs() << "apc: " << text << "\n"; };
  return options;
}

llvm::Error run(const PlanFlags &flags) {
  llvm::Expected<PlanOptions> options = readOptions(flags);
  if (!options)
    return options.takeError();
  llvm::Expected<Plan> plan = planModel(*options);
  if (!plan)
    return plan.takeError();
  if (flags.json)
    llvm::outs() << printPlan(*plan);
  else
    printSummary(*plan, llvm::outs());
  if (flags.json && flags.folder.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> path = savePlan(*plan, flags.folder.empty() ? "." : flags.folder);
  if (!path)
    return path.takeError();
  if (!flags.json)
    llvm::outs() << "\nwritten to " << *path << "; 'apc explain " << *path << " OP' says why\n";
  return llvm::Error::success();
}

void addSearchFlags(CLI::App &verb, PlanOptions &options) {
  std::string names;
  for (const Search &search : allSearches())
    names += (names.empty() ? "" : ", ") + search.name.str() + " (" + search.summary.str() + ")";
  verb.add_option("--search", options.search, "The search: " + names)->capture_default_str();
  verb.add_option("--threads", options.searchOptions.numThreads, "Threads; never changes the plan")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb.add_option("--time-limit", options.searchOptions.timeLimitSeconds,
                  "Seconds that the search of one mesh may take before it gives its best answer and a bound")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

} // namespace

Command addPlan(CLI::App &app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App *verb =
      app.add_subcommand("plan", "The main job: decide how every operator and parameter is spread; write plan.json");
  flags->model.add(*verb);
  verb->add_option("--devices", flags->options.devices, "Number of devices")->required();
  verb->add_option("--cluster", flags->options.cluster, "A preset ('apc clusters' lists them) or a cluster file")
      ->capture_default_str();
  addClusterSet(*verb, flags->options.clusterOverrides);
  verb->add_option("--mode", flags->options.mode, "infer: the forward graph; train: to come")->capture_default_str();
  verb->add_option("--memory-limit", flags->memoryLimit,
                   "Bytes that one device may use, as 76GiB; default 95 % of the device's memory");
  addSearchFlags(*verb, flags->options);
  verb->add_option("-o,--output", flags->folder, "Folder for plan.json; default the current one");
  verb->add_flag("--json", flags->json,
                 "Print plan.json on stdout and nothing else there; written to a file only with -o");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc
