// Parts of a plan as documents of their own, with the keys that plan.json has for them.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// The ops and values of which the predicates say true: {"model": "m.onnx", "ops": [...], "values": [...]}. An op has
/// the keys of a choice in plan.json; beside them stand the rule with its rejected strategies, the `shardings` of its
/// results and the `moves` that it waits for. A value has the keys of a sharding there, and the `moves` that bring it
/// on.
std::string printReasons(const Plan &plan, llvm::function_ref<bool(const PlanChoice &)> isAskedOp,
                         llvm::function_ref<bool(const PlanSharding &)> isAskedValue);

/// The members of a point as an entry of `tried` in plan.json has them.
void writeTried(JsonObjectWriter &object, TriedPoint point);

/// {"model": "m.onnx", "step_seconds": 0.01, "sensitivity": [...]}.
std::string printSensitivityJson(const Plan &plan);

} // namespace apc
