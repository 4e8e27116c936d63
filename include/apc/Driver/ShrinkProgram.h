// A plan carried out on a smaller model of the same structure: small enough to be executed.
#pragma once

#include "apc/Driver/PlannedProgram.h"

namespace apc {

struct SmallerProgram {
  PlannedProgram planned;
  Plan plan; ///< the strategies of the plan, for the ops that are left; redistributions anew
};

/// Imports the plan's model with other dims, leaves layers out, divides hidden sizes, and partitions the rest under
/// the plan's strategies on the plan's mesh. Errors (input): those of `buildProgram`; a dim that the model does not
/// have; layers that do not repeat; a strategy of the plan that the smaller op cannot take, with the op.
llvm::Expected<SmallerProgram> buildSmallerProgram(const Plan &plan, std::optional<std::string> modelPath,
                                                   const Shrinkage &shrinkage);

} // namespace apc
