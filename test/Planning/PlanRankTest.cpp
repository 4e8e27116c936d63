// The order of whole plans: seconds, then bytes, then collectives, then devices.
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Planning/PlanRank.h"
#include "apc/Planning/Planning.h"

using namespace apc;

namespace {

/// Ranks from the best to the worst: each loses to the one before it by one merit and is better in all that come after.
const PlanRank ordered[] = {{1.0, 10, 4, 2}, {1.0, 10, 4, 3}, {1.0, 10, 5, 1}, {1.0, 11, 3, 1}, {1.5, 1, 1, 1}};

} // namespace

TEST_CASE("plans are compared by seconds, then bytes, then collectives, then devices") {
  for (size_t a = 0; a < std::size(ordered); ++a)
    for (size_t b = 0; b < std::size(ordered); ++b) {
      INFO("ranks " << a << " and " << b);
      CHECK(isBetter(ordered[a], ordered[b]) == (a < b));
    }
}

TEST_CASE("seconds that differ by rounding are equal") {
  PlanRank few{1.0 + 0.5 * sumRounding, 10, 4, 2}, many{1.0, 20, 4, 2}, slower{1.0 + 4 * sumRounding, 5, 1, 1};
  CHECK(areEqualSeconds(few.seconds, many.seconds));
  CHECK(areEqualSeconds(0, 0));
  CHECK_FALSE(areEqualSeconds(slower.seconds, many.seconds));
  CHECK_FALSE(areEqualSeconds(0, 1e-30));
  CHECK(isBetter(few, many));
  CHECK_FALSE(isBetter(slower, many));
}

TEST_CASE("the best of many does not depend on their order, and the first of those alike is taken") {
  // Each is within rounding of the next, but the last is not within rounding of the first.
  std::vector<PlanRank> chain{
      {1.0, 30, 1, 1}, {1.0 + 0.8 * sumRounding, 20, 1, 1}, {1.0 + 1.6 * sumRounding, 10, 1, 1}};
  CHECK(chain[bestOf(chain)].bytes == 20);
  std::reverse(chain.begin(), chain.end());
  CHECK(chain[bestOf(chain)].bytes == 20);
  std::vector<PlanRank> backwards(std::rbegin(ordered), std::rend(ordered));
  CHECK(bestOf(backwards) == std::size(ordered) - 1);
  CHECK(bestOf({ordered[1], ordered[0], ordered[0]}) == 1);
}

TEST_CASE("among meshes that are as fast, the one with the fewest bytes is taken") {
  // [3, 4] comes before [6, 2]. Cutting w takes no time; on 6 x 2 a device keeps one of its elements of two bytes, on
  // 3 x 4 at least two.
  GraphMaker maker;
  maker.sink(maker.source("w", {6, 2}, ValueRole::Parameter));
  maker.sink(maker.relu("relu", maker.source("x", {48, 48}, ValueRole::Input)));
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.cluster = "cpu-local";
  request.devices = 12;
  request.meshAxes = 2;
  PlanningTarget target = valueOf(readTarget(request));
  target.fewer.clear();
  Plan plan = valueOf(planGraph(maker.graph, request, target, {}, {}));
  INFO(plan.meshText());
  CHECK(plan.memory[MemoryCategory::Parameters] == 2);
}

TEST_CASE("slices are no collectives of a program, sums over devices are") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 256}, ValueRole::Input), w = maker.source("w", {256, 64}, ValueRole::Parameter);
  maker.sink(maker.matmul("product", x, w));
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  std::vector<Strategy> strategies;
  for (const GraphOp &op : maker.graph.ops) {
    const FactorRule &rule = maker.graph.rules[op.rule.index()];
    Strategy whole;
    whole.axes.resize(rule.numFactors());
    whole.partialInputs.resize(rule.linear.size());
    if (op.name == "product")
      whole.axes[1].push_back(AxisId(0)); // k: both operands are cut, and the result is summed
    strategies.push_back(whole);
  }
  GraphCost cost = valueOf(costOfGraph(maker.graph, strategies, model));
  size_t numMoves = 0;
  for (const GraphMove &move : cost.moves)
    numMoves += move.redistribution.collectives.size();
  CHECK(numMoves == 3);
  CHECK(cost.numCollectives() == 1);
}
