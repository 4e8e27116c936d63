// From one layout to better ones.
#pragma once

#include "apc/Planning/ExpertLayouts.h"

namespace apc {

/// One thing in which the layouts beside another one differ from it.
enum class LayoutChange {
  Tensor,    ///< half or twice as many ways of tp, with as many micro-batches where that is possible
  Workers,   ///< twice or half as many, with as many stages, or with as many chunks
  Chunks,    ///< one layer each; two or three times as many, half as many again, or three or two quarters of them
  Samples,   ///< about twice or half as many in a micro-batch
  Recompute, ///< another policy
  Storage,   ///< weights in pieces, or whole, where there is no pipeline
  Schedule,  ///< gradients of weights apart from those of inputs, in a pipeline
  Experts,   ///< whole, on ranks of tp too, or cut by tp
};
/// Stages of ZeRO that layouts have: states in pieces, and weights too.
inline constexpr int statesCut = 1, weightsCut = 3;
/// In the order in which they are tried: chunks, which mostly help and cost little memory, make room for the others.
inline constexpr LayoutChange layoutChanges[] = {LayoutChange::Chunks,   LayoutChange::Tensor,    LayoutChange::Workers,
                                                 LayoutChange::Samples,  LayoutChange::Recompute, LayoutChange::Storage,
                                                 LayoutChange::Schedule, LayoutChange::Experts};

/// \p layout with the numbers that are asked for; none where micro-batches of such samples do not divide the batch.
/// Under a schedule that does not take its chunks it has as many as that takes at least.
std::optional<ParallelDegrees> asAsked(ParallelDegrees layout, const StepSizes &step);

/// The most ways of ep that spread the experts of a step evenly over ranks of a layout; 1 without experts.
int64_t mostExpertRanks(const ParallelDegrees &layout, const StepSizes &step);

/// The layouts beside another one, with one thing changed, the usual schedule, or that which splits backward passes
/// where the other one's does, and those numbers that are asked for. dp takes the other devices, and experts are spread
/// over as many of its ranks as can be, or of tp's and its. \p mostTensor: ways of tp.
std::vector<ParallelDegrees> neighboursOf(const ParallelDegrees &layout, LayoutChange change, const StepSizes &step,
                                          int64_t mostTensor);

/// The last of the layouts that follow \p from, each a neighbour of the one before and faster than that, until no
/// neighbour is: one thing is changed as long as that helps, then the next.
///
/// - One that would be faster but does not fit is tried once more with the short warm-up, where it may fit so, with the
///   next policy of recomputation, and with everything recomputed where it is so much faster that this may help.
/// - Beside one whose strategies memory does not bind, no policy that keeps less is tried for itself.
/// - Backward passes are not split where a layout that leaves them whole would not be worth it without its bubble,
///   beside the best and a \p known step.
/// - At last policies are mixed (`MixedPolicies.h`), where that promises less time than the \p known step.
///
/// \p mayTry: of layouts, whether the request allows them. Errors: those of \p tryLayout.
llvm::Expected<EvaluatedLayout> improveLayout(EvaluatedLayout from, const StepSizes &step, int64_t mostTensor,
                                              MayTryLayout mayTry, TryLayout tryLayout,
                                              std::optional<double> known = std::nullopt);

} // namespace apc
