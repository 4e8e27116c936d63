// Flags that a layout would contradict.
#include "AllowedLayouts.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/ExpertLayouts.h"
#include "apc/Support/Error.h"

namespace apc {

double shareOfLayouts(const PlanRequest &request) { return request.pipeline.isOn() ? 0.5 : 0.1; }

bool mayTryExperts(const PlanRequest &request) {
  return request.pins.empty() && request.inputs.empty() && request.parallel == ParallelMode::Auto;
}

std::string refusalOf(const PlanRequest &request, const PlanRequest &open, const ParallelDegrees &layout) {
  llvm::Expected<PlanRequest> own = requestOfLayout(open, layout);
  return own ? refusalOf(request, layout, *own) : takeMessage(own.takeError()).second;
}

} // namespace apc
