// Recomputation: forward values that are not kept for the backward pass.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace apc {

/// The ops whose results the backward pass may make once more. The values that are kept instead are the fewest bytes
/// from which it can make all that it reads. Of a transformer layer x -> n = LayerNorm(x) -> a = Attention(n) ->
/// h = x + a.W -> m = LayerNorm(h) -> u = m.V + b -> g = Gelu(u):
///
///   None        none: n, queries, keys, values, a, h, m, u and g are kept
///   Norms       cheap ops: n, m and g are made again
///   Attention   attentions: scores, probabilities and a are, from queries, keys and values
///   Mlp         all behind the attention of a repeated layer and the sum that it ends in: m, u and g are
///   Branches    all of a repeated layer but the sums that its attentions' branches end in: only x and h are kept.
///   Where
///               devices share a.W, its collective is not run again
///   Full        all of a repeated layer: only x is kept, as all that crosses from one layer to another or leaves it.
///               Outside of layers, and where no layers repeat, as `Norms`
///
/// A policy may hold for the first layers alone, and another one for the rest. Outside of layers an op may be made
/// again where either policy allows it.
///
/// Draws of random numbers are always kept.
enum class RecomputePolicy : uint8_t { None, Norms, Attention, Mlp, Branches, Full };

llvm::StringRef recomputeName(RecomputePolicy policy); ///< "none", "norms", "attention", "mlp", "branches", "full"
std::optional<RecomputePolicy> parseRecompute(llvm::StringRef name); ///< empty for unknown names
std::vector<llvm::StringRef> recomputeNames();                       ///< in the order of the enumeration

} // namespace apc
