// Masks under which no query sees a later key, by the ops that make them.
#pragma once

#include "mlir/IR/Value.h"

namespace apc {

/// True where `mask`, of bools that are `seen` where a query sees a key, is proven to hide all later keys and no other:
/// a comparison of positions of queries, along the last dim but one, with those of keys, along the last, which are
/// progressions (Progression.h) of whatever length, or a constant with the bools of one.
///
///   Less(Unsqueeze([0, 1, 2]), [0, 1, 2]) with seen = false: query 1 sees keys 0 and 1
bool isCausalMask(mlir::Value mask, bool seen);

} // namespace apc
