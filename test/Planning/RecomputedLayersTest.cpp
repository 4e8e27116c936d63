// The fewest recomputed layers, by formula and by trying.
#include "apc/Planning/RecomputedLayers.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace apc;

namespace {

struct LayersFound {
  int64_t fewest;
  unsigned tries;
};

/// With `layers` of `kept` bytes, or `left` bytes each when recomputed; all of them fit.
LayersFound search(int64_t layers, int64_t kept, int64_t left, int64_t limit) {
  auto bytesOf = [&](int64_t recomputed) { return recomputed * left + (layers - recomputed) * kept; };
  LayerSearch search(layers, bytesOf(layers), limit);
  unsigned tries = 0;
  while (std::optional<int64_t> next = search.next()) {
    REQUIRE(*next > 0);
    REQUIRE(*next < search.fewest());
    search.add(*next, bytesOf(*next) <= limit, bytesOf(*next));
    ++tries;
  }
  return {search.fewest(), tries};
}

/// Fewest steps forward that a chain of `length` equal steps runs again on its way back, with room for `slots` states,
/// the first among them (Griewank and Walther 2000, "revolve"): the next state to keep is tried at every place.
std::vector<std::vector<int64_t>> revolve(size_t length, size_t slots) {
  std::vector<std::vector<int64_t>> again(slots + 1, std::vector<int64_t>(length + 1, 0));
  for (size_t steps = 2; steps <= length; ++steps) {
    again[1][steps] = static_cast<int64_t>(steps * (steps - 1) / 2);
    for (size_t own = 2; own <= slots; ++own) {
      again[own][steps] = again[own - 1][steps];
      for (size_t at = 1; at < steps; ++at)
        again[own][steps] =
            std::min(again[own][steps], static_cast<int64_t>(at) + again[own - 1][steps - at] + again[own][at]);
    }
  }
  return again;
}

} // namespace

TEST_CASE("26 of the 96 layers of a 175B model are recomputed in 40,000 MiB") {
  // Tensor parallelism of 8, one micro-batch in flight: 552 MiB a layer, 48 MiB for its input.
  CHECK(fewestRecomputed(96 * 552, 552 - 48, 40000) == 26);
  CHECK(fewestRecomputed(96 * 552, 552 - 48, 96 * 552) == 0);
  CHECK(fewestRecomputed(96 * 552, 552 - 48, 96 * 552 - 1) == 1);
  CHECK(search(96, 552, 48, 40000).fewest == 26);
}

TEST_CASE("Trying finds the number of the formula, in few tries") {
  for (int64_t layers : {2, 3, 24, 96})
    for (int64_t limit = layers * 7; limit < layers * 40; limit += 11) {
      INFO(layers << " layers in " << limit);
      LayersFound found = search(layers, 40, 7, limit);
      CHECK(found.fewest == std::max<int64_t>(1, fewestRecomputed(40.0 * layers, 33, limit)));
      CHECK(found.tries <= 8);
    }
}

TEST_CASE("One layer leaves nothing to try") { CHECK_FALSE(LayerSearch(1, 10, 20).next().has_value()); }

TEST_CASE("A chain of equal steps runs as many of them again as the table of revolve has") {
  constexpr size_t slots[] = {1, 2, 3, 4, 5, 6, 8, 10, 12};
  const std::pair<size_t, std::vector<int64_t>> table[] = {{4, {6, 4, 3, 3, 3, 3, 3, 3, 3}},
                                                           {6, {15, 8, 7, 6, 5, 5, 5, 5, 5}},
                                                           {8, {28, 14, 11, 10, 9, 8, 7, 7, 7}},
                                                           {10, {45, 20, 15, 14, 13, 12, 10, 9, 9}},
                                                           {16, {120, 45, 33, 27, 25, 24, 22, 20, 18}},
                                                           {24, {276, 88, 61, 51, 44, 40, 38, 36, 34}},
                                                           {32, {496, 140, 93, 75, 68, 60, 54, 52, 50}},
                                                           {48, {1128, 267, 170, 136, 116, 108, 89, 84, 82}},
                                                           {96, {4560, 793, 462, 354, 300, 264, 233, 210, 183}}};
  std::vector<std::vector<int64_t>> again = revolve(96, 96);
  for (const auto &[length, row] : table)
    for (auto [own, fewest] : llvm::zip_equal(slots, row)) {
      INFO(length << " steps, " << own << " slots");
      CHECK(again[own][length] == fewest);
    }
}

// Layers keep their inputs all the time, so that each has a slot, and there is room for one layer as a whole. With less
// room no policy fits, where revolve would run layers more than twice.
TEST_CASE(
    "With a slot for each layer's input as few layers are recomputed as revolve runs again, with fewer none fit") {
  constexpr int64_t whole = 552, input = 48;
  std::vector<std::vector<int64_t>> again = revolve(96, 96);
  for (size_t length : {4, 6, 8, 10, 16, 24, 32, 48, 96}) {
    INFO(length << " layers");
    auto layers = static_cast<int64_t>(length);
    int64_t room = layers * input + whole - input;
    CHECK(fewestRecomputed(double(layers * whole), whole - input, double(room)) == again[length][length]);
    CHECK(search(layers, whole, input, room).fewest == again[length][length]);
    int64_t less = (layers - 1) * input;
    CHECK(fewestRecomputed(double(layers * whole), whole - input, double(less)) > layers);
    CHECK(again[length / 2][length] > again[length][length]);
  }
}
