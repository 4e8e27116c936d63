// Flags that a layout would contradict.
#include "AllowedLayouts.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Planning/ExpertLayouts.h"
#include "apc/Support/Error.h"

#include <algorithm>
#include <cmath>

namespace apc {

double shareOfLayouts(const PlanRequest &request, bool fitsWhole) {
  return request.pipeline.isOn() || !fitsWhole ? 0.5 : 0.1;
}

double secondsLeft(const PlanRequest &request, const Stopwatch &begun, double leastShare) {
  return std::max(leastShare * request.timeLimitSeconds, request.timeLimitSeconds - begun.seconds());
}

constexpr double leastOfSearch = 0.5; // of the time limit

double secondsOfSearch(const PlanRequest &request, const Stopwatch &begun) {
  constexpr double digits = 10;
  double left = secondsLeft(request, begun, leastOfSearch);
  return left > 1 ? std::floor(left * digits) / digits : left;
}

double secondsBeforeSearch(const PlanRequest &request, const Stopwatch &begun) {
  return std::max(0.0, (1 - leastOfSearch) * request.timeLimitSeconds - begun.seconds());
}

AskedOfLayouts askedBy(const PlanRequest &request) {
  AskedOfLayouts asked{request.pipeline.count, request.chunks.count, request.microBatch};
  if (!(request.recompute == RecomputeChoice::Auto))
    asked.recompute = request.recompute;
  if (std::optional<int64_t> zero = zeroStage(request.zero))
    asked.zero = static_cast<int>(*zero);
  if (request.schedule != PlanRequest().schedule)
    asked.schedule = request.schedule;
  if (copiesOf(request) > 1)
    asked.copies = request.copies.count;
  return asked;
}

bool fixesMoreThanWorkers(const AskedOfLayouts &asked) {
  return asked.chunks || asked.microBatch || asked.recompute || asked.zero == 0 || !asked.schedule.empty() ||
         asked.copies;
}

std::string refusalOfAll(const PlanRequest &request, bool hasPins) {
  if (request.parallel != ParallelMode::Auto)
    return "--parallel " + parallelModeName(request.parallel).str() + " does not allow it";
  if (!request.pins.empty() || !request.inputs.empty())
    return "the pins do not allow it";
  return hasPins ? "the model's own shardings do not allow it" : "";
}

std::string refusalOf(const PlanRequest &request, const PlanRequest &open, const ParallelDegrees &layout) {
  llvm::Expected<PlanRequest> own = requestOfLayout(open, layout);
  return own ? refusalOf(request, layout, *own) : takeMessage(own.takeError()).second;
}

} // namespace apc
