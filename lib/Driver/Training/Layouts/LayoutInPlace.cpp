// Notes and figures of a layout that is the plan.
#include "LayoutInPlace.h"

#include "../TimeShare.h"
#include "../TrainingPoints.h"

#include "apc/Planning/NothingFits.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

/// \p layout as the best of what was tried: \p before and, where these are not all, as many as \p numTried.
static Plan besideTried(Plan layout, llvm::ArrayRef<TriedPoint> before, int64_t numTried) {
  std::vector<TriedPoint> tried = withTried(before, triedPointOf(layout));
  layout.numTried = std::max<int64_t>(numTried, before.size()) + (tried.size() > before.size() ? 1 : 0);
  layout.tried = bestTried(std::move(tried));
  return layout;
}

Plan inPlaceOf(const Plan &searched, Plan layout) {
  layout.references = searched.references;
  layout = besideTried(std::move(layout), triedOf(searched), searched.numTried);
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

/// Why the search of a request has no plan: its end, or what it says itself.
static std::string noteOnNothing(const PlanRequest &request, SearchEnd end, const std::string &message) {
  if (end == SearchEnd::Interrupt)
    return "the search was stopped before it found a plan that fits";
  if (end == SearchEnd::TimeLimit)
    return timeLimitText(request.timeLimitSeconds) +
           " was over before the search found a plan that fits: with more time (--time-limit) it may find one";
  return "the search found nothing that fits: " + message;
}

/// \p layout with what a search knows that has no plan.
static Plan withSearched(Plan layout, const NothingFits &searched) {
  layout = besideTried(std::move(layout), searched.tried(), 0);
  const std::optional<double> bound = searched.getBoundSeconds();
  return bound ? boundByAll(std::move(layout), *bound) : std::move(layout);
}

llvm::Expected<Plan> inPlaceOf(llvm::Error error, LayoutReferences &layouts, const PlanRequest &request,
                               SearchEnd end) {
  bool isTooMuchHeld = error.isA<TooMuchHeld>();
  error = llvm::handleErrors(std::move(error), [&](std::unique_ptr<NothingFits> own) {
    if (layouts.best)
      layouts.best = withSearched(std::move(*layouts.best), *own);
    return llvm::Error(std::move(own));
  });
  auto [fault, message] = takeMessage(std::move(error));
  if (fault != Fault::NoPlan)
    return llvm::make_error<PlannerError>(fault, message);
  if (layouts.best) {
    layouts.best->notes.push_back(noteOnNothing(request, end, message));
    return std::move(*layouts.best);
  }
  message += hintAt(layouts);
  return isTooMuchHeld ? llvm::make_error<TooMuchHeld>(fault, message) : llvm::make_error<PlannerError>(fault, message);
}

} // namespace apc
