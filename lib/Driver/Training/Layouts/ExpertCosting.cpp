// Layouts are asked for one after the other, and the next one is costed beside them.
#include "ExpertCosting.h"

#include "AllowedLayouts.h"

namespace apc {

/// The largest of `seconds`, its half, its quarter and so on of which as much is left: answers ahead, which do not know
/// yet how much will be left for them, seldom have another limit.
static double limitWithin(double seconds, double left) {
  while (seconds > left)
    seconds /= 2;
  return seconds;
}

llvm::Error ExpertCosting::cost(const StepSizes &sizes, MayTryLayout mayImprove) {
  auto answer = [&](const LayoutQuestion &question, const std::shared_ptr<WorkClock> &clock) {
    return costing.answer(question, clock);
  };
  auto countStep = [&](const ParallelDegrees &layout, WorkClock &clock) { evaluate.countStep(open, layout, clock); };
  LayoutsAhead ahead(pool, sizes, mayImprove, {answer, countStep}, control);
  auto tryLayout = [&](const ParallelDegrees &layout, std::optional<double> knownSeconds) {
    return figuresOf({layout, knownSeconds}, ahead);
  };
  auto experts = tryExpertLayouts(pool, sizes, tryLayout, mayImprove);
  if (!experts)
    return experts.takeError();
  for (const EvaluatedLayout &evaluated : *experts)
    costing.add(evaluated);
  return llvm::Error::success();
}

llvm::Expected<std::optional<LayoutFigures>> ExpertCosting::figuresOf(LayoutQuestion question, LayoutsAhead &ahead) {
  const double share = shareOfLayouts(request, costing.fitsWhole());
  const double seconds = std::min(share * request.timeLimitSeconds, mostSeconds);
  const double left = seconds - watch.seconds();
  if (control.stop && control.stop->load()) // which a note of the search tells
    return std::nullopt;
  if (left <= 0) {
    costing.cutShort(share);
    return std::nullopt;
  }
  if (control.report)
    control.report("costing layout " + question.layout.str() + costing.bestText());
  question.limitSeconds = limitWithin(seconds, left);
  return costing.take(question.layout, ahead.answerOf(question));
}

} // namespace apc
