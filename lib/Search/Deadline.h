// The moment at which a search must return its best answer so far.
#pragma once

#include "apc/Search/Algorithms.h"

#include <algorithm>

namespace apc {

/// `Deadline deadline(options); ...; deadline.spend(work); if (deadline.expired()) stop;`
class Deadline {
public:
  /// So many seconds of the wall clock and of the work that is counted here. \p stop, when given, ends the time as soon
  /// as it is true.
  explicit Deadline(double seconds, const std::atomic<bool> *stop = nullptr)
      : Deadline(std::make_shared<WorkClock>(seconds), seconds, stop) {}
  /// The end of a search: its time limit, or `until` where that is sooner; at most \p secondsLeft from now.
  explicit Deadline(const SearchOptions &options, std::optional<double> secondsLeft = std::nullopt)
      : Deadline(options.clockOrNew(), secondsLeft.value_or(options.timeLimitSeconds), options.stop) {
    if (options.clock && options.until)
      end = std::min(end, *options.until);
  }

  /// The same end on a fork of the clock, for work beside other work.
  Deadline fork() const { return Deadline(clock->fork(), end, stop, Fork()); }
  /// Counts what was counted on a fork.
  void join(const Deadline &fork) const { clock->join(*fork.clock); }

  /// Counts work that takes so many nanoseconds.
  void spend(double nanoseconds) const { clock->spend(nanoseconds); }
  /// The same of work that does not count itself, by the wall clock.
  void spendMeasured(double nanoseconds) const { clock->spendMeasured(nanoseconds); }
  bool expired() const { return remaining() <= 0; }
  double remaining() const {
    bool isStopped = stop && stop->load(std::memory_order_relaxed);
    return isStopped ? 0 : std::max(0.0, end - clock->seconds());
  }

private:
  Deadline(std::shared_ptr<WorkClock> clock, double seconds, const std::atomic<bool> *stop)
      : clock(std::move(clock)), end(this->clock->seconds() + seconds), stop(stop) {}

  struct Fork {};
  Deadline(std::shared_ptr<WorkClock> clock, double end, const std::atomic<bool> *stop, Fork)
      : clock(std::move(clock)), end(end), stop(stop) {}

  std::shared_ptr<WorkClock> clock;
  double end; ///< a reading of the clock
  const std::atomic<bool> *stop;
};

} // namespace apc
