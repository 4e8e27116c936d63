// The questions so far are asked again with their answers, until one comes that is new.
#include "LayoutsAhead.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <system_error>

namespace apc {

std::optional<LayoutQuestion> LayoutsAhead::nextAfter(const LayoutQuestion &question) const {
  if (answered.empty())
    return std::nullopt;
  size_t asked = 0;
  std::optional<LayoutQuestion> next;
  auto answerAgain = [&](const ParallelDegrees &layout,
                         std::optional<double> knownSeconds) -> llvm::Expected<std::optional<LayoutFigures>> {
    const size_t index = asked++;
    if (index < answered.size())
      return answered[index];
    LayoutQuestion own{layout, knownSeconds, question.limitSeconds};
    if (indexOf(own) < begun.size())
      return std::nullopt;
    next = std::move(own);
    return internalError("the next question is known");
  };
  llvm::consumeError(tryExpertLayouts(pool, step, answerAgain, mayTry).takeError());
  return next;
}

size_t LayoutsAhead::indexOf(const LayoutQuestion &question) const {
  return llvm::find_if(begun, [&](const auto &own) { return own->question == question; }) - begun.begin();
}

size_t LayoutsAhead::numRunning() const {
  return llvm::count_if(begun, [](const auto &own) { return !own->isDone; });
}

void LayoutsAhead::start(const LayoutQuestion &question) {
  begun.push_back(std::make_unique<Costed>(question, control.clock->fork()));
  Costed &own = *begun.back();
  auto work = [this, &own] {
    own.answer = answer.answer(own.question, own.clock);
    std::lock_guard lock(mutex);
    own.isDone = true;
    isAnswered.notify_one();
  };
  try {
    if (control.numThreads > 1) {
      own.thread = std::thread(work);
      return;
    }
  } catch (const std::system_error &) {
    // This thread does it, for there are no more.
  }
  work();
}

void LayoutsAhead::await(const Costed &own) {
  constexpr size_t most = 3; // further ones are seldom asked for
  size_t ahead = 0;
  for (std::unique_lock lock(mutex); !own.isDone;) {
    if (ahead == most || numRunning() >= control.numThreads) {
      isAnswered.wait(lock);
      continue;
    }
    lock.unlock();
    std::optional<LayoutQuestion> next = nextAfter(own.question);
    if (next)
      start(*next);
    ahead = next ? ahead + 1 : most;
    lock.lock();
  }
}

std::unique_ptr<LayoutsAhead::Costed> LayoutsAhead::take(const LayoutQuestion &question) {
  const size_t index = indexOf(question);
  if (index == begun.size())
    start(question);
  await(*begun[index]);
  std::unique_ptr<Costed> own = std::move(begun[index]);
  begun.erase(begun.begin() + static_cast<std::ptrdiff_t>(index));
  constexpr size_t most = 32; // whose turn may come: those that began first have long been passed over
  while (begun.size() > most)
    begun.erase(begun.begin());
  return own;
}

LayoutAnswer LayoutsAhead::answerOf(const LayoutQuestion &question) {
  std::unique_ptr<Costed> own = take(question);
  if (own->answer.figures)
    answer.countStep(question.layout, *own->clock);
  // Rounded, for readings that begin elsewhere differ by less than a nanosecond.
  constexpr double nanoseconds = 1e9; // of a second
  control.clock->spend(share * std::round(nanoseconds * (own->clock->seconds() - own->begin)));
  answered.push_back(own->answer.figures);
  return std::move(own->answer);
}

} // namespace apc
