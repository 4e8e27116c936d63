// apc evaluate MODEL --layout dp=8,tp=8
#include "Commands.h"
#include "Flags.h"
#include "SettingFlags.h"
#include "Terminal.h"

#include "apc/Driver/EvaluateLayoutFile.h"
#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Report/Summary.h"
#include "apc/Support/Units.h"

namespace apc {

namespace {

struct EvaluateFlags {
  SettingFlags settings;
  std::string layout, layoutFile, folder;
  unsigned numThreads = 1;
  bool json = false, allOps = false;
};

llvm::Error checkMemory(const Plan &plan) {
  int64_t bytes = plan.memory.total();
  if (bytes <= plan.memoryLimitBytes)
    return llvm::Error::success();
  return noPlanError("{0} does not run: it needs {1} on a device, the limit is {2}", plan.search,
                     formatBytes(double(bytes)), formatBytes(double(plan.memoryLimitBytes)));
}

/// A layout has one micro-batch, one policy and stages of its own: nothing is left for flags to choose.
llvm::Error checkFlags(const EvaluateFlags &flags, const PlanRequest &request, const ParallelDegrees &layout) {
  auto open = [&](llvm::StringRef flag, llvm::StringRef accepted) {
    return inputError("--layout {0} with --{1} auto: a layout has one, and none is searched; accepted are {2}",
                      layout.str(), flag, accepted);
  };
  const bool isTraining = request.mode == StepMode::Train;
  if (isTraining && !layout.recompute && request.recompute == RecomputeChoice::Auto &&
      flags.settings.isGiven("recompute"))
    return open("recompute", "none, norms, attention, mlp, branches and full, or recompute in the layout");
  if (isTraining && !layout.microBatch && !request.microBatch && flags.settings.isGiven("micro-batch"))
    return open("micro-batch", "numbers of samples, or mb in the layout");
  if (layout.pipeline > 1 || !isTraining)
    return llvm::Error::success();
  auto ofStages = [&](llvm::StringRef flag, llvm::StringRef value) {
    return inputError("--layout {0} and --{1} {2} say different things: without pp there are no stages", layout.str(),
                      flag, value);
  };
  if (request.schedule != "auto")
    return ofStages("schedule", request.schedule);
  return request.chunks.count.value_or(1) > 1 ? ofStages("chunks", request.chunks.str()) : llvm::Error::success();
}

/// The layout with the ZeRO of --zero, where it names none of its own.
ParallelDegrees withZeroOf(const EvaluateFlags &flags, const PlanRequest &request, ParallelDegrees layout) {
  const std::optional<int64_t> stage = zeroStage(request.zero);
  if (stage && request.mode == StepMode::Train && !llvm::StringRef(flags.layout).contains("zero"))
    layout.zero = static_cast<int>(*stage);
  return layout;
}

llvm::Expected<Plan> evaluate(const EvaluateFlags &flags, PlanRequest request) {
  PlanningControl control = controlWith(flags.numThreads);
  bool isDevicesGiven = flags.settings.isGiven("devices");
  if (flags.layout.empty() == flags.layoutFile.empty())
    return inputError("--layout or --layout-file is required, and not both");
  if (!flags.layoutFile.empty())
    return evaluateLayoutFile(std::move(request), flags.layoutFile, isDevicesGiven, control);
  llvm::Expected<ParallelDegrees> layout = parseParallelDegrees(flags.layout, "--layout");
  if (!layout)
    return layout.takeError();
  if (!isDevicesGiven)
    request.devices = layout->numDevices();
  if (llvm::Error error = checkFlags(flags, request, *layout))
    return std::move(error);
  return evaluateModel(request, withZeroOf(flags, request, *layout), control);
}

llvm::Error run(const EvaluateFlags &flags) {
  llvm::Expected<PlanRequest> request = flags.settings.apply({});
  if (!request)
    return request.takeError();
  if (!flags.folder.empty())
    if (llvm::Error error = checkPlanFolder(flags.folder))
      return error;
  llvm::Expected<Plan> plan = evaluate(flags, *request);
  if (!plan)
    return plan.takeError();
  std::string path;
  if (!flags.folder.empty()) {
    llvm::Expected<std::string> saved = savePlan(*plan, flags.folder);
    if (!saved)
      return saved.takeError();
    path = std::move(*saved);
  }
  Terminal terminal;
  if (flags.json)
    llvm::outs() << printPlan(*plan);
  else
    printSummary(*plan, terminal, flags.allOps);
  if (!flags.json && !path.empty())
    terminal << "\nwritten to " << path << "\n";
  return checkMemory(*plan);
}

} // namespace

Command addEvaluate(CLI::App &app) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App *verb = app.add_subcommand(
      "evaluate", "The cost of a layout that an expert would use, on the same footing as what 'apc plan' finds");
  flags->settings.addModel(*verb);
  flags->settings.add(*verb, SettingGroup::Model, /*showDefaults=*/true);
  verb->add_option(
          "--layout", flags->layout,
          "Layout degree dp: ways to cut the batch; tp: ways to cut weights, on the innermost links; cp: ways to cut "
          "sequences; ep: ways to spread experts, over ranks of dp and cp; etp: 1 leaves each expert whole, and ep "
          "then counts ranks of tp, too; sp: 0 leaves sequences whole where tp cuts weights; with --mode train, pp: "
          "workers of a pipeline, on the outermost links; chunks: stages of a worker; schedule: as --schedule, by "
          "default 1f1b, and interleaved with several chunks; zero: 1 also cuts the states of the optimizer over dp "
          "and cp, 2 the sums of gradients over micro-batches, 3 the parameters (3 also without training); shard: "
          "ranks in each group of dp and cp over which zero cuts, as in HSDP, by default all; mb: samples of a "
          "micro-batch on one rank of dp; copies: equal parts of each micro-batch that run in turn, by default 1; "
          "recompute: none, norms, attention, mlp, branches or full, full:26 for the first 26 layers, full:26,norms "
          "with another policy for the other layers")
      ->type_name("dp=N,tp=N[,KEY=VALUE...]");
  verb->add_option(
          "--layout-file", flags->layoutFile,
          "Another planner's file in place of a layout: Galvatron's JSON, MindSpore's strategy file as JSON, or "
          "AutoParallel's JSON. Cuts of ops are pins, from which the rest follows as with --parallel semi; "
          "names are those of the model's nodes")
      ->type_name("FILE")
      ->check(notEmpty());
  flags->settings.add(*verb, SettingGroup::Target, /*showDefaults=*/true);
  verb->get_option("--devices")->default_str("");
  addThreads(*verb, flags->numThreads);
  verb->add_option("-o,--output", flags->folder, "Folder for plan.json; without it, none is written")
      ->type_name("DIR")
      ->check(notEmpty());
  verb->add_flag("--json", flags->json, "Print plan.json on stdout and nothing else there");
  verb->add_flag("--all", flags->allOps, "List all kinds of ops, not only those that take the most time");
  verb->footer(
      "The batch of every op is cut over layout degree dp; weights of contractions and tables of embeddings "
      "over tp; the rest\n"
      "of tp is what an exact search over that axis finds cheapest. Stages of a pipeline have equally many layers "
      "where\n"
      "the layers divide into them. Without --devices, those of the layout.\n"
      "Exit code 1 when the layout does not fit the memory.\n"
      "Examples:\n"
      "  apc evaluate model.onnx --layout dp=8,tp=8 --devices 64 --cluster dgx-h100\n"
      "  apc evaluate model.onnx --mode train --layout dp=8,tp=8,zero=2,mb=1,recompute=full --global-batch 64\n"
      "  apc evaluate model.onnx --layout dp=16,tp=8,pp=8,chunks=3,mb=1,zero=1,recompute=attention --global-batch "
      "1536");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc
