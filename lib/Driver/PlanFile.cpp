// Plans on disk.
#include "apc/Driver/PlanFile.h"

#include "apc/Plan/Statement.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/OutputFolder.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace apc {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// A plan has the stages that its pipeline is cut into, or one without a pipeline.
static llvm::Error checkNumStages(const Plan &plan) {
  const size_t number = plan.pipeline ? plan.pipeline->cuts.size() + 1 : 1;
  if (plan.stages.size() == number)
    return llvm::Error::success();
  llvm::StringRef reason = plan.pipeline ? "as many as 'pipeline.cuts' make" : "a plan without a pipeline has one";
  return inputError("'stages' lists {0}; {1} expected: {2}", counted(static_cast<int64_t>(plan.stages.size()), "stage"),
                    number == 1 ? "1 is" : std::to_string(number) + " are", reason);
}

llvm::Expected<Plan> loadPlan(llvm::StringRef path) {
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  llvm::Expected<Plan> plan = parsePlan(*text, path);
  if (!plan)
    return plan;
  llvm::Error error = checkNumStages(*plan);
  if (!error)
    error = checkRequestedTraining(*plan);
  if (error)
    return inputError("{0}: {1}", path, takeMessage(std::move(error)).second);
  return plan;
}

llvm::Expected<std::string> findModel(const Plan &plan, llvm::StringRef planPath,
                                      const std::optional<std::string> &given) {
  llvm::StringRef named = plan.request.modelPath;
  if (given)
    return *given;
  if (fs::exists(named))
    return named.str();
  if (path::is_absolute(named))
    return inputError("{0}: there is no such file, which is the model of {1}; --model FILE says where it is now", named,
                      planPath);
  for (llvm::StringRef name : {named, path::filename(named)}) {
    llvm::SmallString<128> beside(path::parent_path(planPath));
    path::append(beside, name);
    if (fs::exists(beside))
      return beside.str().str();
  }
  return inputError(
      "{0}: there is no such file, which is the model of {1}: the path is relative to the folder in which "
      "the plan was made, and no such file lies beside the plan; --model FILE says where it is",
      named, planPath);
}

/// Plans of any version have these keys near their beginning.
static bool looksLikePlan(llvm::StringRef text) {
  llvm::StringRef head = text.ltrim().take_front(4096);
  return head.empty() || (head.starts_with("{") && head.contains("\"version\"") && head.contains("\"model\""));
}

llvm::Error checkPlanFolder(llvm::StringRef folder) {
  fs::file_status link;
  if (!fs::status(folder, link, /*follow=*/false) && link.type() == fs::file_type::symlink_file && !fs::exists(folder))
    return inputError("{0}: cannot be the folder to write to: it is a link to nothing", folder);
  if (llvm::Error error = checkWritable(folder))
    return error;
  llvm::SmallString<128> file(folder);
  path::append(file, "plan.json");
  if (fs::is_directory(file))
    return inputError("{0}: is a folder; a plan cannot take its place", file.str());
  if (!fs::is_regular_file(file))
    return llvm::Error::success();
  llvm::Expected<std::string> text = readFile(file);
  if (!text)
    return text.takeError();
  if (looksLikePlan(*text))
    return llvm::Error::success();
  return inputError("{0}: is no plan of apc and would be lost; give -o another folder", file.str());
}

llvm::Expected<std::string> savePlan(const Plan &plan, llvm::StringRef folder) {
  llvm::SmallString<128> file(folder);
  path::append(file, "plan.json");
  // From here the file is written whole or not at all, and so is the folder.
  InterruptGate gate;
  if (llvm::Error error = gate.check())
    return error;
  if (llvm::Error error = writeFileAtomically(file, printPlan(plan)))
    return error;
  return std::string(file);
}

} // namespace apc
