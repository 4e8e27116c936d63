// The lists of a pipeline schedule as the lists of a program.
#pragma once

#include "apc/IR/Program/Program.h"
#include "apc/Schedule/Pipeline/Actions.h"

#include "llvm/Support/Error.h"

namespace apc {

/// The actions of each worker, for `Program::workers`. Two actions that the schedule runs interleaved stand one behind
/// the other. Errors (input): micro-batches cut into pieces; two copies of the model that run in opposite directions,
/// both of which no program has.
llvm::Expected<std::vector<std::vector<ProgramAction>>> programActions(const ActionLists &lists);

} // namespace apc
