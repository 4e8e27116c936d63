// Collectives by themselves: their text read back, applied, refused where they cannot be taken.
#include "TestSupport.h"

#include "apc/Sharding/Redistribution.h"

using namespace apc;
using namespace apc::test;

TEST_CASE("Every collective of a redistribution reads back from its text") {
  Mesh on = mesh("[2 | 2, 3]");
  TensorShape whole = shape({12, 7, 6});
  size_t numCollectives = 0;
  for (const char *fromText : {"[x0, x1, -]", "[(x1 x2), -, x0]", "[-, x2, -] sum{x0 x1}", "[x2, -, -] max{x0}"})
    for (const char *toText : {"[-, -, -]", "[x1, x0, -]", "[x0, -, (x1 x2)]", "[-, (x2 x1), x0]"}) {
      Sharding current = sharding(fromText, on);
      auto cost = [](const Collective &collective) {
        return collective.kind == CollectiveKind::Slice ? 0.0 : 1.0 + double(collective.inputBytes);
      };
      auto found = redistribute(current, sharding(toText, on), whole, on, cost);
      REQUIRE(found);
      for (const Collective &collective : found->collectives) {
        INFO(fromText << " to " << toText << ": " << collective.str(on));
        CHECK(valueOf(Collective::parse(collective.str(on), current, whole, on)) == collective);
        CHECK(errorOf(checkCollective(collective.kind, collective.axes, current, collective.result, whole, on)) ==
              "(no error)");
        current = collective.result;
        ++numCollectives;
      }
    }
  CHECK(numCollectives >= 16);
}

TEST_CASE("Text that is no collective is refused") {
  Mesh on = mesh("[2 | 2]");
  Sharding from = sharding("[x0, -] sum{x1}", on);
  const char *text =
      GENERATE("", "AllGather", "AllGather{x0}", "AllGather{x0} ->0", "AllGather{x0} 2", "AllGather{x0} 0 ",
               "Gather{x0} 0", "AllGather{x9} 0", "Slice{x1} 1", "AllReduce{x1} 0", "ReduceScatter{x1} 1",
               "AllToAll{x0} 0", "AllToAll{x0} ->1", "AllToAll{x0} 0->-1", "Permute{x0}");
  INFO(text);
  CHECK(mentions(errorOf(Collective::parse(text, from, shape({4, 4}), on)), "is no collective"));
}

TEST_CASE("Collectives that cannot be taken are refused") {
  Mesh on = mesh("[2 | 2]");
  TensorShape whole = shape({4, 4});
  Sharding from = sharding("[(x0 x1), -]", on);
  CHECK(mentions(errorOf(Collective::parse("AllGather{x0} 0", from, whole, on)), "AllGather{x0} cannot be taken"));
  CHECK(mentions(errorOf(Collective::parse("AllGather{x1} 1", from, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Collective::parse("AllReduce{x1}", from, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Collective::parse("AllToAll{x1} 0->0", from, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Collective::parse("Slice{x1} ->1", from, whole, on)), "cannot be taken"));
  CHECK(valueOf(Collective::parse("AllToAll{x1} 0->1", from, whole, on)).result == sharding("[x0, x1]", on));
  CHECK(valueOf(Collective::parse("AllGather{x0 x1} 0", from, whole, on)).result == sharding("[-, -]", on));
  CHECK(mentions(
      errorOf(checkCollective(CollectiveKind::AllGather, {AxisId(1)}, from, sharding("[-, -]", on), whole, on)),
      "does not take [(x0 x1), -] to [-, -]"));
}

TEST_CASE("a collective says inside which parts a dim is cut from then on") {
  Mesh on = mesh("[x0=2 | x1=2]");
  TensorShape whole = shape({4, 8});
  Sharding rows = sharding("[(x0 x1), -]", on);
  Collective moved = valueOf(Collective::parse("AllToAll{x1} 0->1{4 2 2}", rows, whole, on));
  CHECK(moved.result == sharding("[x0, x1{4 2 2}]", on));
  CHECK(moved.str(on) == "AllToAll{x1} 0->1{4 2 2}");
  Collective further = valueOf(Collective::parse("AllToAll{x0} 0->1{4 2 2}", moved.result, whole, on));
  CHECK(further.result == sharding("[-, (x1 x0){4 2 2}]", on));
  CHECK(valueOf(Collective::parse("AllGather{x0} 1", further.result, whole, on)).result ==
        sharding("[-, x1{4 2 2}]", on));
  CHECK(valueOf(Collective::parse("AllGather{x1 x0} 1", further.result, whole, on)).result == sharding("[-, -]", on));
  CHECK(mentions(errorOf(Collective::parse("AllToAll{x0} 0->1{4 4}", moved.result, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Collective::parse("AllToAll{x1} 0->1{4 x}", rows, whole, on)), "is no collective"));
  CHECK_FALSE(
      bool(checkCollective(CollectiveKind::AllToAll, {AxisId(1)}, rows, sharding("[x0, x1{4 4}]", on), whole, on)));
  Sharding exchanged = sharding("[-, x0{4 4}]", on);
  CHECK(mentions(errorOf(checkCollective(CollectiveKind::Permute, {AxisId(0), AxisId(1)}, sharding("[-, x1]", on),
                                         exchanged, whole, on)),
                 "no permutation"));
}
