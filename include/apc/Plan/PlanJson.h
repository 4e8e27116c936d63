// plan.json: written for scripts and people, read back for explain, diff, emit and verify.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// Keys as documented in README.md; keys in a fixed order, numbers in their shortest form that reads back the same.
/// `withTiming` false leaves out `timing_seconds`, the one part that differs between runs.
std::string printPlan(const Plan &plan, bool withTiming = true);

/// Errors name `source`, key and what would be accepted.
llvm::Expected<Plan> parsePlan(llvm::StringRef json, llvm::StringRef source);

} // namespace apc
