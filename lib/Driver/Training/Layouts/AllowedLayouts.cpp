// Flags that a layout would contradict.
#include "AllowedLayouts.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/ExpertLayouts.h"

namespace apc {

double shareOfLayouts(const PlanRequest &request) { return request.pipeline.isOn() ? 0.2 : 0.05; }

bool mayTryExperts(const PlanRequest &request) {
  return request.pins.empty() && request.inputs.empty() && request.parallel == ParallelMode::Auto;
}

bool isAllowed(const PlanRequest &request, const PlanRequest &open, const ParallelDegrees &layout) {
  llvm::Expected<PlanRequest> own = requestOfLayout(open, layout);
  if (own)
    return refusalOf(request, layout, *own).empty();
  llvm::consumeError(own.takeError());
  return false;
}

} // namespace apc
