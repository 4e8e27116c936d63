// A problem brought to another moment, against the problem that is built for that moment.
#include "RandomGraphs.h"

#include <catch2/catch.hpp>

#include <map>

using namespace apc;

namespace {

using BytesPair = std::pair<int64_t, int64_t>; ///< persistent, transient

/// By node and row, which have names: rows of hubs may come in another order.
std::map<std::pair<std::string, std::string>, std::pair<double, BytesPair>> rowsOf(const Problem &problem) {
  std::map<std::pair<std::string, std::string>, std::pair<double, BytesPair>> rows;
  for (const Node &node : problem.nodes) {
    const NodeTable &table = problem.nodeTables[node.table.index()];
    for (auto [name, cost] : llvm::zip_equal(table.names, table.costs))
      rows[{node.name, name}] = {cost.seconds, {cost.persistentBytes, cost.transientBytes}};
  }
  return rows;
}

/// By the nodes of an edge and their rows; parallel edges add up.
std::map<std::vector<std::string>, double> pairsOf(const Problem &problem) {
  std::map<std::vector<std::string>, double> pairs;
  for (const Edge &edge : problem.edges) {
    const NodeTable &from = problem.tableOf(edge.from), &to = problem.tableOf(edge.to);
    for (size_t row = 0; row < from.names.size(); ++row)
      for (size_t column = 0; column < to.names.size(); ++column)
        pairs[{problem.nodes[edge.from.index()].name, problem.nodes[edge.to.index()].name, from.names[row],
               to.names[column]}] += problem.tableOf(edge).at(row, column).value_or(-1);
  }
  return pairs;
}

size_t bytesOf(const Problem &problem) {
  size_t sum = 0;
  for (const auto &[name, row] : rowsOf(problem))
    sum += row.second.first;
  return sum;
}

/// Checks all moments of a graph. Returns how many count other bytes than \p base.
size_t checkMoments(const OpGraph &graph, const CostModel &model) {
  PlanningProblem base = buildProblem(graph, model, {}, {}, WeightCopies::Chosen, {}, startingMoment(graph));
  size_t numOthers = 0;
  std::vector<std::optional<Moment>> moments{std::nullopt};
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (bool isCertain : {true, false})
      moments.push_back(Moment{OpId(op), isCertain});
  for (std::optional<Moment> moment : moments) {
    PlanningProblem built = buildProblem(graph, model, {}, {}, WeightCopies::Chosen, {}, moment);
    PlanningProblem brought = atMoment(base, graph, model, WeightCopies::Chosen, moment);
    REQUIRE(rowsOf(brought.problem) == rowsOf(built.problem));
    REQUIRE(pairsOf(brought.problem) == pairsOf(built.problem));
    REQUIRE(brought.rows.size() == brought.problem.nodeTables.size());
    for (size_t node = 0; node < base.ops.size(); ++node)
      REQUIRE(brought.choicesOf(NodeId(node)).size() == base.choicesOf(NodeId(node)).size());
    numOthers += bytesOf(brought.problem) != bytesOf(base.problem);
  }
  return numOthers;
}

} // namespace

TEST_CASE("a problem that is brought to another moment is the one that is built for it") {
  size_t numOthers = 0;
  for (bool trains : {false, true})
    for (size_t index = 0; index < 25; ++index) {
      std::mt19937_64 random(900 + index);
      OpGraph graph = trains ? randomTrainingStep(random, 3) : randomGraph(random);
      if (trains && index % 3 == 0)
        graph.inFlight = InFlight{3, OpId(graph.ops.size() / 2)};
      Mesh mesh;
      CostModel model = modelOn(index % 2 ? 4 : 8, mesh);
      INFO("graph " << index << (trains ? " of training" : ""));
      numOthers += checkMoments(graph, model);
    }
  CHECK(numOthers > 100);
}
