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
    for (unsigned index = 0; index < events.size(); ++index)
      (events[index].kind == StepEventKind::CollectiveBeside ? beside : main).queue.push_back(index);
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
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (Stream *stream : {&main, &beside})
        while (!stream->remaining && stream->next < stream->queue.size() && mayBegin(stream->queue[stream->next])) {
          double seconds = events[stream->queue[stream->next]].seconds;
          if (seconds > 0) {
            stream->remaining = seconds;
          } else {
            isOver[stream->queue[stream->next++]] = true;
            goesOn = true;
          }
        }
    }
    return main.remaining || beside.remaining;
  }

  /// To the next end of an event.
  void advance() {
    bool areBoth = main.remaining && beside.remaining;
    bool isWaiting = areBoth && events[main.queue[main.next]].kind == StepEventKind::Collective;
    double mainSpeed = areBoth && !isWaiting ? rates.compute : 1;
    double besideSpeed = isWaiting ? 0 : areBoth ? rates.communication : 1;
    double passed = std::numeric_limits<double>::infinity();
    if (main.remaining)
      passed = *main.remaining / mainSpeed;
    if (beside.remaining && besideSpeed > 0)
      passed = std::min(passed, *beside.remaining / besideSpeed);
    work(main, passed * mainSpeed);
    work(beside, passed * besideSpeed);
    now += passed;
  }

  void work(Stream &stream, double seconds) {
    if (!stream.remaining)
      return;
    constexpr double rounding = 1e-12; // of sums in another order
    if (*stream.remaining <= seconds * (1 + rounding)) {
      stream.remaining.reset();
      isOver[stream.queue[stream.next++]] = true;
    } else {
      *stream.remaining -= seconds;
    }
  }

  llvm::ArrayRef<StepEvent> events;
  OverlapRates rates;
  std::vector<bool> isOver;
  Stream main, beside;
  double now = 0;
};

} // namespace

StepTime &StepTime::operator+=(const StepTime &other) {
  seconds += other.seconds;
  computeSeconds += other.computeSeconds;
  communicationSeconds += other.communicationSeconds;
  exposedCommunicationSeconds += other.exposedCommunicationSeconds;
  hostSeconds += other.hostSeconds;
  return *this;
}

StepTime StepTime::times(double count) const {
  return {seconds * count, computeSeconds * count, communicationSeconds * count, exposedCommunicationSeconds * count,
          hostSeconds * count};
}

StepTime simulateStep(llvm::ArrayRef<StepEvent> events, OverlapRates rates) {
  StepTime time;
  for (const StepEvent &event : events)
    (event.kind == StepEventKind::Op ? time.computeSeconds : time.communicationSeconds) += event.seconds;
  time.seconds = Simulation(events, rates).run();
  time.exposedCommunicationSeconds = std::max(0.0, time.seconds - time.computeSeconds);
  return time;
}

TimeWeights TimeWeights::mixed(llvm::ArrayRef<TimeWeights> weights, llvm::ArrayRef<double> shares) {
  assert(weights.size() == shares.size() && "a share for each weighting");
  auto mix = [&](double TimeWeights::*weight) {
    double sum = 0;
    for (size_t index = 0; index < weights.size(); ++index)
      sum += shares[index] * weights[index].*weight;
    return sum;
  };
  return {mix(&TimeWeights::compute), mix(&TimeWeights::covering), mix(&TimeWeights::exposed), mix(&TimeWeights::near),
          mix(&TimeWeights::hideable)};
}

std::vector<TimeWeights> boundingWeights(OverlapRates rates) {
  double beside = (1 - rates.compute) / rates.communication;
  if (beside >= 1)
    return {TimeWeights()};
  double hidden = (1 - rates.communication) / rates.compute;
  return {{1, 1, 1, beside, beside}, {1, hidden, 1, 1, beside}, {hidden, hidden, 1, 1, 1}};
}

} // namespace apc
