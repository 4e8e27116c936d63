// apc sweep MODEL --devices 8,16,32 --cluster a,b
#include "Commands.h"
#include "Flags.h"
#include "SettingFlags.h"
#include "Terminal.h"

#include "apc/Driver/SweepModel.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

struct SweepFlags {
  SettingFlags settings;
  unsigned numThreads = 1;
  bool json = false;
};

llvm::Error run(const SweepFlags &flags) {
  if (flags.settings.isGiven("sensitivity"))
    return inputError("--sensitivity: a sweep has no place for it; 'apc plan --sensitivity' plans one of its cells");
  llvm::Expected<std::vector<PlanRequest>> requests = flags.settings.applyVaried({"cluster", "devices"});
  if (!requests)
    return requests.takeError();
  std::string model = requests->front().modelPath;
  llvm::Expected<std::vector<SweepCell>> cells = sweepModel(std::move(*requests), stoppableControl(flags.numThreads));
  if (!cells)
    return cells.takeError();
  Terminal terminal;
  if (flags.json)
    llvm::outs() << printSweepJson(model, *cells);
  else
    printSweep(*cells, terminal);
  if (llvm::any_of(*cells, [](const SweepCell &cell) { return cell.hasPlan(); }))
    return llvm::Error::success();
  return noPlanError("{0}: none of the {1} cells has a plan", model, cells->size());
}

} // namespace

Command addSweep(CLI::App &app) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App *verb = app.add_subcommand("sweep", "Plans for several device counts and clusters, in one table");
  flags->settings.addModel(*verb);
  for (SettingGroup group : {SettingGroup::Model, SettingGroup::Target, SettingGroup::Search})
    flags->settings.add(*verb, group, /*showDefaults=*/true);
  verb->get_option("--devices")
      ->description("Numbers of devices, with commas between them")
      ->required()
      ->default_str("")
      ->type_name("N,N,...");
  verb->get_option("--cluster")
      ->description("Presets ('apc clusters' lists them) or cluster files, with commas between them")
      ->type_name("NAME|FILE,...");
  verb->get_option("--sensitivity")->group(""); // refused, with a word on what to do instead
  addThreads(*verb, flags->numThreads);
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer(
      "The batch stays as it is bound, so more devices mean a shorter step. Marked are the fewest devices of a\n"
      "cluster that fit, and the knee: beyond it a device that is added brings less than half of the speed of\n"
      "those before it. Exit code 1 when no cell has a plan.\n"
      "Example: apc sweep model.onnx --devices 8,16,32 --cluster dgx-a100-80gb,dgx-h100 --dim batch=32");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc
