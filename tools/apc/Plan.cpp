// apc plan MODEL
#include "Commands.h"
#include "Flags.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Support/File.h"
#include "apc/Support/Units.h"

#include "llvm/Support/Process.h"

namespace apc {

namespace {

struct PlanFlags {
  ModelFlags model;
  PlanOptions options;
  std::string memoryLimit;
  std::string folder;
  std::vector<std::string> layouts;
  PinFlags pins;
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
  for (const std::string &text : flags.layouts) {
    llvm::Expected<Layout> layout = parseLayout(text, "--layout");
    if (!layout)
      return layout.takeError();
    options.layouts.push_back(*layout);
  }
  if (llvm::Error error = flags.pins.apply(options))
    return error;
  stopOnInterrupt(options.searchOptions);
  if (llvm::sys::Process::StandardErrIsDisplayed()) {
    options.progress = [](llvm::StringRef text) { llvm::errs() << "apc: " << text << "\n"; };
    options.searchOptions.progress = printProgress;
  }
  return options;
}

llvm::Error run(const PlanFlags &flags) {
  llvm::Expected<PlanOptions> options = readOptions(flags);
  if (!options)
    return options.takeError();
  bool toFile = !flags.json || !flags.folder.empty();
  std::string folder = flags.folder.empty() ? "." : flags.folder;
  if (toFile)
    if (llvm::Error error = checkWritable(folder))
      return error;
  llvm::Expected<Plan> plan = planModel(*options);
  if (!plan)
    return plan.takeError();
  // The file comes first: where it cannot be written, nothing is printed.
  std::string path;
  if (toFile) {
    llvm::Expected<std::string> saved = savePlan(*plan, folder);
    if (!saved)
      return saved.takeError();
    path = std::move(*saved);
  }
  if (flags.json) {
    llvm::outs() << printPlan(*plan);
    return llvm::Error::success();
  }
  printSummary(*plan, llvm::outs());
  llvm::outs() << "\nwritten to " << path << "; 'apc explain " << path << " OP' says why\n";
  return llvm::Error::success();
}

} // namespace

Command addPlan(CLI::App &app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App *verb =
      app.add_subcommand("plan", "The main job: decide how every operator and parameter is spread; write plan.json");
  flags->model.add(*verb);
  PlanOptions &options = flags->options;
  verb->add_option("--devices", options.devices, "Number of devices")
      ->required()
      ->type_name("N")
      ->check(wholeNumber(1, maxDevices));
  verb->add_option("--cluster", options.cluster, "A preset ('apc clusters' lists them) or a cluster file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  addClusterSet(*verb, options.clusterOverrides);
  verb->add_option("--mode", options.mode, "infer: the forward graph; train: to come")
      ->type_name("infer|train")
      ->capture_default_str();
  verb->add_option("--memory-limit", flags->memoryLimit,
                   "Memory that one device may use, as 76GiB; default 95 % of the device's memory")
      ->type_name("BYTES");
  flags->pins.search =
      addSearchFlags(*verb, options.search, options.searchOptions,
                     "Time that the search of one mesh may take before it gives its best answer and a bound");
  flags->pins.add(*verb);
  addRepeatable(*verb, "--layout", flags->layouts,
                "A layout to list among the baselines, as in 'apc evaluate'; repeatable")
      ->type_name("dp=N,tp=N[,zero=N]");
  verb->add_flag("--sensitivity", options.sensitivity,
                 "Also plan with links, memory bandwidth, memory and compute 20 % down and up");
  verb->add_option("-o,--output", flags->folder, "Folder for plan.json; default the current one")->type_name("DIR");
  verb->add_flag("--json", flags->json,
                 "Print plan.json on stdout and nothing else there; written to a file only with -o");
  verb->footer("Examples:\n"
               "  apc plan model.onnx --devices 64 --cluster dgx-h100 --dim batch=32\n"
               "  apc plan model.onnx --devices 64 --pin 'fc_in/MatMul: b0=node, n=device' --parallel semi\n"
               "  apc plan model.onnx --devices 16 --cluster-set device.memory_bytes=40GiB -o out --json");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc
