// Planning again, and holding the result to a record.
#include "apc/Driver/CheckPlan.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Plan/Settings.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace apc {

llvm::Expected<std::optional<PlanRecord>> loadRecord(llvm::StringRef path) {
  if (!llvm::sys::fs::exists(path))
    return std::optional<PlanRecord>();
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  llvm::Expected<PlanRecord> record = parseRecord(*text, path);
  if (!record)
    return record.takeError();
  return std::optional<PlanRecord>(std::move(*record));
}

llvm::Expected<CheckedPlan> checkPlan(const PlanRequest &request, const PlanningControl &control,
                                      const PlanRecord &record, double tolerance) {
  for (const Setting &setting : allSettings())
    if (setting.isAlwaysSaid && !record.settings.count(setting.name.str()))
      return inputError("the baseline does not say with which {0} it was planned (an older apc wrote it); --update "
                        "writes it anew, with the flags that are given",
                        setting.name);
  llvm::Expected<Plan> plan = planModel(request, control);
  if (!plan)
    return plan.takeError();
  PlanRecord now = recordOf(*plan);
  RecordComparison comparison = compareRecords(record, now, tolerance);
  return CheckedPlan{request.modelPath, std::move(now), std::move(comparison), tolerance};
}

/// An error when `path` holds something else, which would be lost.
static llvm::Error checkIsRecord(llvm::StringRef path) {
  if (!llvm::sys::fs::exists(path))
    return llvm::Error::success();
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  if (isRecord(*text))
    return llvm::Error::success();
  return inputError(
      "{0}: is no baseline that --update could write anew: a plan is written by 'apc plan'; give --baseline "
      "the name of a baseline or of a new file",
      path);
}

llvm::Expected<PlanRecord> updateRecord(const PlanRequest &request, const PlanningControl &control,
                                        llvm::StringRef path) {
  if (llvm::Error error = checkIsRecord(path))
    return error;
  if (llvm::StringRef folder = llvm::sys::path::parent_path(path); !llvm::sys::fs::exists(path))
    if (llvm::Error error = checkWritable(folder.empty() ? "." : folder))
      return error;
  llvm::Expected<Plan> plan = planModel(request, control);
  if (!plan)
    return plan.takeError();
  PlanRecord record = recordOf(*plan);
  if (llvm::Error error = writeFileAtomically(path, printRecord(record)))
    return error;
  return record;
}

} // namespace apc
