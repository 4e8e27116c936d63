// The layout of experts that a plan is nearest to.
#pragma once

#include "apc/Export/Export.h"
#include "apc/Planning/Planning.h"

namespace apc {

/// A layout carried out on the model and the cluster of a plan.
struct RecreatedPlan {
  ParallelDegrees layout;
  std::optional<Plan> plan; ///< none where the layout cannot be carried out
  std::string reason;       ///< why not
};

/// `layout` for the request of `plan`. Errors: internal ones alone.
llvm::Expected<RecreatedPlan> recreate(const Plan &plan, const ParallelDegrees &layout, const PlanningControl &control);

/// The layout of `source`, or the same with another stage of ZeRO or with sequences cut otherwise, where that has fewer
/// differences from the plan. Errors: internal ones alone.
llvm::Expected<RecreatedPlan> nearestLayout(const ExportSource &source, const PlanningControl &control);

} // namespace apc
