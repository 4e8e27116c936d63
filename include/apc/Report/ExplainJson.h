// The answers of `apc explain` for scripts.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// The op called \p op or that does its work as well, the value of that name, or the ops, else parameters, that match
/// it as a pattern with `*` (`printReasons`). Errors: those of `explainOp`.
llvm::Expected<std::string> explainOpJson(const Plan &plan, llvm::StringRef op);

/// The figures of the whole plan; under `groups` its ops by layer, the most expensive first; under `next_best`, `tried`
/// and `untried` the other points around the step, as `apc explain` lists them.
std::string explainPlanJson(const Plan &plan);

} // namespace apc
