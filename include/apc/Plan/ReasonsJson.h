// Parts of a plan as documents of their own, with the keys that plan.json has for them.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// The ops of whose names \p isAsked says true: {"model": "m.onnx", "ops": [...]}. Each has the keys of a choice in
/// plan.json; beside them stand the rule with its rejected strategies, the `shardings` of its results and the `moves`
/// that it waits for.
std::string printReasons(const Plan &plan, llvm::function_ref<bool(llvm::StringRef op)> isAsked);

/// {"model": "m.onnx", "step_seconds": 0.01, "sensitivity": [...]}.
std::string printSensitivityJson(const Plan &plan);

} // namespace apc
