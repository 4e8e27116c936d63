// Normalisations in parts: statistics cost nothing where rows are whole; where they are cut, a second pass and one
// small all-reduce.
#include "../ValueOf.h"
#include "GraphMaker.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Search/Algorithms.h"

using namespace apc;

namespace {

/// x [64, 4096] -> product [64, 262144] -> normalised -> product [64, 256] -> output, on 4 devices of an A100 node.
struct Normalised {
  OpId up{3}, statistics{4}, normalize{5}, down{6};
  GraphMaker maker;
  Mesh mesh;
  CostModel model = modelOn(4, mesh);
  OpGraph graph;

  Normalised() {
    ValueId x = maker.source("x", {64, 4096}, ValueRole::Input);
    ValueId w = maker.source("w", {4096, 262144}, ValueRole::Parameter);
    ValueId v = maker.source("v", {262144, 256}, ValueRole::Parameter);
    ValueId made = maker.matmul("up", x, w);
    ValueId sums = maker.statistics("norm.statistics", made);
    maker.sink(maker.matmul("down", maker.normalize("norm", made, sums), v));
    graph = maker.graph;
  }

  /// The seconds of the row of the normalisation that cuts factor `cut`, or none.
  double seconds(const PlanningProblem &planning, std::optional<size_t> cut) const {
    NodeId node = planning.nodeOf(normalize);
    for (size_t row = 0; row < planning.choicesOf(node).size(); ++row) {
      const Strategy &own = planning.strategyOf(normalize, row);
      size_t numCut = llvm::count_if(own.axes, [](const AxisList &axes) { return !axes.empty(); });
      if (cut ? !own.axes[*cut].empty() : numCut == 0)
        return planning.problem.tableOf(node).costs[row].seconds;
    }
    FAIL("no such strategy is offered");
    return 0;
  }
};

} // namespace

TEST_CASE("the statistics of whole rows are taken in the pass of their reader, those of cut rows are exchanged") {
  Normalised own;
  PlanningProblem planning = buildProblem(own.graph, own.model);
  CHECK(planning.nodeOf(own.statistics) == planning.nodeOf(own.normalize));
  // One op that reads and writes the rows: the statistics do not leave it.
  FactorRule alone = own.graph.ruleOf(own.normalize);
  alone.operands[1].absent = true;
  auto passSeconds = [&](const FactorRule &rule, std::optional<size_t> cut) {
    Strategy strategy;
    strategy.axes.resize(rule.numFactors());
    if (cut)
      strategy.axes[*cut] = {AxisId(0)};
    return own.model.opCost(rule, strategy, NumberFormat::F16).seconds();
  };
  CHECK(own.seconds(planning, std::nullopt) == passSeconds(alone, std::nullopt));
  CHECK(own.seconds(planning, 0) == passSeconds(alone, 0));
  // Columns: a pass over a quarter of each row for the statistics and one for the rest. 64 rows of two numbers of 4
  // bytes are 512 bytes, all-reduced over a ring of 4 with small messages, at half of the bandwidth: 2 passes of 3 hops
  // and of 3/4 of the bytes.
  const Pool &pool = own.model.getPool();
  const Level &link = pool.levels.back();
  double exchange = pool.device.collectiveLaunchSeconds +
                    2 * (3 * link.latencySeconds + 0.75 * 512 / (0.5 * link.bytesPerSecond * link.efficiency));
  CHECK(exchange == Approx(28.6065e-6));
  CHECK(own.seconds(planning, 1) == Approx(passSeconds(own.graph.ruleOf(own.normalize), 1) +
                                           passSeconds(own.graph.ruleOf(own.statistics), 1) + exchange));
}

TEST_CASE("the search gives the fastest program of a normalisation in parts, its all-reduce included") {
  Normalised own;
  PlanningProblem planning = buildProblem(own.graph, own.model);
  SearchResult found = valueOf(searchExhaustive(planning.problem, {}));
  std::vector<Strategy> strategies = planning.decode(found.assignment);
  // The weight of `up` is cut by columns and that of `down` by rows, and what lies between stays cut.
  CHECK_FALSE(strategies[own.normalize.index()].axes[1].empty());
  CHECK_FALSE(strategies[own.statistics.index()].axes[1].empty());
  GraphCost cost = valueOf(costOfGraph(own.graph, strategies, own.model));
  CHECK(cost.seconds() == Approx(found.seconds));
  std::vector<std::pair<CollectiveKind, int64_t>> exchanged;
  forEachCollective(cost, [&](const Collective &each, int64_t) { exchanged.emplace_back(each.kind, each.inputBytes); });
  REQUIRE(exchanged.size() == 2);
  CHECK(exchanged[0] == std::pair(CollectiveKind::AllReduce, int64_t(512)));
}
