// Steps by themselves: their text read back, applied, refused where they cannot be taken.
#include "TestSupport.h"

#include "apc/Sharding/Redistribution.h"

using namespace apc;
using namespace apc::test;

TEST_CASE("Every step of a redistribution reads back from its text") {
  Mesh on = mesh("[2 | 2, 3]");
  TensorShape whole = shape({12, 7, 6});
  size_t numSteps = 0;
  for (const char *fromText : {"[x0, x1, -]", "[(x1 x2), -, x0]", "[-, x2, -] sum{x0 x1}", "[x2, -, -] max{x0}"})
    for (const char *toText : {"[-, -, -]", "[x1, x0, -]", "[x0, -, (x1 x2)]", "[-, (x2 x1), x0]"}) {
      Sharding current = sharding(fromText, on);
      auto cost = [](const Step &step) { return step.kind == StepKind::Slice ? 0.0 : 1.0 + double(step.inputBytes); };
      auto found = redistribute(current, sharding(toText, on), whole, on, cost);
      REQUIRE(found);
      for (const Step &step : found->steps) {
        INFO(fromText << " to " << toText << ": " << step.str(on));
        CHECK(need(Step::parse(step.str(on), current, whole, on)) == step);
        CHECK(errorOf(checkStep(step.kind, step.axes, current, step.result, whole, on)) == "(no error)");
        current = step.result;
        ++numSteps;
      }
    }
  CHECK(numSteps >= 16);
}

TEST_CASE("Text that is no step is refused") {
  Mesh on = mesh("[2 | 2]");
  Sharding from = sharding("[x0, -] sum{x1}", on);
  const char *text =
      GENERATE("", "AllGather", "AllGather{x0}", "AllGather{x0} ->0", "AllGather{x0} 2", "AllGather{x0} 0 ",
               "Gather{x0} 0", "AllGather{x9} 0", "Slice{x1} 1", "AllReduce{x1} 0", "ReduceScatter{x1} 1",
               "AllToAll{x0} 0", "AllToAll{x0} ->1", "AllToAll{x0} 0->-1", "Permute{x0}");
  INFO(text);
  CHECK(mentions(errorOf(Step::parse(text, from, shape({4, 4}), on)), "is no step"));
}

TEST_CASE("Steps that cannot be taken are refused") {
  Mesh on = mesh("[2 | 2]");
  TensorShape whole = shape({4, 4});
  Sharding from = sharding("[(x0 x1), -]", on);
  CHECK(mentions(errorOf(Step::parse("AllGather{x0} 0", from, whole, on)), "AllGather{x0} cannot be taken"));
  CHECK(mentions(errorOf(Step::parse("AllGather{x1} 1", from, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Step::parse("AllReduce{x1}", from, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Step::parse("AllToAll{x1} 0->0", from, whole, on)), "cannot be taken"));
  CHECK(mentions(errorOf(Step::parse("Slice{x1} ->1", from, whole, on)), "cannot be taken"));
  CHECK(need(Step::parse("AllToAll{x1} 0->1", from, whole, on)).result == sharding("[x0, x1]", on));
  CHECK(need(Step::parse("AllGather{x0 x1} 0", from, whole, on)).result == sharding("[-, -]", on));
  CHECK(mentions(errorOf(checkStep(StepKind::AllGather, {AxisId(1)}, from, sharding("[-, -]", on), whole, on)),
                 "does not take [(x0 x1), -] to [-, -]"));
}
