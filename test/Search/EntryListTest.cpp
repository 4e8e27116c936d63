// Lists of seconds against bytes: dominance and rounding keep something near everything that they drop.
#include "../../lib/Search/Dp/EntryList.h"

#include "Search/RandomProblems.h"

#include <catch2/catch.hpp>

#include <optional>

using namespace apc::dp;
using apc::test::Random;

namespace {

Frontier randomList(size_t size, Random &random) {
  Frontier list;
  for (uint32_t index = 0; index < size; ++index) {
    double seconds = random.unit();
    auto bytes = static_cast<int64_t>(1000 * (1 - seconds) + 200 * random.unit());
    list.push_back({seconds, 0, bytes, index});
  }
  return list;
}

/// The seconds by which `entry` is faster than the fastest of `list` with as few bytes; none where none has.
std::optional<double> lossOf(const Entry &entry, const Frontier &list) {
  std::optional<double> least;
  for (const Entry &kept : list)
    if (kept.bytes <= entry.bytes)
      least = std::min(least.value_or(kept.seconds), kept.seconds);
  return least ? std::optional(*least - entry.seconds) : std::nullopt;
}

} // namespace

TEST_CASE(
    "every entry that is dropped has one beside it that is no worse, or by no more than the error that is stated") {
  Random random(5);
  bool isRounded = false;
  for (size_t number = 0; number < 200; ++number) {
    Frontier all = randomList(1 + random.below(2000), random), kept = all;
    keepBest(kept);
    for (const Entry &entry : all) {
      REQUIRE(lossOf(entry, kept));
      CHECK(*lossOf(entry, kept) <= 0);
    }
    for (size_t index = 1; index < kept.size(); ++index) {
      CHECK(kept[index - 1].bytes < kept[index].bytes);
      CHECK(kept[index - 1].seconds > kept[index].seconds);
    }
    Frontier rounded = kept;
    double allowed = 0.1 * random.unit();
    rounded.error = 0.25;
    round(rounded, allowed);
    CHECK(rounded.error <= 0.25 + allowed);
    for (const Entry &entry : all) {
      REQUIRE(lossOf(entry, rounded));
      CHECK(*lossOf(entry, rounded) <= rounded.error - 0.25 + 1e-15);
    }
    isRounded |= rounded.size() < kept.size();
    round(kept, 0);
    CHECK(kept.error == 0);
  }
  CHECK(isRounded);
}

TEST_CASE("short lists are not rounded") {
  Frontier list = {{3, 0, 1, 0}, {2.6, 0, 2, 1}, {1, 0, 3, 2}};
  round(list, 0.5);
  CHECK(list.size() == 3);
  CHECK(list.error == 0);
}
