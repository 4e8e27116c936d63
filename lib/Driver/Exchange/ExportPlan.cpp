// From a plan to another tool's files: loads, imports, recognises, plans the target's layout, compares, writes.
#include "apc/Driver/ExportPlan.h"

#include "../Points/StepsAtHand.h"
#include "NearestLayout.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Planning/CheckStatements.h"
#include "apc/Planning/RecognizeLayout.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/OutputFolder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace apc {

/// \p known: the layout of the source.
static llvm::Expected<ExportReport> exportTo(const ExportTarget &target, const ExportSource &source,
                                             const RecreatedPlan &known, const PlanningControl &control) {
  ExportReport report{target.name.str(), "", source.plan.stepSeconds, std::nullopt, {}};
  std::vector<std::string> unsaid;
  ParallelDegrees layout = source.layout;
  if (target.nearest) {
    llvm::Expected<TargetLayout> nearest = target.nearest(source);
    if (!nearest)
      return nearest.takeError();
    layout = nearest->layout;
    report.layout = layout.str();
    unsaid = nearest->unsaid;
    llvm::Expected<RecreatedPlan> recreated =
        layout == known.layout ? llvm::Expected<RecreatedPlan>(known) : recreate(source.plan, layout, control);
    if (!recreated)
      return recreated.takeError();
    if (recreated->plan) {
      report.targetStepSeconds = recreated->plan->stepSeconds;
      llvm::append_range(unsaid, differencesFrom(source, *recreated->plan, target.title));
    } else {
      unsaid.push_back("the layout " + report.layout + " was not compared with the plan: " + recreated->reason);
    }
  }
  if (source.plan.request.precision == PrecisionChoice::Fp8 && !target.tellsOfNarrowProducts)
    unsaid.push_back(("products of weights in 8 bits: the files say nothing of them, and " + target.title +
                      " runs them in bf16 unless told elsewhere")
                         .str());
  llvm::Expected<Exported> exported = target.write(source, layout);
  if (!exported)
    return exported.takeError();
  llvm::append_range(unsaid, exported->unsaid);
  report.exported = {std::move(exported->files), std::move(unsaid)};
  return report;
}

llvm::Expected<ExportReport> exportPlan(const ExportPlanOptions &options, const PlanningControl &control) {
  llvm::Expected<const ExportTarget *> target = findExportTarget(options.target);
  if (!target)
    return target.takeError();
  llvm::Expected<Plan> plan = loadPlan(options.planPath);
  if (!plan)
    return plan.takeError();
  llvm::Expected<std::string> model = findModel(*plan, options.planPath, options.modelPath);
  if (!model)
    return model.takeError();
  plan->request.modelPath = *model;
  llvm::Expected<StepAtHand> step = buildStep(plan->request);
  if (!step)
    return step.takeError();
  if (step->report.sha256 != plan->modelSha256)
    return inputError("{0}: the model has changed since it was planned; plan it again", *model);
  if (llvm::Error error = checkTraining(step->graph, *plan))
    return inputError("{0}: {1}", options.planPath, takeMessage(std::move(error)).second);
  ExportSource source{*plan, step->graph, recognizeLayout(step->graph, *plan)};
  RecreatedPlan known{source.layout, std::nullopt, ""};
  if ((*target)->nearest) {
    if (llvm::Expected<TargetLayout> first = (*target)->nearest(source); !first)
      return first.takeError();
    llvm::Expected<RecreatedPlan> nearest = nearestLayout(source, control);
    if (!nearest)
      return nearest.takeError();
    known = std::move(*nearest);
  }
  return exportTo(**target, {*plan, step->graph, known.layout}, known, control);
}

llvm::Expected<std::string> saveExport(const Exported &exported, llvm::StringRef path) {
  if (exported.files.size() == 1) {
    llvm::SmallString<128> file(path);
    if (llvm::sys::fs::is_directory(path) || path.ends_with("/"))
      llvm::sys::path::append(file, exported.files.front().name);
    if (llvm::Error error = writeFileAtomically(file, exported.files.front().content))
      return std::move(error);
    return std::string(file);
  }
  auto isOurs = [&](llvm::StringRef name) {
    return llvm::any_of(exported.files, [&](const ExportedFile &file) { return file.name == name; });
  };
  auto folder = OutputFolder::create(
      path,
      [&](llvm::StringRef name) { return isOurs(name) ? OutputFolder::Entry::Replaced : OutputFolder::Entry::Foreign; },
      "an earlier export");
  if (!folder)
    return folder.takeError();
  for (const ExportedFile &file : exported.files)
    if (llvm::Error error = folder->write(file.name, file.content))
      return std::move(error);
  if (llvm::Error error = folder->commit())
    return std::move(error);
  return path.str();
}

} // namespace apc
