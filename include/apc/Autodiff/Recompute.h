// Recomputation: forward values that are not kept for the backward pass.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace apc {

/// The forward values that the backward pass makes once more, from the nearest values that are kept. Of a transformer
/// layer x -> n = LayerNorm(x) -> a = Attention(n) -> h = x + a.W -> m = LayerNorm(h) -> u = m.V + b -> g = Gelu(u):
///
///   None        nothing: n, queries, keys, values, a, h, m, u and g are kept
///   Norms       results of cheap ops that are made from values that are kept anyway: n, m, g
///   Attention   what attentions make from their queries, keys and values: scores, probabilities, a
///   Mlp         all behind the attention of a repeated layer and the sum that it ends in: m, u and g
///   Full        all but what crosses from one repeated layer to another or leaves it: only x is kept. Outside of
///               layers, and where no layers repeat, as `Norms`
///
/// A policy may hold for the first layers alone: then ops of the other layers are treated as with `None`.
///
/// Draws of random numbers are always kept. No policy keeps a value that `None` does not keep, but what crosses layers.
enum class RecomputePolicy : uint8_t { None, Norms, Attention, Mlp, Full };

llvm::StringRef recomputeName(RecomputePolicy policy);               ///< "none", "norms", "attention", "mlp", "full"
std::optional<RecomputePolicy> parseRecompute(llvm::StringRef name); ///< empty for unknown names
llvm::ArrayRef<llvm::StringLiteral> recomputeNames();                ///< in the order of the enumeration

} // namespace apc
