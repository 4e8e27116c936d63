// Streams as queues: the time goes from one end of an event to the next.
#include "apc/Schedule/SimulateStep.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <vector>

namespace apc {

namespace {

class Simulation {
public:
  Simulation(llvm::ArrayRef<StepEvent> events, OverlapRates rates)
      : events(events), rates(rates), isOver(events.size(), false) {
    for (unsigned index = 0; index < events.size(); ++index) {
      if (events[index].stream >= streams.size())
        streams.resize(events[index].stream + 1);
      streams[events[index].stream].queue.push_back(index);
    }
  }

  double run() {
    while (beginAll())
      advance();
    assert(std::all_of(isOver.begin(), isOver.end(), [](bool over) { return over; }) && "events wait for later ones");
    return now;
  }

private:
  struct Stream {
    std::vector<unsigned> queue;
    size_t next = 0;                 ///< position in the queue
    std::optional<double> remaining; ///< seconds of the event that runs, while nothing else does
  };

  bool mayBegin(unsigned event) const {
    return std::all_of(events[event].after.begin(), events[event].after.end(),
                       [&](unsigned before) { return isOver[before]; });
  }

  /// Begins all events that can; those of no seconds are over at once, and others may begin then. False when nothing
  /// runs.
  bool beginAll() {
    bool isAnyRunning = false;
    for (bool goesOn = true; goesOn;) {
      goesOn = isAnyRunning = false;
      for (Stream &stream : streams) {
        while (!stream.remaining && stream.next < stream.queue.size() && mayBegin(stream.queue[stream.next])) {
          double seconds = events[stream.queue[stream.next]].seconds;
          if (seconds > 0) {
            stream.remaining = seconds;
          } else {
            isOver[stream.queue[stream.next++]] = true;
            goesOn = true;
          }
        }
        isAnyRunning |= stream.remaining.has_value();
      }
    }
    return isAnyRunning;
  }

  /// To the next end of an event.
  void advance() {
    bool isComputing = streams.front().remaining.has_value();
    bool isCommunicating =
        std::any_of(streams.begin() + 1, streams.end(), [](const Stream &stream) { return stream.remaining; });
    auto rateOf = [&](const Stream &stream) {
      if (!isComputing || !isCommunicating)
        return 1.0;
      return &stream == &streams.front() ? rates.compute : rates.communication;
    };
    double passed = std::numeric_limits<double>::infinity();
    for (const Stream &stream : streams)
      if (stream.remaining)
        passed = std::min(passed, *stream.remaining / rateOf(stream));
    constexpr double rounding = 1e-12; // of sums in another order
    for (Stream &stream : streams) {
      if (!stream.remaining)
        continue;
      double work = passed * rateOf(stream);
      if (*stream.remaining <= work * (1 + rounding)) {
        stream.remaining.reset();
        isOver[stream.queue[stream.next++]] = true;
      } else {
        *stream.remaining -= work;
      }
    }
    now += passed;
  }

  llvm::ArrayRef<StepEvent> events;
  OverlapRates rates;
  std::vector<bool> isOver;
  std::vector<Stream> streams{1};
  double now = 0;
};

} // namespace

StepTime &StepTime::operator+=(const StepTime &other) {
  seconds += other.seconds;
  computeSeconds += other.computeSeconds;
  communicationSeconds += other.communicationSeconds;
  exposedCommunicationSeconds += other.exposedCommunicationSeconds;
  return *this;
}

StepTime StepTime::times(double count) const {
  return {seconds * count, computeSeconds * count, communicationSeconds * count, exposedCommunicationSeconds * count};
}

StepTime simulateStep(llvm::ArrayRef<StepEvent> events, OverlapRates rates) {
  StepTime time;
  for (const StepEvent &event : events)
    (event.stream == 0 ? time.computeSeconds : time.communicationSeconds) += event.seconds;
  time.seconds = Simulation(events, rates).run();
  time.exposedCommunicationSeconds = std::max(0.0, time.seconds - time.computeSeconds);
  return time;
}

std::vector<TimeWeights> boundingWeights(OverlapRates rates, unsigned numStreams) {
  assert(numStreams > 0 && "collectives without a stream");
  double streams = numStreams, share = std::min(1.0, (1 - rates.compute) / rates.communication) / streams;
  TimeWeights slowed{1, 1 - share * (streams - 1), share};
  TimeWeights halved{0.5, (slowed.exposed + 1 / streams) / 2, (slowed.hideable + 1 / streams) / 2};
  std::vector<TimeWeights> weights{slowed};
  if (slowed.exposed < 1)
    weights.push_back({1, 1, 0});
  weights.push_back(halved);
  return weights;
}

} // namespace apc
