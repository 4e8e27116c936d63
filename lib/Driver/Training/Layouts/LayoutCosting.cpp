// Layouts of one request, costed one after the other.
#include "LayoutCosting.h"

#include "AllowedLayouts.h"

#include "apc/Support/Error.h"

#include <utility>

namespace apc {

namespace {

/// An error of `plan` that the caller has to hand on; none where the layout cannot be.
llvm::Error ourFault(llvm::Error error, std::string &message) {
  Fault fault;
  std::tie(fault, message) = takeMessage(std::move(error));
  return fault == Fault::Internal ? llvm::make_error<PlannerError>(fault, message) : llvm::Error::success();
}

} // namespace

llvm::Expected<std::optional<LayoutFigures>> LayoutCosting::figuresOf(const ParallelDegrees &layout, double seconds,
                                                                      std::optional<double> knownSeconds) {
  PlanRequest own = open;
  own.timeLimitSeconds = seconds;
  llvm::Expected<LayoutFigures> figures = evaluate.figures(own, layout, knownSeconds);
  if (figures)
    return std::optional(*figures);
  std::string message;
  if (llvm::Error error = ourFault(figures.takeError(), message))
    return std::move(error);
  if (!std::exchange(hasCheckedStep, true)) // of a step that cannot be built, no layout needs to be tried
    if (llvm::Error error = checkStepOf(open))
      return std::move(error);
  return std::nullopt;
}

void LayoutCosting::add(const EvaluatedLayout &evaluated) {
  Reference reference = referenceOf(evaluated, refusalOf(request, open, evaluated.layout));
  bool mayBePlan = reference.feasible && reference.reason.empty() && mayTryExperts(request);
  if (mayBePlan && (!best || evaluated.figures.stepSeconds < best->figures.stepSeconds))
    best = evaluated;
  known.references.push_back(std::move(reference));
}

llvm::Error LayoutCosting::addNamed(const ParallelDegrees &layout) {
  llvm::Expected<LayoutFigures> figures = evaluate.figures(open, layout, std::nullopt);
  if (figures) {
    add({layout, *figures});
    return llvm::Error::success();
  }
  std::string message;
  if (llvm::Error error = ourFault(figures.takeError(), message))
    return error;
  known.references.push_back({"layout " + layout.str(), std::nullopt, std::nullopt, false, message});
  return llvm::Error::success();
}

llvm::Expected<LayoutReferences> LayoutCosting::take() {
  if (!best)
    return std::move(known);
  llvm::Expected<Plan> plan = evaluate.plan(open, best->layout);
  std::string message;
  if (plan) {
    known.best = std::move(*plan);
    known.layoutOfBest = best->layout;
  } else if (llvm::Error error = ourFault(plan.takeError(), message)) {
    return std::move(error);
  }
  return std::move(known);
}

} // namespace apc
