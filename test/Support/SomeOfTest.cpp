// Lists that stop after some items.
#include "apc/Support/SomeOf.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Long lists end in a count of what is left out") {
  const std::vector<std::string> names = {"a", "b", "c"};
  CHECK(someOf(names, 3) == "a, b, c");
  CHECK(someOf(names, 2) == "a, b and 1 more");
  CHECK(someNamesOf(names, 4) == "'a', 'b', 'c'");
  CHECK(someNamesOf(names, 1) == "'a' and 2 more");
  CHECK(someOf({}, 2).empty());
}
