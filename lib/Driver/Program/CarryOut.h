// The program of a plan proven, of one stage or of several.
#pragma once

#include "apc/Driver/PlannedProgram.h"
#include "apc/Driver/VerifyPlan.h"

namespace apc {

/// Sets the proofs of `verified`. Errors (a failed check): those of `verifyProgram` and `verifyStages`.
llvm::Error prove(const PlannedProgram &planned, const Plan &plan, VerifiedPlan &verified);

} // namespace apc
