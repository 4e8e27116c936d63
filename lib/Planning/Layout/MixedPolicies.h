// Two policies of recomputation in the layers of one layout.
#pragma once

#include "apc/Planning/ExpertLayouts.h"

namespace apc {

/// The policy of the first layers of a layout.
inline RecomputeChoice policyOf(const ParallelDegrees &layout) {
  return layout.recompute ? layout.recompute->policy : RecomputeChoice::None;
}

/// The seconds of \p best, or of a step that is known elsewhere and takes less.
inline double leastKnown(const EvaluatedLayout &best, std::optional<double> known) {
  return std::min(best.figures.stepSeconds, known.value_or(best.figures.stepSeconds));
}

/// \p best, or a faster layout that recomputes some of its \p layers by the policy of one of \p costed, which fits, and
/// the others by that of one of \p tooLarge, which keeps more and does not fit: dp=512,tp=2,zero=3,mb=3,recompute=full
/// and the same with norms give recompute=full:2,norms. The fewest layers are looked for, as far as a few tries come,
/// for bytes are about linear in them; the pairs that promise most come first. Layouts that differ in more than the
/// policy make no pair. Workers of a pipeline wait for the one that recomputes most: with several chunks each, as many
/// layers of all of them do; with one, nothing is mixed. Pairs that promise no less time than a \p known step are left
/// out. \p mayTry: of layouts, whether the request allows them. Errors: those of \p tryLayout.
llvm::Expected<EvaluatedLayout> mixPolicies(EvaluatedLayout best, llvm::ArrayRef<EvaluatedLayout> costed,
                                            llvm::ArrayRef<EvaluatedLayout> tooLarge, int64_t layers,
                                            MayTryLayout mayTry, TryLayout tryLayout,
                                            std::optional<double> known = std::nullopt);

} // namespace apc
