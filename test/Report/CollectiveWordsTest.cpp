// Words for collectives.
#include "../../lib/Report/CollectiveWords.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("collectives are told in words") {
  CHECK(collectiveText("AllReduce{device}") == "AllReduce over device");
  CHECK(collectiveText("AllGather{node.a} 1") == "AllGather of dim 1 over node.a");
  CHECK(collectiveText("AllGather{node.a device} 0") == "AllGather of dim 0 over node.a and device");
  CHECK(collectiveText("ReduceScatter{device} ->2") == "ReduceScatter along dim 2 over device");
  CHECK(collectiveText("Slice{device} ->0") == "Slice along dim 0 over device");
  CHECK(collectiveText("AllToAll{device} 0->1") == "AllToAll from dim 0 to dim 1 over device");
  CHECK(collectiveText("AllToAll{device} 0->1{4 8}") == "AllToAll from dim 0 to dim 1 in parts of 4, 8 over device");
  CHECK(collectiveText("Permute{device} -> [device, -]") == "Permute to [device, -] over device");
  CHECK(collectiveText("something else") == "something else");
  CHECK(collectivesText({"Slice{a} ->0", "AllReduce{b}"}) == "Slice along dim 0 over a, AllReduce over b");
}
