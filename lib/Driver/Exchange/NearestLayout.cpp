// Layouts near a plan, carried out and compared with it.
#include "NearestLayout.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Support/Error.h"

namespace apc {

/// `request` with everything open that a layout says.
static PlanRequest withoutLayout(PlanRequest request) {
  request.microBatch.reset();
  request.recompute = RecomputeChoice::Auto;
  request.copies = {1};
  request.pipeline = {1};
  request.chunks = {};
  request.schedule = "auto";
  request.sensitivity = false;
  request.layouts.clear();
  return request;
}

llvm::Expected<RecreatedPlan> recreate(const Plan &plan, const ParallelDegrees &layout,
                                       const PlanningControl &control) {
  llvm::Expected<Plan> recreated = evaluateModel(withoutLayout(plan.request), layout, control);
  if (recreated)
    return RecreatedPlan{layout, std::move(*recreated), ""};
  auto [fault, message] = takeMessage(recreated.takeError());
  if (fault == Fault::Internal)
    return llvm::make_error<PlannerError>(fault, message);
  return RecreatedPlan{layout, std::nullopt, message};
}

/// The layout with one thing changed of those that are read off few bytes or ops.
static std::vector<ParallelDegrees> neighbours(const ParallelDegrees &layout) {
  std::vector<ParallelDegrees> near;
  if (layout.tensor > 1 && !layout.hasWholeExperts()) {
    near.push_back(layout);
    near.back().cutsSequences = !layout.cutsSequences;
  }
  if (layout.zero == 1 || layout.zero == 2) {
    near.push_back(layout);
    near.back().zero = 3 - layout.zero;
  }
  if (near.size() == 2) {
    near.push_back(near.front());
    near.back().zero = 3 - layout.zero;
  }
  return near;
}

llvm::Expected<RecreatedPlan> nearestLayout(const ExportSource &source, const PlanningControl &control) {
  auto countDifferences = [&](const RecreatedPlan &recreated) {
    return differencesFrom(source, *recreated.plan, "the target").size();
  };
  llvm::Expected<RecreatedPlan> best = recreate(source.plan, source.layout, control);
  if (!best || !best->plan)
    return best;
  size_t fewest = countDifferences(*best);
  for (const ParallelDegrees &layout : neighbours(source.layout)) {
    if (fewest == 0)
      break;
    llvm::Expected<RecreatedPlan> other = recreate(source.plan, layout, control);
    if (!other)
      return other;
    if (!other->plan)
      continue;
    if (size_t count = countDifferences(*other); count < fewest) {
      fewest = count;
      *best = std::move(*other);
    }
  }
  return best;
}

} // namespace apc
