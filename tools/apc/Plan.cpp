// apc plan MODEL
#include "Commands.h"
#include "Flags.h"
#include "SettingFlags.h"
#include "Terminal.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Driver/SuggestChanges.h"
#include "apc/Report/Summary.h"

namespace apc {

namespace {

struct PlanFlags {
  SettingFlags settings;
  std::string folder;
  unsigned numThreads = 1;
  bool json = false, allOps = false;
};

llvm::Error run(const PlanFlags &flags) {
  llvm::Expected<PlanRequest> request = flags.settings.apply({});
  if (!request)
    return request.takeError();
  bool toFile = !flags.json || !flags.folder.empty();
  std::string folder = flags.folder.empty() ? "." : flags.folder;
  if (toFile)
    if (llvm::Error error = checkPlanFolder(folder))
      return error;
  llvm::Expected<Plan> plan = planOrSuggest(*request, stoppableControl(flags.numThreads));
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
  Terminal terminal;
  printSummary(*plan, terminal, flags.allOps);
  terminal << "\nwritten to " << path << "; 'apc explain " << path << " OP' says why\n";
  return llvm::Error::success();
}

} // namespace

Command addPlan(CLI::App &app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App *verb =
      app.add_subcommand("plan", "The main job: decide how every operator and parameter is spread; write plan.json");
  flags->settings.addModel(*verb);
  for (SettingGroup group : {SettingGroup::Model, SettingGroup::Target, SettingGroup::Search})
    flags->settings.add(*verb, group, /*showDefaults=*/true);
  verb->get_option("--devices")->required()->default_str("");
  addThreads(*verb, flags->numThreads);
  verb->add_option("-o,--output", flags->folder, "Folder for plan.json; default the current one")
      ->type_name("DIR")
      ->check(notEmpty());
  verb->add_flag("--json", flags->json,
                 "Print plan.json on stdout and nothing else there; written to a file only with -o");
  verb->add_flag("--all", flags->allOps, "List all kinds of ops, not only those that take the most time");
  verb->footer("Examples:\n"
               "  apc plan model.onnx --devices 64 --cluster dgx-h100 --dim batch=32\n"
               "  apc plan model.onnx --devices 64 --pin 'fc_in/MatMul: b0=node, n=device' --parallel semi\n"
               "  apc plan model.onnx --devices 16 --cluster-set device.memory_bytes=40GiB -o out --json");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc
