// Action by action.
#include "apc/Driver/PipelineActions.h"

#include "apc/Support/Error.h"

namespace apc {

static ProgramAction programAction(const Action &action) {
  constexpr ProgramPart parts[] = {ProgramPart::Forward, ProgramPart::InputGradient, ProgramPart::WeightGradient,
                                   ProgramPart::Backward};
  return {parts[static_cast<size_t>(action.kind)], action.stage, action.microBatch};
}

llvm::Expected<std::vector<std::vector<ProgramAction>>> programActions(const ActionLists &lists) {
  if (lists.shape.pieces > 1)
    return inputError("a schedule that cuts micro-batches into {0} pieces has no program", lists.shape.pieces);
  if (lists.shape.placement == Placement::Mirrored)
    return inputError("a schedule with two copies of the model, which run in opposite directions, has no program");
  std::vector<std::vector<ProgramAction>> workers;
  for (const std::vector<Slot> &slots : lists.workers) {
    std::vector<ProgramAction> &actions = workers.emplace_back();
    for (const Slot &slot : slots) {
      actions.push_back(programAction(slot.action));
      if (slot.beside)
        actions.push_back(programAction(*slot.beside));
    }
  }
  return workers;
}

} // namespace apc
