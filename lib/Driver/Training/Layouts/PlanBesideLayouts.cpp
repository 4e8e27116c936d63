// The plan that a search found, or the layout that is better.
#include "../TimeShare.h"
#include "AllowedLayouts.h"
#include "LayoutInPlace.h"
#include "PipelinesBeside.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

/// Nothing fits; any other error is one of the request, which no layout mends.
static bool isNoPlan(llvm::Expected<Plan> &found) {
  if (found)
    return false;
  llvm::Error error = found.takeError();
  const bool isSo = faultOf(error) == Fault::NoPlan;
  found = std::move(error);
  return isSo;
}

/// Is the layout to be the plan, for the search has a slower one or none?
static bool isBestBy(const LayoutReferences &layouts, llvm::Expected<Plan> &searched, const PlanRequest &request) {
  return layouts.best && (!searched || layouts.best->stepSeconds < searched->stepSeconds * (1 - request.gapTolerance));
}

/// The reasons of the best layout, as far as there is time for them.
static void addReasons(LayoutReferences &layouts, EvaluateRequested evaluate, double seconds) {
  if (seconds <= 0)
    return;
  layouts.requestOfBest->timeLimitSeconds = seconds;
  llvm::Expected<Plan> plan = evaluate.withReasons(*layouts.requestOfBest, *layouts.layoutOfBest);
  if (plan)
    layouts.best = std::move(*plan);
  else
    llvm::consumeError(plan.takeError()); // the user stops, or time is over
}

static llvm::Expected<Plan> withLayouts(llvm::Expected<Plan> plan, LayoutReferences layouts, const PlanRequest &request,
                                        SearchEnd end) {
  if (layouts.best)
    layouts.best = withTimeLimitOf(request, std::move(*layouts.best));
  const bool isLayout = isBestBy(layouts, plan, request);
  if (!plan)
    plan = inPlaceOf(plan.takeError(), layouts, request, end);
  else if (Plan own = withTimeLimitOf(request, std::move(*plan)); isLayout)
    plan = inPlaceOf(own, std::move(*layouts.best));
  else
    plan = std::move(own);
  if (!plan)
    return plan;
  llvm::append_range(plan->references, layouts.references);
  if (layouts.shareOver)
    plan->notes.push_back("the " + std::to_string(std::lround(100 * *layouts.shareOver)) +
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
  llvm::Expected<LayoutReferences> layouts = costLayouts(request, ExpertNumbers::Asked, evaluate, control, begun);
  if (!layouts)
    return layouts.takeError();
  auto pipeline = pipelineBeside(request, *layouts, evaluate, control, secondsBeforeSearch(request, begun));
  if (!pipeline)
    return pipeline.takeError();
  PlanRequest own = request;
  llvm::erase_if(own.layouts, needsOwnGraph);
  own.timeLimitSeconds = secondsOfSearch(request, begun);
  const Stopwatch searching(*control.clock);
  llvm::Expected<Plan> found = search(own, *layouts);
  SearchOptions ofSearch;
  ofSearch.timeLimitSeconds = own.timeLimitSeconds;
  ofSearch.stop = control.stop;
  const SearchEnd end = endWithout(ofSearch, searching.seconds());
  if (isNoPlan(found) && !layouts->best && request.pipeline.count)
    layouts = costLayouts(request, ExpertNumbers::Any, evaluate, control, begun);
  if (!layouts)
    return llvm::consumeError(found.takeError()), layouts.takeError();
  const bool isStopped = control.stop && control.stop->load();
  if (!isStopped && isBestBy(*layouts, found, request))
    addReasons(*layouts, evaluate, secondsLeft(request, begun, /*least=*/0));
  llvm::Expected<Plan> plan = withLayouts(std::move(found), std::move(*layouts), request, end);
  if (!plan)
    return plan;
  plan->timing.totalSeconds = wall.seconds();
  return withNoteOn(*pipeline, std::move(*plan));
}

} // namespace apc
