// Dims that are several things in one: where users take such a dim apart, and which ops may cut it inside its parts.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace apc {

/// Writes the attribute `apc.parts` on ops of `main`, in place of those that are there: the factors that are cut inside
/// parts (apc/Sharding/Sharding.h). Returns the number of ops that have one now.
///
///   qkv = x . w;  q, k, v = split qkv into 4096, 1024, 1024      w and the product: n cut inside {4096 1024 1024}
///
/// The wish comes from ops that take the dim apart: Split and packed attention by their rules; Slices that together
/// tile the dim; a Reshape to [.., 3, heads, size] whose users need the 3 whole. It is carried back from a value to the
/// op that makes it when all users agree, as far as a factor is a dim of its own in every tensor of the op and the
/// op's form on pieces needs no places along it. Slices and Reshapes are marked only where the dim comes from a
/// product, whose weights can be cut so.
///
/// A training step stays as it is: it is found in the forward pass before gradients are built, which take it over from
/// the ops that they are gradients of (apc/IR/Gradient.h).
unsigned findParts(mlir::ModuleOp module);

} // namespace apc
