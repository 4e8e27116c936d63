// A bound on memory that takes no search: one device's fullest moment, divided by the devices.
#include "EvenShare.h"
#include "../References.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

char TooMuchHeld::ID = 0;

namespace {

/// "parameters 325 GiB, optimizer 1.91 TiB".
std::string categoriesText(const MemoryTable &table) {
  std::vector<std::string> texts;
  for (MemoryCategory category : allMemoryCategories())
    if (table[category] > 0)
      texts.push_back((memoryCategoryName(category) + " " + bytesText(table[category])).str());
  return llvm::join(texts, ", ");
}

/// Parameters and states alone.
MemoryTable heldOf(const MemoryTable &whole) {
  MemoryTable held;
  for (MemoryCategory category : {MemoryCategory::Parameters, MemoryCategory::Optimizer})
    held[category] = whole[category];
  return held;
}

/// \p holder: "at its fullest moment a step holds", of bytes by category.
std::string shortageText(const PlanningTask &task, llvm::StringRef holder, const EvenShare &share) {
  int64_t limit = task.memoryLimitBytes;
  return llvm::formatv(
             "no plan fits {0}: {1} {2} ({3}); spread evenly that is {4} on each device, {5} more than the {6} "
             "that may be used{7}",
             counted(share.devices, "device"), holder, bytesText(share.whole.total()), categoriesText(share.whole),
             bytesText(share.bytesPerDevice()), bytesText(share.bytesPerDevice() - limit), bytesText(limit),
             task.request.memoryLimitBytes ? " (--memory-limit)" : "")
      .str();
}

} // namespace

EvenShare EvenShare::held() const { return {heldOf(whole), devices}; }

llvm::Expected<EvenShare> evenShareOf(const PlanningTask &task) {
  llvm::Expected<Candidate> alone = costCandidate(task, Mesh(), replicated(task.graph));
  if (!alone)
    return alone.takeError();
  return evenShareOf(task, *alone);
}

EvenShare evenShareOf(const PlanningTask &task, const Candidate &alone) {
  EvenShare share{alone.cost.memory, task.pool.numDevices()};
  share.whole[MemoryCategory::Workspace] = 0;
  return share;
}

llvm::Error checkEvenShare(const PlanningTask &task) {
  llvm::Expected<EvenShare> share = evenShareOf(task);
  if (!share)
    return share.takeError();
  if (share->bytesPerDevice() <= task.memoryLimitBytes)
    return llvm::Error::success();
  if (const EvenShare held = share->held(); held.bytesPerDevice() > task.memoryLimitBytes)
    return llvm::make_error<TooMuchHeld>(Fault::NoPlan,
                                         shortageText(task, "parameters and states of the optimizer alone are", held));
  return noPlanError("{0}", shortageText(task, "at its fullest moment a step holds", *share));
}

} // namespace apc
