// apc check MODEL --baseline FILE
#include "Commands.h"
#include "Flags.h"
#include "SettingFlags.h"
#include "Terminal.h"

#include "apc/Driver/CheckPlan.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

namespace {

struct CheckFlags {
  SettingFlags settings;
  unsigned numThreads = 1;
  std::string baseline, tolerance = "2%";
  bool update = false, json = false;
};

/// "2%" or "0.02" -> 0.02.
llvm::Expected<double> readTolerance(llvm::StringRef text) {
  llvm::StringRef number = text;
  bool isPercent = number.consume_back("%");
  double value = 0;
  if (number.trim().getAsDouble(value) || !std::isfinite(value) || value < 0)
    return inputError("--tolerance {0}: a share that is not negative is expected, as 2% or 0.02", text);
  if (!isPercent && value > 1)
    return inputError("--tolerance {0} is {1:f0} %; write {0}% or {1:f0}%, whichever is meant", text, 100 * value);
  return isPercent ? value / 100 : value;
}

/// Plans with the settings of the baseline, changed by the flags, and writes it again.
llvm::Error update(const CheckFlags &flags, const PlanRequest &request, const std::optional<PlanRecord> &record) {
  if (!record && !flags.settings.isGiven("devices"))
    return inputError("{0}: there is no such file yet; --update writes it when --devices (and --cluster, ...) say what "
                      "for",
                      flags.baseline);
  llvm::Expected<PlanRecord> now = updateRecord(request, controlWith(flags.numThreads), flags.baseline);
  if (!now)
    return now.takeError();
  llvm::errs() << flags.baseline << ": " << (!record ? "written" : *record == *now ? "unchanged" : "updated") << "\n";
  if (!record || *record == *now)
    return llvm::Error::success();
  RecordComparison changes = compareRecords(*record, *now, 0);
  for (const std::string &line : llvm::concat<std::string>(changes.failures, changes.improvements))
    llvm::errs() << "  " << visibleText(line) << "\n";
  return llvm::Error::success();
}

llvm::Error run(const CheckFlags &flags) {
  llvm::Expected<double> tolerance = readTolerance(flags.tolerance);
  if (!tolerance)
    return tolerance.takeError();
  llvm::Expected<std::optional<PlanRecord>> record = loadRecord(flags.baseline);
  if (!record)
    return record.takeError();
  llvm::Expected<PlanRequest> recorded = *record ? requestOf(**record, flags.baseline) : PlanRequest();
  if (!recorded)
    return recorded.takeError();
  llvm::Expected<PlanRequest> request = flags.settings.apply(std::move(*recorded));
  if (!request)
    return request.takeError();
  if (flags.update)
    return update(flags, *request, *record);
  if (!*record)
    return inputError("{0}: no such file; 'apc check MODEL --baseline FILE --update --devices N' writes it",
                      flags.baseline);
  llvm::Expected<CheckedPlan> checked = checkPlan(*request, controlWith(flags.numThreads), **record, *tolerance);
  if (!checked)
    return checked.takeError();
  Terminal terminal;
  if (flags.json)
    llvm::outs() << printCheckJson(*checked);
  else
    printCheck(*checked, terminal);
  if (checked->comparison.passes())
    return llvm::Error::success();
  size_t count = checked->comparison.failures.size();
  return noPlanError("{0}: {1} from {2}; where {3} meant, --update accepts {4}", request->modelPath,
                     counted(static_cast<int64_t>(count), "difference"), flags.baseline,
                     count == 1 ? "it is" : "they are", count == 1 ? "it" : "them");
}

} // namespace

Command addCheck(CLI::App &app) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App *verb = app.add_subcommand("check", "The gate for CI: fails when the plan of a model changed or got worse");
  flags->settings.addModel(*verb);
  flags->settings.add(*verb, SettingGroup::Model, /*showDefaults=*/false);
  verb->add_option("--baseline", flags->baseline,
                   "Record to hold the plan to: a file that --update writes, or a plan.json of 'apc plan'")
      ->required()
      ->type_name("FILE")
      ->check(notEmpty());
  verb->add_option("--tolerance", flags->tolerance, "By how much step time and memory may be worse, as 2% or 0.02")
      ->type_name("SHARE")
      ->capture_default_str();
  CLI::Option *update =
      verb->add_flag("--update", flags->update,
                     "Write the baseline anew, whole or not at all, with its own settings and the flags given");
  for (SettingGroup group : {SettingGroup::Target, SettingGroup::Search})
    for (CLI::Option *option : flags->settings.add(*verb, group, /*showDefaults=*/false))
      option->needs(update);
  addThreads(*verb, flags->numThreads);
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there")->excludes(update);
  verb->footer(
      "The model is planned with the settings that the baseline records. Exit code 0: as recorded; 1: a strategy\n"
      "or the devices of a level changed, whatever it costs (names of axes do not count), or step time or memory are\n"
      "worse beyond the tolerance; 2: bad input.\n"
      "Examples:\n"
      "  apc check model.onnx --baseline model.baseline --update --devices 64 --cluster dgx-h100\n"
      "  apc check model.onnx --baseline model.baseline --tolerance 1%");
  return {verb, [flags] { return run(*flags); }, "passed"};
}

} // namespace apc
