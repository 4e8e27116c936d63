// The work of the busiest worker against all distributions.
#include "../../../lib/Planning/Pipeline/Bound/LeastShare.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

using namespace apc;

namespace {

double busiestOfAll(const std::vector<double> &parts, const std::vector<double> &begun) {
  const size_t workers = begun.size();
  std::vector<size_t> places(parts.size(), 0);
  std::optional<double> least;
  for (;;) {
    std::vector<double> loads = begun;
    for (size_t part = 0; part < parts.size(); ++part)
      loads[places[part]] += parts[part];
    double busiest = *std::max_element(loads.begin(), loads.end());
    least = std::min(least.value_or(busiest), busiest);
    size_t part = 0;
    while (part < parts.size() && ++places[part] == workers)
      places[part++] = 0;
    if (part == parts.size())
      return *least;
  }
}

double busiestOfAll(const std::vector<double> &parts, size_t workers) {
  return busiestOfAll(parts, std::vector<double>(workers, 0.0));
}

} // namespace

TEST_CASE("The busiest of several workers has one layer more where layers do not divide") {
  CHECK(leastLargestShare({}, 4) == 0);
  CHECK(leastLargestShare({1, 1, 1, 1, 2.5}, 2) == Approx(3.5));
  std::vector<double> layers(94, 1.0); // 8 workers: 13 layers for one of them; the even share is 12.2
  layers.push_back(1.1);
  layers.push_back(2.5);
  CHECK(leastLargestShare(layers, 8) == Approx(13));
}

TEST_CASE("The busiest worker has no more than under any distribution, and no less where few parts differ") {
  std::mt19937_64 random(41);
  for (unsigned round = 0; round < 300; ++round) {
    size_t workers = 1 + random() % 3, numEqual = random() % 5, numOthers = 1 + random() % 4;
    std::vector<double> parts(numEqual, static_cast<double>(1 + random() % 4));
    for (size_t other = 0; other < numOthers; ++other)
      parts.push_back(static_cast<double>(1 + random() % 40) / 4);
    std::shuffle(parts.begin(), parts.end(), random);
    CHECK(leastLargestShare(parts, workers) == Approx(busiestOfAll(parts, workers)));
  }
  for (unsigned round = 0; round < 20; ++round) { // more different parts than are tried
    std::vector<double> parts;
    for (size_t part = 0; part < 9; ++part)
      parts.push_back(static_cast<double>(1 + random() % 1000));
    double bound = leastLargestShare(parts, 3), least = busiestOfAll(parts, 3);
    CHECK(bound <= least * (1 + 1e-12));
    CHECK(bound >= least * 0.8);
  }
}

TEST_CASE("Workers that have begun with something take less of the rest") {
  CHECK(leastLargestShare({}, {0, 2}) == 2);
  CHECK(leastLargestShare({1, 1, 1, 1, 2.5}, {1, 0}) == Approx(4));
  CHECK(leastLargestShare(std::vector<double>(8, 24), {0, 3, 6, 9}) == Approx(57));
  std::mt19937_64 random(43);
  for (unsigned round = 0; round < 300; ++round) {
    std::vector<double> begun(1 + random() % 3), parts(random() % 5, static_cast<double>(1 + random() % 4));
    for (double &load : begun)
      load = static_cast<double>(random() % 9);
    for (size_t other = 0, count = 1 + random() % 4; other < count; ++other)
      parts.push_back(static_cast<double>(1 + random() % 40) / 4);
    CHECK(leastLargestShare(parts, begun) == Approx(busiestOfAll(parts, begun)));
  }
}
