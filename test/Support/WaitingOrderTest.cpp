// Lists whose items wait for later ones.
#include "apc/Support/WaitingOrder.h"

#include <catch2/catch.hpp>

#include <random>

using namespace apc;

namespace {

using Waits = std::vector<llvm::SmallVector<size_t, 4>>;

} // namespace

TEST_CASE("a list in which nobody waits for a later item keeps its order") {
  CHECK(orderWithWaits(Waits{}).empty());
  CHECK(orderWithWaits(Waits{{}, {0}, {0, 1}}) == std::vector<size_t>{0, 1, 2});
}

TEST_CASE("an item that waits follows the last that it waits for, before the next of the list") {
  CHECK(orderWithWaits(Waits{{}, {3}, {1}, {}, {}}) == std::vector<size_t>{0, 3, 1, 2, 4});
  // Two wait for item 4: they follow it in the order of the list.
  CHECK(orderWithWaits(Waits{{4, 2}, {}, {4}, {}, {}, {}}) == std::vector<size_t>{1, 3, 4, 2, 0, 5});
}

TEST_CASE("items that wait in a circle are left out") {
  CHECK(orderWithWaits(Waits{{1}, {0}, {}}) == std::vector<size_t>{2});
}

TEST_CASE("orders of random lists hold every item once, behind all that it waits for") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    // Items wait for those before them in a hidden order, so that there is no circle.
    size_t count = 2 + random() % 12;
    std::vector<size_t> hidden(count);
    for (size_t i = 0; i < count; ++i)
      hidden[i] = i;
    std::shuffle(hidden.begin(), hidden.end(), random);
    Waits waits(count);
    for (size_t i = 1; i < count; ++i)
      for (size_t edge = random() % 3; edge-- > 0;)
        waits[hidden[i]].push_back(hidden[random() % i]);
    std::vector<size_t> order = orderWithWaits(waits), place(count, count);
    REQUIRE(order.size() == count);
    for (size_t i = 0; i < count; ++i)
      place[order[i]] = i;
    for (size_t item = 0; item < count; ++item)
      for (size_t other : waits[item])
        CHECK(place[other] < place[item]);
  }
}
