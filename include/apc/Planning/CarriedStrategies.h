// Strategies of a plan for a smaller model of the same structure.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"

namespace apc {

/// For each op of `graph`, stage number `stage` of a model with other sizes or fewer layers than the plan's, on the
/// mesh of that stage: the strategy that the plan gives
///
/// - the op of the same name in that stage, or
/// - the first op of that stage whose name differs in one number: another layer ("/h.1/MatMul" has that of
///   "/h.12/MatMul" where the smaller model's stage begins earlier), or
/// - the op of the same name in another stage, where it can be taken on this mesh, else none of its dims is cut: ops
///   that run once a step, such as the norm of all gradients, may have changed their stage.
///
/// Inputs, parameters and values that arrive from other stages are cut as the plan shards them. Values that arrive or
/// leave in no stage of the plan are whole. Errors (input) name the op: one that the plan does not know, or whose
/// strategy is illegal for the smaller sizes.
llvm::Expected<std::vector<Strategy>> carriedStrategies(const OpGraph &graph, const Plan &plan, size_t stage,
                                                        const Mesh &mesh);

} // namespace apc
