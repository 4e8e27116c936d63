// apc export PLAN --to TARGET
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/ExportPlan.h"

namespace apc {

namespace {

struct ExportFlags {
  ExportPlanOptions options;
  std::string model, output;
  bool strict = false, json = false;
};

/// A failed check where the target says less than the plan.
llvm::Error checkSaid(const ExportReport &report) {
  size_t count = report.exported.unsaid.size();
  if (count == 0)
    return llvm::Error::success();
  std::string text;
  for (const std::string &unsaid : report.exported.unsaid)
    text += "\n  " + unsaid;
  return noPlanError("--strict: {0} cannot be told {1} of the plan:{2}", report.target,
                     count == 1 ? "one thing" : std::to_string(count) + " things", text);
}

llvm::Error print(const ExportReport &report, const ExportFlags &flags) {
  if (flags.json) {
    llvm::outs() << printExportJson(report);
    return llvm::Error::success();
  }
  const std::vector<ExportedFile> &files = report.exported.files;
  if (flags.output.empty() && files.size() > 1)
    return inputError("--to {0}: this plan is {1} files; give -o a folder, or --json", report.target, files.size());
  printExport(report, llvm::errs());
  if (flags.output.empty())
    llvm::outs() << files.front().content;
  return llvm::Error::success();
}

llvm::Error run(const ExportFlags &flags) {
  ExportPlanOptions options = flags.options;
  if (!flags.model.empty())
    options.modelPath = flags.model;
  llvm::Expected<ExportReport> report = exportPlan(options, controlWith(defaultThreads()));
  if (!report)
    return report.takeError();
  if (flags.strict)
    if (llvm::Error error = checkSaid(*report))
      return error;
  if (!flags.output.empty()) {
    llvm::Expected<std::string> place = saveExport(report->exported, flags.output);
    if (!place)
      return place.takeError();
    if (!flags.json)
      Terminal() << "written to " << *place << "\n";
  }
  return print(*report, flags);
}

} // namespace

Command addExport(CLI::App &app) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App *verb =
      app.add_subcommand("export", "The plan in another tool's words, and line by line what cannot be said in them");
  verb->add_option("plan", flags->options.planPath, "plan.json as written by 'apc plan'")
      ->required()
      ->type_name("PLAN")
      ->check(notEmpty());
  std::string targets;
  for (const ExportTarget &target : allExportTargets())
    targets += (targets.empty() ? "" : "; ") + target.name.str() + ": " + target.summary.str();
  verb->add_option("--to", flags->options.target, "The tool. " + targets)->required()->type_name("TARGET");
  verb->add_option(
          "-o,--output", flags->output,
          "File to write, or folder where the target has several; whole or not at all. Without it, one file is "
          "printed on stdout")
      ->type_name("PATH")
      ->check(notEmpty());
  verb->add_flag("--strict", flags->strict, "Write nothing where anything cannot be said: exit code 1, with the list");
  verb->add_option("--model", flags->model, "Where the model is, when not where the plan says")
      ->type_name("FILE")
      ->check(notEmpty());
  addJson(*verb, flags->json);
  verb->footer("The layout of the plan is recognised, the plan that the tool would run is made and compared op by op.\n"
               "On stderr: the layout, the seconds of both, and a line for each thing that cannot be said.\n"
               "Exit code 1 where nothing near the plan can be said.\n"
               "Examples:\n"
               "  apc export plan.json --to megatron\n"
               "  apc export plan.json --to torchtitan -o titan --strict");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc
