// Steps of events with known times, and random ones against a simulation in small steps of time.
#include "apc/Schedule/SimulateStep.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

using namespace apc;

namespace {

double secondsOf(std::vector<StepEvent> events, OverlapRates rates = {}) { return simulateStep(events, rates).seconds; }

/// An independent and much slower simulation: time passes in thousandths, in which everything that runs advances by its
/// rate. Seconds of events are whole, and rates 1.
double bySmallSteps(const std::vector<StepEvent> &events) {
  std::vector<int> left;
  for (const StepEvent &event : events)
    left.push_back(static_cast<int>(event.seconds));
  std::vector<bool> isOver(events.size(), false);
  int now = 0;
  auto isBlocked = [&](size_t index) {
    for (size_t before = 0; before < index; ++before)
      if (events[before].stream == events[index].stream && !isOver[before])
        return true;
    return std::any_of(events[index].after.begin(), events[index].after.end(),
                       [&](unsigned before) { return !isOver[before]; });
  };
  for (;; ++now) {
    for (size_t pass = 0; pass < events.size(); ++pass)
      for (size_t index = 0; index < events.size(); ++index)
        if (left[index] == 0 && !isOver[index] && !isBlocked(index))
          isOver[index] = true;
    if (std::all_of(isOver.begin(), isOver.end(), [](bool over) { return over; }))
      return now;
    std::vector<size_t> running;
    for (size_t index = 0; index < events.size(); ++index)
      if (!isOver[index] && left[index] > 0 && !isBlocked(index))
        running.push_back(index);
    for (size_t index : running)
      --left[index];
  }
}

std::vector<StepEvent> randomEvents(std::mt19937_64 &random, unsigned numStreams) {
  std::vector<StepEvent> events;
  size_t count = 1 + random() % 12;
  for (unsigned index = 0; index < count; ++index) {
    StepEvent event{static_cast<unsigned>(random() % numStreams), static_cast<double>(random() % 5), {}};
    for (unsigned before = 0; before < index; ++before)
      if (random() % 4 == 0)
        event.after.push_back(before);
    events.push_back(std::move(event));
  }
  return events;
}

} // namespace

TEST_CASE("steps of a few events take what they take by hand") {
  CHECK(secondsOf({}) == 0);
  CHECK(secondsOf({{0, 4, {}}, {0, 4, {}}}) == 8);
  CHECK(secondsOf({{0, 4, {}}, {1, 3, {0}}, {0, 4, {}}}) == 8);               // hidden
  CHECK(secondsOf({{0, 4, {}}, {1, 3, {0}}, {0, 4, {1}}}) == 11);             // waited for
  CHECK(secondsOf({{0, 4, {}}, {1, 6, {0}}, {0, 4, {}}}) == 10);              // two seconds longer than what hides it
  CHECK(secondsOf({{0, 1, {}}, {1, 5, {0}}, {1, 5, {0}}, {0, 1, {}}}) == 11); // one link
  CHECK(secondsOf({{0, 1, {}}, {1, 5, {0}}, {2, 5, {0}}, {0, 1, {}}}) == 6);  // two links
  CHECK(secondsOf({{0, 2, {}}, {0, 3, {}}, {1, 4, {0, 1}}, {0, 1, {}}, {0, 1, {2}}}) == 10); // one of two producers
  CHECK(secondsOf({{1, 2, {}}, {1, 0, {0}}, {0, 1, {1}}}) == 3); // through an event of no time
}

