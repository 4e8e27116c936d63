// The policies of recomputation that a user may name.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace apc {

/// The forward values that the backward pass makes again, as `apc/Autodiff/Recompute.h` describes them. Auto: each is
/// tried, and the plan of the fastest that fits names it.
enum class RecomputeChoice : uint8_t { None, Norms, Attention, Full, Auto };

llvm::StringRef recomputeChoiceName(RecomputeChoice choice); ///< "none", ..., "auto"
std::optional<RecomputeChoice> parseRecomputeChoice(llvm::StringRef name);

} // namespace apc
