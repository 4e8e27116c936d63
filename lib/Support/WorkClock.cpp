// Readings of work and of the wall clock.
#include "apc/Support/WorkClock.h"

#include <algorithm>

namespace apc {

double WorkClock::wallSeconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double WorkClock::seconds() const {
  constexpr double nanoseconds = 1e9; // of a second
  const double work = static_cast<double>(before + own) / nanoseconds, wall = wallSeconds();
  return wall < limitSeconds ? work : std::max(work, wall);
}

std::shared_ptr<WorkClock> WorkClock::fork() const {
  auto fork = std::make_shared<WorkClock>(limitSeconds);
  fork->begin = begin;
  fork->before = before + own;
  fork->isMeasured = isMeasured.load();
  return fork;
}

void WorkClock::join(WorkClock &fork) {
  own += fork.own;
  if (fork.isMeasured)
    isMeasured = true;
  fork.own = 0;
  fork.before = before + own;
}

} // namespace apc
