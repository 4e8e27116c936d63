// The questions so far are asked again with their answers, until one comes that is new.
#include "LayoutsAhead.h"

#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

std::optional<LayoutQuestion> LayoutsAhead::nextAfter(const LayoutQuestion &question) const {
  if (control.numThreads < 2 || answered.empty())
    return std::nullopt;
  size_t asked = 0;
  std::optional<LayoutQuestion> next;
  auto answerAgain = [&](const ParallelDegrees &layout,
                         std::optional<double> knownSeconds) -> llvm::Expected<std::optional<LayoutFigures>> {
    const size_t index = asked++;
    if (index < answered.size())
      return answered[index];
    if (index == answered.size())
      return std::nullopt;
    next = {layout, knownSeconds, question.limitSeconds};
    return internalError("the next question is known");
  };
  llvm::consumeError(tryExpertLayouts(pool, step, answerAgain, mayTry).takeError());
  return next;
}

LayoutsAhead::Costed LayoutsAhead::take(const LayoutQuestion &question) {
  auto known = llvm::find_if(ahead, [&](const Costed &own) { return own.question == question; });
  if (known != ahead.end()) {
    Costed own = std::move(*known);
    ahead.erase(known);
    return own;
  }
  std::vector<Costed> costed{{question, control.clock->fork()}};
  if (std::optional<LayoutQuestion> next = nextAfter(question))
    costed.push_back({std::move(*next), control.clock->fork()});
  forEach(costed.size(), control.numThreads,
          [&](size_t index) { costed[index].answer = answer.answer(costed[index].question, costed[index].clock); });
  if (costed.size() > 1)
    ahead.push_back(std::move(costed.back()));
  return std::move(costed.front());
}

LayoutAnswer LayoutsAhead::answerOf(const LayoutQuestion &question) {
  Costed own = take(question);
  if (own.answer.figures)
    answer.countStep(question.layout, *own.clock);
  // Rounded, for readings that begin elsewhere differ by less than a nanosecond.
  constexpr double nanoseconds = 1e9; // of a second
  control.clock->spend(share * std::round(nanoseconds * (own.clock->seconds() - own.begin)));
  answered.push_back(own.answer.figures);
  return std::move(own.answer);
}

} // namespace apc
