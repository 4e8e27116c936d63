// Layouts of one request, costed one after the other.
#include "LayoutCosting.h"

#include "AllowedLayouts.h"

#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace apc {

LayoutAnswer LayoutCosting::answer(const LayoutQuestion &question, const std::shared_ptr<WorkClock> &clock) const {
  PlanRequest own = open;
  own.timeLimitSeconds = question.limitSeconds;
  LayoutAnswer answer;
  if (auto figures = evaluate.figures(own, question.layout, question.knownSeconds, clock))
    answer.figures = *figures;
  else
    std::tie(answer.fault, answer.message) = takeMessage(figures.takeError());
  return answer;
}

llvm::Expected<std::optional<LayoutFigures>> LayoutCosting::take(const ParallelDegrees &layout,
                                                                 const LayoutAnswer &answer) {
  if (const std::optional<LayoutFigures> &figures = answer.figures) {
    if (figures->fits() && refusalOf(request, open, layout).empty())
      leastSeconds = std::min(leastSeconds.value_or(figures->stepSeconds), figures->stepSeconds);
    const bool keepsAll = layout.pipeline == 1 && layout.recompute == RecomputeSetting(RecomputeChoice::None);
    hasFittingWhole = hasFittingWhole || (figures->fits() && keepsAll);
    return figures;
  }
  if (answer.fault == Fault::Internal)
    return llvm::make_error<PlannerError>(answer.fault, answer.message);
  if (!std::exchange(hasCheckedStep, true)) // of a step that cannot be built, no layout needs to be tried
    if (llvm::Error error = checkStepOf(open))
      return std::move(error);
  return std::nullopt;
}

std::string LayoutCosting::bestText() const { return leastSeconds ? ": best " + formatSeconds(*leastSeconds) : ""; }

void LayoutCosting::add(const EvaluatedLayout &evaluated) {
  Reference reference = referenceOf(evaluated, refusalOf(request, open, evaluated.layout));
  if (llvm::any_of(known.references, [&](const Reference &other) { return other.name == reference.name; }))
    return;
  bool mayBePlan = reference.feasible && reference.reason.empty() && known.refusal.empty();
  if (mayBePlan && (!best || evaluated.figures.stepSeconds < best->figures.stepSeconds))
    best = evaluated;
  const double seconds = evaluated.figures.stepSeconds;
  if (mayBePlan && evaluated.layout.pipeline == 1 && (!known.alone || seconds < known.alone->seconds))
    known.alone = KnownStep{evaluated.layout, seconds};
  known.references.push_back(std::move(reference));
}

llvm::Error LayoutCosting::addNamed(const ParallelDegrees &layout, double seconds,
                                    const std::shared_ptr<WorkClock> &clock) {
  const LayoutAnswer named = answer({layout, std::nullopt, seconds}, clock);
  if (named.figures) {
    add({layout, *named.figures});
    evaluate.countStep(open, layout, *clock);
    return llvm::Error::success();
  }
  if (named.fault == Fault::Internal)
    return llvm::make_error<PlannerError>(named.fault, named.message);
  known.references.push_back({"layout " + layout.str(), std::nullopt, std::nullopt, false, named.message});
  return llvm::Error::success();
}

llvm::Expected<LayoutReferences> LayoutCosting::take(double seconds) {
  if (!best)
    return std::move(known);
  open.timeLimitSeconds = seconds;
  llvm::Expected<Plan> plan = evaluate.plan(open, best->layout);
  if (plan) {
    known.best = std::move(*plan);
    known.layoutOfBest = best->layout;
    known.requestOfBest = std::move(open);
    return std::move(known);
  }
  auto [fault, message] = takeMessage(plan.takeError());
  if (fault == Fault::Internal)
    return llvm::make_error<PlannerError>(fault, message);
  return std::move(known);
}

} // namespace apc
