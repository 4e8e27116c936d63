// Steps of events with known times, and random ones against a simulation in small steps of time.
#include "apc/Schedule/SimulateStep.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <random>

using namespace apc;

namespace {

double secondsOf(std::vector<StepEvent> events, OverlapRates rates = {}) { return simulateStep(events, rates).seconds; }

constexpr auto op = StepEventKind::Op, waited = StepEventKind::Collective, beside = StepEventKind::CollectiveBeside;

/// An independent and much slower simulation: time passes in seconds, in which everything that runs advances by one.
/// Seconds of events are whole, and rates 1.
double bySmallSteps(const std::vector<StepEvent> &events) {
  std::vector<int> left;
  for (const StepEvent &event : events)
    left.push_back(static_cast<int>(event.seconds));
  std::vector<bool> isOver(events.size(), false);
  int now = 0;
  auto isBlocked = [&](size_t index) {
    for (size_t before = 0; before < index; ++before)
      if ((events[before].kind == beside) == (events[index].kind == beside) && !isOver[before])
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
    bool isWaiting =
        std::any_of(running.begin(), running.end(), [&](size_t each) { return events[each].kind == waited; });
    for (size_t index : running)
      left[index] -= !isWaiting || events[index].kind == waited;
  }
}

std::vector<StepEvent> randomEvents(std::mt19937_64 &random) {
  std::vector<StepEvent> events;
  size_t count = 1 + random() % 12;
  for (unsigned index = 0; index < count; ++index) {
    StepEvent event{std::array{op, waited, beside}[random() % 3], static_cast<double>(random() % 5), {}};
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
  CHECK(secondsOf({{op, 4, {}}, {op, 4, {}}}) == 8);
  CHECK(secondsOf({{op, 4, {}}, {beside, 3, {0}}, {op, 4, {}}}) == 8);                    // hidden
  CHECK(secondsOf({{op, 4, {}}, {beside, 3, {0}}, {op, 4, {1}}}) == 11);                  // read at once
  CHECK(secondsOf({{op, 4, {}}, {waited, 3, {0}}, {op, 4, {}}}) == 11);                   // waited for
  CHECK(secondsOf({{op, 4, {}}, {beside, 6, {0}}, {op, 4, {}}}) == 10);                   // longer than the op
  CHECK(secondsOf({{op, 1, {}}, {beside, 5, {0}}, {beside, 5, {0}}, {op, 1, {}}}) == 11); // one behind the other
  CHECK(secondsOf({{op, 1, {}}, {beside, 3, {0}}, {waited, 2, {0}}, {op, 4, {}}}) == 7);  // stands still for 2 s
  CHECK(secondsOf({{op, 2, {}}, {op, 3, {}}, {beside, 4, {0, 1}}, {op, 1, {}}, {op, 1, {2}}}) == 10);
  CHECK(secondsOf({{beside, 2, {}}, {beside, 0, {0}}, {op, 1, {1}}}) == 3); // through an event of no time
}

TEST_CASE("an op and a collective that run together are slower, as long as they do") {
  // Both run: the collective does 3 s at half its speed in 6 s, in which the op does 6 * 0.75 = 4.5 s of 6.
  StepTime time = simulateStep(std::vector<StepEvent>{{beside, 3, {}}, {op, 6, {}}}, {0.75, 0.5});
  CHECK(time.seconds == Approx(7.5));
  CHECK(time.computeSeconds == 6);
  CHECK(time.communicationSeconds == 3);
  CHECK(time.exposedCommunicationSeconds == Approx(1.5));
  // Alone nothing is slowed.
  CHECK(secondsOf({{op, 2, {}}, {beside, 2, {0}}, {op, 2, {1}}}, {0.5, 0.5}) == Approx(6));
  // Two collectives do not slow each other: one of them stands still.
  CHECK(secondsOf({{beside, 2, {}}, {waited, 2, {}}}, {0.5, 0.5}) == Approx(4));
}

TEST_CASE("random events take what a simulation in small steps says, and no stream is beaten") {
  std::mt19937_64 random(1);
  for (unsigned draw = 0; draw < 2000; ++draw) {
    std::vector<StepEvent> events = randomEvents(random);
    StepTime time = simulateStep(events);
    REQUIRE(time.seconds == Approx(bySmallSteps(events)).margin(1e-9));
    StepTime slowed = simulateStep(events, {0.8, 0.7});
    double sum = 0, mainSum = 0;
    for (const StepEvent &event : events) {
      sum += event.seconds;
      mainSum += event.kind == beside ? 0 : event.seconds;
    }
    for (double seconds : {time.seconds, slowed.seconds}) {
      CHECK(seconds >= std::max(mainSum, time.communicationSeconds) * (1 - 1e-9));
      CHECK(seconds <= sum * (1 + 1e-9) + 1e-9);
    }
    CHECK(slowed.seconds >= time.seconds * (1 - 1e-9));
  }
}

TEST_CASE("a faster link or device never makes a step of fixed events slower, where nothing is slowed") {
  std::mt19937_64 random(2);
  for (unsigned draw = 0; draw < 500; ++draw) {
    std::vector<StepEvent> events = randomEvents(random), faster = events;
    for (StepEvent &event : faster)
      event.seconds *= (event.kind == op) == (draw % 2 == 0) ? 0.5 : 1;
    CHECK(secondsOf(faster) <= secondsOf(events) * (1 + 1e-9));
  }
}

TEST_CASE("weightings bound a step, and mixtures of them") {
  std::mt19937_64 random(3);
  size_t reached[3] = {};
  for (unsigned draw = 0; draw < 4000; ++draw) {
    OverlapRates rates{0.5 + 0.125 * static_cast<double>(random() % 5),
                       0.5 + 0.125 * static_cast<double>(random() % 5)};
    // Half of them have few dependences, so that much runs together.
    std::vector<StepEvent> events = randomEvents(random);
    for (StepEvent &event : events)
      if (draw % 2)
        event.after.clear();
    // Two ops cover a collective that stands behind the first's forerunner and before what follows the second.
    auto first = static_cast<unsigned>(events.size());
    bool hasNear = draw % 4 < 2;
    if (hasNear) {
      events.push_back({op, 1, {}});
      events.push_back({beside, static_cast<double>(random() % 6), {first}});
      events.push_back({op, static_cast<double>(1 + random() % 3), {first}});
      events.push_back({op, 1, {first + 1, first + 2}});
    }
    double sums[3] = {};
    for (const StepEvent &event : events)
      sums[static_cast<size_t>(event.kind)] += event.seconds;
    double near = hasNear ? events[first + 1].seconds : 0, covering = hasNear ? events[first + 2].seconds : 0;
    double seconds = secondsOf(events, rates);
    auto weighed = [&](const TimeWeights &weights) {
      return weights.compute * (sums[0] - covering) + weights.covering * covering + weights.exposed * sums[1] +
             weights.near * near + weights.hideable * (sums[2] - near);
    };
    std::vector<TimeWeights> weights = boundingWeights(rates);
    for (size_t index = 0; index < weights.size(); ++index) {
      CHECK(weighed(weights[index]) <= seconds * (1 + 1e-9) + 1e-9);
      reached[index] += weighed(weights[index]) >= seconds * (1 - 1e-9);
    }
    double mixed = weighed(TimeWeights::mixed({weights.front(), weights.back()}, {0.25, 0.75}));
    CHECK(mixed == Approx(0.25 * weighed(weights.front()) + 0.75 * weighed(weights.back())));
  }
  CHECK(reached[0] > 1000); // the bounds are no empty ones
  CHECK(reached[1] > 1000);
  CHECK(reached[2] > 300);
}
