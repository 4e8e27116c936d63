// The moment at which a search must return its best answer so far.
#pragma once

#include "apc/Search/Algorithms.h"

#include <algorithm>

namespace apc {

/// `Deadline deadline(options); ...; if (deadline.expired()) stop;`
class Deadline {
public:
  /// \p stop, when given, ends the time as soon as it is true.
  explicit Deadline(double seconds, const std::atomic<bool> *stop = nullptr)
      : start(Clock::now()), seconds(seconds), stop(stop) {}
  /// The end of a search: its time limit, or `until` where that is sooner; at most \p secondsLeft from now.
  explicit Deadline(const SearchOptions &options, std::optional<double> secondsLeft = std::nullopt)
      : Deadline(secondsLeft.value_or(options.timeLimitSeconds), options.stop) {
    if (options.until)
      seconds = std::min(seconds, std::chrono::duration<double>(*options.until - start).count());
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  bool expired() const { return (stop && stop->load(std::memory_order_relaxed)) || elapsed() >= seconds; }
  double remaining() const { return expired() ? 0 : seconds - elapsed(); }

private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start;
  double seconds;
  const std::atomic<bool> *stop;
};

} // namespace apc