TEST_CASE("what runs together is slower, as long as it does") {
  // Both run: the collective does 3 s at half its speed in 6 s, in which the op does 6 * 0.75 = 4.5 s of 6.
  StepTime time = simulateStep(std::vector<StepEvent>{{1, 3, {}}, {0, 6, {}}}, {0.75, 0.5});
  CHECK(time.seconds == Approx(7.5));
  CHECK(time.computeSeconds == 6);
  CHECK(time.communicationSeconds == 3);
  CHECK(time.exposedCommunicationSeconds == Approx(1.5));
  // Alone nothing is slowed.
  CHECK(secondsOf({{0, 2, {}}, {1, 2, {0}}, {0, 2, {1}}}, {0.5, 0.5}) == Approx(6));
  // Two collectives do not slow each other.
  CHECK(secondsOf({{1, 2, {}}, {2, 2, {}}}, {0.5, 0.5}) == Approx(2));
}

TEST_CASE("random events take what a simulation in small steps says, and no stream is beaten") {
  std::mt19937_64 random(1);
  for (unsigned draw = 0; draw < 2000; ++draw) {
    unsigned numStreams = 1 + draw % 3;
    std::vector<StepEvent> events = randomEvents(random, numStreams);
    StepTime time = simulateStep(events);
    REQUIRE(time.seconds == Approx(bySmallSteps(events)).margin(1e-9));
    StepTime slowed = simulateStep(events, {0.8, 0.7});
    double sum = 0, longest = 0;
    std::vector<double> streams(numStreams);
    for (const StepEvent &event : events) {
      sum += event.seconds;
      streams[event.stream] += event.seconds;
      longest = std::max(longest, streams[event.stream]);
    }
    for (double seconds : {time.seconds, slowed.seconds}) {
      CHECK(seconds >= longest * (1 - 1e-9));
      CHECK(seconds <= sum * (1 + 1e-9) + 1e-9);
    }
    CHECK(slowed.seconds >= time.seconds * (1 - 1e-9));
  }
}

TEST_CASE("a faster link or device never makes a step of fixed events slower, where nothing is slowed") {
  std::mt19937_64 random(2);
  for (unsigned draw = 0; draw < 500; ++draw) {
    std::vector<StepEvent> events = randomEvents(random, 3), faster = events;
    for (StepEvent &event : faster)
      event.seconds *= event.stream == draw % 3 ? 0.5 : 1;
    CHECK(secondsOf(faster) <= secondsOf(events) * (1 + 1e-9));
  }
}

TEST_CASE("weightings bound a step whose collectives are exposed or not") {
  std::mt19937_64 random(3);
  size_t reached = 0;
  for (unsigned draw = 0; draw < 2000; ++draw) {
    // A chain of ops. Behind some stands a collective that the next waits for; other collectives may be anywhere.
    unsigned numStreams = 1 + draw % 2;
    OverlapRates rates{0.5 + 0.125 * static_cast<double>(random() % 5),
                       0.5 + 0.125 * static_cast<double>(random() % 5)};
    std::vector<StepEvent> events;
    double compute = 0, exposed = 0, hideable = 0;
    unsigned lastOp = 0;
    for (unsigned op = 0; op < 1 + random() % 8; ++op) {
      StepEvent own{0, 1.0 + static_cast<double>(random() % 4), {}};
      if (op > 0 && random() % 3 == 0) {
        events.push_back(
            {1 + static_cast<unsigned>(random() % numStreams), static_cast<double>(random() % 4), {lastOp}});
        exposed += events.back().seconds;
        own.after.push_back(static_cast<unsigned>(events.size() - 1));
      }
      compute += own.seconds;
      events.push_back(own);
      lastOp = static_cast<unsigned>(events.size() - 1);
      if (random() % 2 == 0) {
        events.push_back({1 + static_cast<unsigned>(random() % numStreams), static_cast<double>(random() % 4), {}});
        hideable += events.back().seconds;
      }
    }
    double seconds = secondsOf(events, rates), best = 0;
    for (const TimeWeights &weights : boundingWeights(rates, numStreams))
      best = std::max(best, weights.compute * compute + weights.exposed * exposed + weights.hideable * hideable);
    CHECK(best <= seconds * (1 + 1e-9));
    reached += best >= seconds * (1 - 1e-9);
  }
  CHECK(reached > 200); // the bound is no empty one
}
