// The moment at which a search must return its best answer so far.
#pragma once

#include <atomic>
#include <chrono>

namespace apc {

/// `Deadline deadline(1.5, options.stop); ...; if (deadline.expired()) stop;`
class Deadline {
public:
  /// \p stop, when given, ends the time as soon as it is true.
  explicit Deadline(double seconds, const std::atomic<bool> *stop = nullptr)
      : start(Clock::now()), seconds(seconds), stop(stop) {}

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
