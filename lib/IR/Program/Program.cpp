// Actions in words.
#include "apc/IR/Program/Program.h"

namespace apc {

std::string printAction(const ProgramAction &action) {
  return "FIWB"[static_cast<size_t>(action.part)] + std::to_string(action.microBatch) + " of stage " +
         std::to_string(action.stage);
}

} // namespace apc
