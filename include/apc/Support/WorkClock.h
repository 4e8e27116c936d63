// A clock that goes by work, so that limits of time end searches at the same place on every machine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace apc {

/// The seconds that work takes on one core of a common server, counted by the work itself: cells of tables, additions,
/// ops. Readings do not depend on the machine, nor on what else runs there, until the wall clock has passed the limit;
/// then they are those of the wall clock. So a slow machine ends in time, too.
///
/// Work that runs side by side is counted on forks: what one of them reads does not depend on the others.
class WorkClock {
public:
  /// Begins at 0. \p limitSeconds: of wall-clock time from now.
  explicit WorkClock(double limitSeconds) : limitSeconds(limitSeconds) {}

  /// Has no limit for work, and so goes by the wall clock from the beginning.
  static WorkClock ofWall() { return WorkClock(0); }

  /// Reads as this clock does now, with the same limit, and goes on alone.
  std::shared_ptr<WorkClock> fork() const;
  /// Counts what a fork has counted since it was made or joined; the fork then reads as this clock.
  void join(WorkClock &fork);

  /// Counts work that takes so many nanoseconds.
  void spend(double nanoseconds) { own += static_cast<int64_t>(nanoseconds); }
  /// Counts wall-clock time of work that does not count itself; from then on, readings depend on the machine.
  void spendMeasured(double nanoseconds) {
    spend(nanoseconds);
    isMeasured = true;
  }
  double seconds() const;
  bool isOver() const { return seconds() >= limitSeconds; } ///< by work or by the wall clock
  /// False once readings depend on the machine: another run may read otherwise.
  bool isReproducible() const { return !isMeasured && wallSeconds() < limitSeconds; }

private:
  double wallSeconds() const;

  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  double limitSeconds;
  std::atomic<int64_t> before = 0; ///< nanoseconds that were on the clock when it was made or joined
  std::atomic<int64_t> own = 0;    ///< nanoseconds since then
  std::atomic<bool> isMeasured = false;
};

/// The seconds on a clock since the watch was made.
class Stopwatch {
public:
  explicit Stopwatch(const WorkClock &clock) : clock(clock), begin(clock.seconds()) {}
  double seconds() const { return clock.seconds() - begin; }

private:
  const WorkClock &clock;
  double begin;
};

} // namespace apc
