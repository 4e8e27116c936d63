// The moment at which a search must come back with what it has.
#pragma once

#include <chrono>

namespace apc {

/// `Deadline deadline(1.5); ...; if (deadline.expired()) stop;`
class Deadline {
public:
  explicit Deadline(double seconds) : start(Clock::now()), seconds(seconds) {}

  bool expired() const { return std::chrono::duration<double>(Clock::now() - start).count() >= seconds; }

private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start;
  double seconds;
};

} // namespace apc
