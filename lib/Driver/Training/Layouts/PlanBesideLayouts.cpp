// The plan that a search found, or the layout that is better.
#include "../TimeShare.h"
#include "../TrainingPoints.h"
#include "AllowedLayouts.h"
#include "LayoutReferences.h"

#include "apc/Search/SearchEnd.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

/// The layout in place of the plan of the search, which is slower.
static Plan inPlaceOf(const Plan &searched, Plan layout) {
  layout.references = searched.references;
  const std::vector<TriedPoint> before = triedOf(searched);
  std::vector<TriedPoint> tried = withTried(before, triedPointOf(layout));
  layout.numTried = std::max<int64_t>(searched.numTried, before.size()) + (tried.size() > before.size() ? 1 : 0);
  layout.tried = bestTried(std::move(tried));
  if (llvm::is_contained(searched.notes, stoppedNote()))
    layout.notes.push_back(stoppedNote());
  llvm::append_range(layout.notes, notesOnSearchTime(searched));
  layout.lowerBoundSeconds = std::min(searched.lowerBoundSeconds, layout.stepSeconds);
  layout.gap = 1 - layout.lowerBoundSeconds / layout.stepSeconds;
  layout.notes.push_back("the search found nothing as fast: its plan takes " + formatSeconds(searched.stepSeconds));
  return layout;
}

/// The fastest layout that fits, though the request did not allow it.
static std::string hintAt(const LayoutReferences &layouts) {
  const Reference *fastest = nullptr;
  for (const Reference &own : layouts.references)
    if (own.feasible && (!fastest || *own.stepSeconds < *fastest->stepSeconds))
      fastest = &own;
  if (!fastest)
    return "";
  std::string reason = !fastest->reason.empty()   ? fastest->reason
                       : !layouts.refusal.empty() ? layouts.refusal
                                                  : "its plan was not found";
  return llvm::formatv("\n{0} fits, with {1} on each device, but {2}", fastest->name,
                       formatBytes(static_cast<double>(*fastest->memoryBytes)), reason);
}

/// The layout where nothing else fits; any other error stays.
static llvm::Expected<Plan> inPlaceOf(llvm::Error error, LayoutReferences &layouts) {
  bool isTooMuchHeld = error.isA<TooMuchHeld>();
  auto [fault, message] = takeMessage(std::move(error));
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  if (layouts.best) {
    layouts.best->notes.push_back("the search found nothing that fits");
    return std::move(*layouts.best);
  }
  message += hintAt(layouts);
  return isTooMuchHeld ? llvm::make_error<TooMuchHeld>(fault, message) : llvm::make_error<PlannerError>(fault, message);
}

/// Nothing fits; any other error is one of the request, which no layout mends.
static bool isNoPlan(llvm::Expected<Plan> &found) {
  if (found)
    return false;
  bool isSo = false;
  llvm::Error error = found.takeError();
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &own) {
    isSo = own.isA<PlannerError>() && static_cast<const PlannerError &>(own).getFault() == Fault::NoPlan;
  });
  found = std::move(error);
  return isSo;
}

static llvm::Expected<Plan> withLayouts(llvm::Expected<Plan> plan, LayoutReferences layouts,
                                        const PlanRequest &request) {
  if (layouts.best)
    layouts.best = withTimeLimitOf(request, std::move(*layouts.best));
  if (!plan)
    plan = inPlaceOf(plan.takeError(), layouts);
  else if (Plan own = withTimeLimitOf(request, std::move(*plan));
           layouts.best && layouts.best->stepSeconds < own.stepSeconds * (1 - request.gapTolerance))
    plan = inPlaceOf(own, std::move(*layouts.best));
  else
    plan = std::move(own);
  if (!plan)
    return plan;
  llvm::append_range(plan->references, layouts.references);
  if (layouts.isCutShort)
    plan->notes.push_back("the " + std::to_string(std::lround(100 * shareOfLayouts(request))) +
                          " % of the time limit that layouts have were over before all were costed");
  plan->request.layouts = request.layouts;
  return plan;
}

llvm::Expected<Plan> planBesideLayouts(const PlanRequest &request, SearchBeside search, EvaluateRequested evaluate,
                                       const PlanningControl &control) {
  const Stopwatch begun(*control.clock);
  const WorkClock wall = WorkClock::ofWall();
  if (control.report)
    control.report("costing layouts");
  llvm::Expected<LayoutReferences> layouts = costLayouts(request, ExpertWorkers::Asked, evaluate, control, begun);
  if (!layouts)
    return layouts.takeError();
  PlanRequest own = request;
  llvm::erase_if(own.layouts, needsOwnGraph);
  own.timeLimitSeconds = secondsOfSearch(request, begun);
  llvm::Expected<Plan> found = search(own, *layouts);
  if (isNoPlan(found) && !layouts->best && request.pipeline.count)
    layouts = costLayouts(request, ExpertWorkers::Any, evaluate, control, begun);
  if (!layouts)
    return llvm::consumeError(found.takeError()), layouts.takeError();
  llvm::Expected<Plan> plan = withLayouts(std::move(found), std::move(*layouts), request);
  if (plan)
    plan->timing.totalSeconds = wall.seconds();
  return plan;
}

} // namespace apc
