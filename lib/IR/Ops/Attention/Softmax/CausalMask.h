// Masks under which no query sees a later key, by the ops that make them.
#pragma once

#include "mlir/IR/Value.h"

namespace apc {

/// Scores that are so low, or that so low a number is added to, leave a key without weight beside any that is seen:
/// e^-1000 is 0 in every type. Exporters write -10,000, the lowest number of a type, or -inf.
inline constexpr double hiddenScore = -1000;

/// True where `mask`, of bools that are `seen` where a query sees a key, is proven to hide all later keys and no other,
/// for queries along the last dim but one and keys along the last: a comparison of positions, which are progressions
/// (Progression.h) of whatever length, a triangle of ones (Trilu), a constant, or what views, slices, choices and
/// arithmetic make of such triangles with one diagonal.
///
///   Less(Unsqueeze([0, 1, 2]), [0, 1, 2]) with seen = false: query 1 sees keys 0 and 1
bool isCausalMask(mlir::Value mask, bool seen);

/// The same of `mask` of floats that are added to the scores: 0 where a query sees a key, `hiddenScore` or less where
/// not, as Trilu of a matrix of -inf from diagonal 1 on has it.
bool isAddedCausalMask(mlir::Value mask);

} // namespace apc
