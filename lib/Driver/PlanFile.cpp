// Plans on disk.
#include "apc/Driver/PlanFile.h"

#include "apc/Support/File.h"
#include "apc/Support/OutputFolder.h"

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
  // From here the file is written whole or not at all, and so is the folder.
  InterruptGate gate;
  if (llvm::Error error = gate.check())
    return error;
  if (llvm::Error error = writeFileAtomically(path, printPlan(plan)))
    return error;
  return std::string(path);
}

} // namespace apc
