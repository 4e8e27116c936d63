// The fewest recomputed layers, by formula and by trying.
#include "apc/Planning/RecomputedLayers.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

struct Found {
  int64_t fewest;
  unsigned tries;
};

/// With `layers` of `kept` bytes, or `left` bytes each when recomputed; all of them fit.
Found search(int64_t layers, int64_t kept, int64_t left, int64_t limit) {
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
      Found found = search(layers, 40, 7, limit);
      CHECK(found.fewest == std::max<int64_t>(1, fewestRecomputed(40.0 * layers, 33, limit)));
      CHECK(found.tries <= 8);
    }
}

TEST_CASE("One layer leaves nothing to try") { CHECK_FALSE(LayerSearch(1, 10, 20).next().has_value()); }
