// Kernels of two graphs, op by op.
#include "apc/Graph/FewestMoves.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("An op has the kernels in which it moves least, its own or those of the op of its name") {
  OpGraph kept, again;
  for (const char *name : {"product", "relu", "gradient"})
    kept.ops.push_back({name, name, RuleId(0), {}, {}, {}});
  again.ops = kept.ops;
  again.ops.insert(again.ops.begin() + 2, {"relu.again", "relu", RuleId(0), {}, {}, {}});
  kept.ops[1].kernel.joins = true;
  again.ops[1].kernel.inside = {false, true}; // nothing but its copy is read behind the product
  again.ops[3].kernel.inside = {false, false};
  OpGraph fewest = withFewerMoves(kept, again);
  REQUIRE(fewest.ops.size() == 3);
  CHECK(fewest.ops[0].kernel == KernelShare());
  CHECK(fewest.ops[1].kernel.joins);
  CHECK(fewest.ops[1].kernel.inside == std::vector<bool>{false, true});
  CHECK(fewest.ops[2].kernel == KernelShare()); // nothing is inside
}
