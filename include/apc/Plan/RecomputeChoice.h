// The policies of recomputation that a user may name, and the layers that they hold for.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace apc {

/// The forward values that the backward pass makes again, as `apc/Autodiff/Recompute.h` describes them. Auto: each is
/// tried, and the plan of the fastest that fits names it.
enum class RecomputeChoice : uint8_t { None, Norms, Attention, Mlp, Branches, Full, Auto };

llvm::StringRef recomputeChoiceName(RecomputeChoice choice); ///< "none", ..., "auto"
std::optional<RecomputeChoice> parseRecomputeChoice(llvm::StringRef name);

/// A policy for all layers, or for the first ones alone: {Full, 26} is written "full:26". The first layers are the ones
/// to recompute, for when their turn comes in the backward pass, the values that the others kept are free again. The
/// other layers may have a policy of their own: {Full, 26, Norms} is "full:26,norms".
struct RecomputeSetting {
  RecomputeChoice policy = RecomputeChoice::None;
  std::optional<int64_t> layers = {};           ///< at least 1; none: all
  RecomputeChoice rest = RecomputeChoice::None; ///< of the other layers; not `policy`, and `None` without `layers`

  RecomputeSetting() = default;
  RecomputeSetting(RecomputeChoice policy, std::optional<int64_t> layers = {},
                   RecomputeChoice rest = RecomputeChoice::None)
      : policy(policy), layers(layers), rest(rest) {}

  /// Until a policy is chosen, nothing is recomputed.
  RecomputeChoice chosen() const { return policy == RecomputeChoice::Auto ? RecomputeChoice::None : policy; }
  std::string str() const; ///< "none", "full", "full:26", "full:26,norms", "auto"
  friend bool operator==(const RecomputeSetting &, const RecomputeSetting &) = default;
};

/// Reads the form above. Errors (input) begin with `source` and say what is accepted.
llvm::Expected<RecomputeSetting> parseRecomputeSetting(llvm::StringRef text, llvm::StringRef source);

} // namespace apc
