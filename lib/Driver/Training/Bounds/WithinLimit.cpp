// A plan that was made for a bound, whatever the memory, as one within the limit.
#include "../TrainingPoints.h"

#include "apc/Planning/Planning.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

/// The notes on the target of a request; none where it cannot be read.
static std::vector<std::string> targetNotes(const PlanRequest &request) {
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (target)
    return target->notes;
  llvm::consumeError(target.takeError());
  return {};
}

Plan withinLimit(Plan plan, const PlanRequest &request, int64_t limitBytes) {
  const std::vector<std::string> kept = targetNotes(request);
  for (const std::string &note : targetNotes(plan.request)) // on the other limit
    if (!llvm::is_contained(kept, note))
      llvm::erase(plan.notes, note);
  plan.request.memoryLimitBytes = request.memoryLimitBytes;
  plan.memoryLimitBytes = limitBytes;
  for (Reference &reference : plan.references)
    if (reference.memoryBytes.value_or(0) > limitBytes) {
      reference.feasible = false;
      reference.reason = shortageText(*reference.memoryBytes, limitBytes);
    }
  return plan;
}

} // namespace apc
