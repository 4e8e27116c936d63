// Plans on disk.
#include "apc/Driver/PlanFile.h"

#include "apc/Support/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace apc {

llvm::Expected<Plan> loadPlan(llvm::StringRef path) {
  llvm::Expected<std::string> text = readFile(path);
  return text ? parsePlan(*text, path) : text.takeError();
}

llvm::Expected<std::string> savePlan(const Plan &plan, llvm::StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "plan.json");
  if (llvm::Error error = writeFileAtomically(path, printPlan(plan)))
    return error;
  return std::string(path);
}

} // namespace apc
