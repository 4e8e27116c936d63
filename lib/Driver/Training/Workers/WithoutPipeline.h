// The step without a pipeline, beside its pipelines.
#pragma once

#include "../PointPlanner.h"

namespace apc {

/// The plan without a pipeline, where there is one, and what was tried for it.
struct Without {
  std::optional<Plan> plan;
  std::vector<TriedPoint> tried;
  bool isBounded = false; ///< the bound of `plan` is that of all steps without a pipeline, as far as any are asked for
};

/// \p found of \p own, which has one worker; nothing where nothing fits. Errors: all others.
llvm::Expected<Without> asWithout(const PlanRequest &own, llvm::Expected<Plan> found, bool isBounded);

/// Plans \p request without a pipeline, where it leaves the number of workers open: in half of its time and from the
/// fastest layout that has none, where one is known that is not clearly slower than all layouts; else in a third. Where
/// the fewest micro-batches do not fit with everything kept then, or are clearly slower than a known layout, a quick
/// plan with most recomputed stands for all, or none where that does not fit either. Errors: those of `chooseTraining`
/// other than that nothing fits.
llvm::Expected<Without> planWithout(const PlanRequest &request, const PointPlanner &points);

/// Plans the micro-batches and the policy of the fastest layout without a pipeline quickly, where the known pipeline is
/// hardly faster than that: searches gain more there than in stages. Nothing elsewhere, and where that point is
/// refused. Errors: the same.
llvm::Expected<Without> planLayoutWithout(const PlanRequest &request, const PointPlanner &points);

/// Of pipelines: the plan without one is known, where it is faster than the layout that is.
PlanningControl beside(const Without &without, const PlanningControl &control);

/// Where a quick plan is not clearly slower than the best of pipelines, \p pipeline: the best that is found in so many
/// seconds. Errors: the same.
llvm::Expected<Without> planWithoutAgain(Without quick, const std::optional<Plan> &pipeline, const PlanRequest &request,
                                         const PointPlanner &points, double seconds);

} // namespace apc
