// Workers, micro-batches and policy of a layout among those of a request.
#include "LayoutPoint.h"

namespace apc {

std::optional<PlanRequest> pointOfLayout(const std::optional<ParallelDegrees> &layout,
                                         llvm::ArrayRef<PlanRequest> points, const RecomputeSetting &usual) {
  if (!layout || !layout->microBatch)
    return std::nullopt;
  for (const PlanRequest &point : points)
    if (point.pipeline.count == layout->pipeline && point.microBatch == *layout->microBatch * layout->data) {
      PlanRequest own = point;
      own.recompute = layout->recompute.value_or(usual);
      return own;
    }
  return std::nullopt;
}

} // namespace apc
