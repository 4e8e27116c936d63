// Two policies of recomputation in one step: a heavy one for the first layers, a light one for the others.
#pragma once

#include "apc/Plan/RecomputeChoice.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>

namespace apc {

struct StepCost {
  double seconds = 0;
  int64_t bytes = 0; ///< of a device
};

/// A policy that fits: all layers, and the fewest layers with which it does. {Full, 96, 26, 2.1 s, 1.8 s}.
struct PolicySteps {
  RecomputeChoice policy = RecomputeChoice::Full;
  int64_t layers = 0, fewest = 0;
  double allSeconds = 0, fewestSeconds = 0;
};

/// Plans a step of two policies; none where it does not fit, or is not planned.
using PlanOfPair = llvm::function_ref<llvm::Expected<std::optional<StepCost>>(const RecomputeSetting &)>;

/// Looks for pairs that are faster than each policy of \p fitting with its fewest layers: one of these for the first
/// layers, one of \p others, which do not fit alone, for the rest. Errors: those of \p plan.
///
/// The fewest seconds within bytes is a knapsack with one item a layer. Items are equal, so its optimum takes two
/// policies, neighbours on the lower hull of bytes against seconds, but for the layer in which one changes to the
/// other. A policy that fits needs no lighter one beside it than none; so one that fits and one that does not are all
/// there is to try. Seconds grow alike with each layer, bytes do not where the fullest moment of a step changes: one
/// plan for each of \p others says how many heavy layers are few enough to be faster, and a search from there on how
/// few fit.
llvm::Error searchPairs(llvm::ArrayRef<PolicySteps> fitting, llvm::ArrayRef<RecomputeChoice> others, int64_t limitBytes,
                        PlanOfPair plan);

} // namespace apc
