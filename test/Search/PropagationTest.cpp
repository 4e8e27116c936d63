// Propagation: the strategies that follow from pins, the order of decisions, and notes where pins disagree.
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

/// Nodes that are cut by rows, by columns, or not at all. Changing costs 1 s, or 2 s between rows and columns.
struct Layouts {
  Layouts() {
    open = problem.addNodeTable({{"whole", "rows", "columns"}, {{4}, {2}, {1}}});
    rows = problem.addNodeTable({{"rows"}, {{2}}});
    columns = problem.addNodeTable({{"columns"}, {{1}}});
  }

  NodeId add(const std::string &name, unsigned priority = 0) {
    NodeId node = problem.addNode(name, open);
    problem.nodes.back().priority = priority;
    return node;
  }
  NodeId pin(const std::string &name, bool isRows) {
    NodeId node = problem.addNode(name, isRows ? rows : columns);
    problem.nodes.back().pin = "pin '" + name + "'";
    return node;
  }
  void join(NodeId from, NodeId to) {
    const auto &a = problem.tableOf(from).names, &b = problem.tableOf(to).names;
    PairTable table(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < b.size(); ++j)
        table.set(i, j, a[i] == b[j] ? 0 : a[i] == "whole" || b[j] == "whole" ? 1 : 2);
    problem.addEdge(from, to, problem.addPairTable(table));
  }
  void chain(std::initializer_list<NodeId> nodes) {
    for (const NodeId *node = nodes.begin() + 1; node != nodes.end(); ++node)
      join(node[-1], *node);
  }
  std::string strategy(const SearchResult &result, NodeId node) const {
    return problem.tableOf(node).names[result.assignment[node]];
  }

  Problem problem;
  NodeTableId open, rows, columns;
};

SearchResult propagated(const Problem &problem) {
  llvm::Expected<SearchResult> result = searchPropagation(problem, {});
  if (result)
    return std::move(*result);
  FAIL(takeMessage(result.takeError()).second);
  return {};
}

} // namespace

TEST_CASE("a pin in the middle reaches both ends, though another strategy is faster") {
  Layouts layouts;
  NodeId a = layouts.add("a"), b = layouts.add("b"), p = layouts.pin("p", true), c = layouts.add("c");
  layouts.chain({a, b, p, c});
  SearchResult result = propagated(layouts.problem);
  CHECK(result.notes.empty());
  // 'columns' would save 1 s on the node and cost 2 s to change over.
  for (NodeId node : {b, c})
    CHECK(layouts.strategy(result, node) == "rows");
  CHECK(result.seconds == evaluate(layouts.problem, result.assignment).seconds);
}

TEST_CASE("nodes that no pin reaches are decided by dp") {
  Layouts layouts;
  NodeId p = layouts.pin("p", true), q = layouts.add("q"), island = layouts.add("island"), other = layouts.add("other");
  layouts.chain({p, q});
  layouts.chain({island, other});
  SearchResult result = propagated(layouts.problem);
  CHECK(layouts.strategy(result, q) == "rows");
  CHECK(layouts.strategy(result, island) == "columns");
  CHECK(layouts.strategy(result, other) == "columns");
  layouts.problem.nodes[p.index()].pin.clear();
  CHECK(propagated(layouts.problem).status == SearchStatus::Optimal); // nothing is pinned: dp
}

TEST_CASE("elementwise ops are reached before contractions") {
  // r -> m -> x and c -> e -> x: m is nearer to its pin by index, but a contraction; x follows e.
  Layouts layouts;
  NodeId r = layouts.pin("r", true), m = layouts.add("m", 1), x = layouts.add("x"), e = layouts.add("e"),
         c = layouts.pin("c", false);
  layouts.chain({r, m, x});
  layouts.chain({c, e, x});
  SearchResult result = propagated(layouts.problem);
  CHECK(layouts.strategy(result, x) == "columns");
  REQUIRE(result.notes.size() == 1);
  CHECK_THAT(result.notes[0], Contains("pin 'r' comes by 'r'") && Contains("pin 'c' by 'c' -> 'e' -> 'x'"));
  CHECK_THAT(result.notes[0], Contains("2.00 s"));
}

TEST_CASE("pins that no strategy can meet are an error with both pins and both paths") {
  Layouts layouts;
  NodeId p = layouts.pin("p", true), x = layouts.add("x"), q = layouts.pin("q", false);
  PairTable fromRows(1, 3), toColumns(3, 1);
  fromRows.set(0, 2, std::nullopt);
  toColumns.set(0, 0, std::nullopt);
  toColumns.set(1, 0, std::nullopt);
  layouts.problem.addEdge(p, x, layouts.problem.addPairTable(fromRows));
  layouts.problem.addEdge(x, q, layouts.problem.addPairTable(toColumns));
  auto [fault, message] = takeMessage(searchPropagation(layouts.problem, {}).takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message,
             Contains("has no strategy that meets") && Contains("pin 'p' by 'p'") && Contains("pin 'q' by 'q'"));
}

TEST_CASE("strategies that follow from pins and exceed the memory limit are no plan") {
  Layouts layouts;
  NodeId p = layouts.pin("p", true), x = layouts.add("x");
  layouts.chain({p, x});
  layouts.problem.nodeTables[layouts.rows.index()].costs[0].persistentBytes = 2048;
  layouts.problem.memoryLimitBytes = 1024;
  auto [fault, message] = takeMessage(searchPropagation(layouts.problem, {}).takeError());
  CHECK(fault == Fault::NoPlan);
  CHECK_THAT(message, Contains("2.00 KiB") && Contains("1.00 KiB"));
}

TEST_CASE("propagation of random pins gives valid answers, never below the optimum") {
  size_t numAnswers = 0;
  for (size_t index = 0; index < 300; ++index) {
    Random random(900 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    for (Node &node : problem.nodes) {
      node.priority = static_cast<unsigned>(random.below(3));
      if (random.chance(0.4))
        node.pin = "pin of " + node.name;
    }
    INFO(printProblem(problem));
    CHECK(printProblem(llvm::cantFail(parseProblem(printProblem(problem), "again"))) == printProblem(problem));
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    llvm::Expected<SearchResult> result = searchPropagation(problem, {});
    if (!result) {
      CHECK(takeMessage(result.takeError()).first != Fault::Internal);
      continue;
    }
    if (result->status == SearchStatus::Infeasible) {
      CHECK(oracle.status == SearchStatus::Infeasible);
      continue;
    }
    ++numAnswers;
    CHECK(takeMessage(verify(problem, result->assignment)).second == "");
    CHECK(result->seconds >= oracle.seconds * (1 - 1e-9));
    CHECK(result->lowerBoundSeconds <= oracle.seconds * (1 + 1e-9));
  }
  CHECK(numAnswers > 150);
}

TEST_CASE("a pin on a chain of 20,000 nodes reaches all of them at once") {
  Random random(7);
  Problem problem = randomChain(20000, 8, true, 4, random);
  problem.nodes[10000].pin = "pin";
  SearchResult result = propagated(problem);
  CHECK(takeMessage(verify(problem, result.assignment)).second == "");
}
