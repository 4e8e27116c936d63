// Interners: ids in the order of first appearance, ordered and hashed.
#include "apc/Support/Interner.h"

#include <catch2/catch.hpp>

#include <string>

using namespace apc;

namespace {

/// Every value has the same hash, so that equality alone decides.
struct SameHash {
  size_t operator()(const std::string &) const { return 7; }
};

template <typename Names>
void checkIds() {
  Names names;
  CHECK(names.idOf("b") == 0);
  CHECK(names.idOf("a") == 1);
  CHECK(names.idOf("b") == 0);
  CHECK(names.idOf("c") == 2);
  CHECK(names.size() == 3);
  CHECK(names[1] == "a");
  Names moved = std::move(names);
  CHECK(moved.idOf("a") == 1);
  CHECK(moved.take() == std::vector<std::string>{"b", "a", "c"});
  CHECK(moved.size() == 0);
  CHECK(moved.idOf("c") == 0);
}

} // namespace

TEST_CASE("interners give equal values one id, in the order of first appearance") {
  checkIds<Interner<std::string>>();
  checkIds<HashInterner<std::string, SameHash>>();
}
