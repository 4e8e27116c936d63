// Problems: `check`, the two judges, and the text form.
#include "apc/Search/Problem.h"
#include "../ErrorOf.h"

#include "Search/RandomProblems.h"

#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

/// Two nodes of two strategies; rows/rows and columns/columns are free on the edge, rows -> columns is impossible.
Problem twoNodes() {
  Problem problem;
  NodeTableId table = problem.addNodeTable({{"rows", "columns"}, {{1.0, 4, 2}, {1.5, 1, 7}}});
  problem.addNode("a", table);
  problem.addNode("b", table);
  PairTable pairs(2, 2);
  pairs.set(0, 1, std::nullopt);
  pairs.set(1, 0, 1.0);
  problem.addEdge(NodeId(0), NodeId(1), problem.addPairTable(pairs));
  return problem;
}

std::string parseError(llvm::StringRef json) {
  llvm::Expected<Problem> problem = parseProblem(json, "p.json");
  if (problem)
    return "accepted";
  auto [fault, message] = takeMessage(problem.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

} // namespace

TEST_CASE("check names the faults of a problem") {
  CHECK(errorOf(twoNodes().check()) == "(no error)");
  CHECK(errorOf(Problem().check()) == "(no error)");

  auto messageAfter = [](auto change) {
    Problem problem = twoNodes();
    change(problem);
    return errorOf(problem.check());
  };
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0] = {}; }), Contains("node 'a' has no strategy"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].names.pop_back(); }), Contains("1 strategy names and 2"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodes[1].table = NodeTableId(3); }),
             Contains("node 'b' refers to node table 3; there are 1"));
  CHECK_THAT(messageAfter([](Problem &p) { p.edges[0].table = PairTableId(1); }),
             Contains("edge 'a' -> 'b' refers to pair table 1; there are 1"));
  CHECK_THAT(messageAfter([](Problem &p) { p.edges[0].to = NodeId(2); }),
             Contains("edge 0 joins nodes 0 and 2; there are 2 nodes"));
  CHECK_THAT(messageAfter([](Problem &p) { p.edges[0].to = NodeId(0); }), Contains("two different nodes"));
  CHECK_THAT(messageAfter([](Problem &p) { p.pairTables[0] = PairTable(2, 3); }),
             Contains("edge 'a' -> 'b': the table is 2 x 3, but the nodes have 2 and 2 strategies"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodes[1].name = "a"; }), Contains("two nodes are named 'a'"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].costs[1].seconds = -1; }),
             Contains("node 'a', strategy 'columns'") && Contains("seconds"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].costs[1].seconds = 0.0 / 0.0; }), Contains("'columns'"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].costs[0].seconds = 1e300; }),
             Contains(" 1e+300 seconds is outside [0, 2^100]") && Contains("null"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].costs[0].persistentBytes = -5; }),
             Contains("'rows': -5 persistent bytes"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].costs[0].transientBytes = int64_t(1) << 60; }),
             Contains("transient bytes is outside"));
  CHECK_THAT(messageAfter([](Problem &p) { p.nodeTables[0].costs[0].persistentBytes = int64_t(1) << 53; }),
             Contains("the nodes up to 'b'"));
  CHECK_THAT(messageAfter([](Problem &p) { p.pairTables[0].set(1, 0, -2); }), Contains("pair (1, 0)"));
  CHECK_THAT(messageAfter([](Problem &p) { p.memoryLimitBytes = -1; }), Contains("memory limit is -1"));
}

TEST_CASE("the judges count seconds and bytes, and refuse bad assignments") {
  Problem problem = twoNodes();
  Evaluation cost = evaluate(problem, {{1, 0}});
  CHECK(cost.seconds == 3.5);
  CHECK(cost.persistentBytes == 5);
  CHECK(cost.transientBytes == 7);
  CHECK(cost.bytes() == 12);

  problem.memoryLimitBytes = 12;
  CHECK(errorOf(verify(problem, {{1, 0}})) == "(no error)");
  problem.memoryLimitBytes = 11;
  CHECK_THAT(errorOf(verify(problem, {{1, 0}})), Contains("12 bytes (5 persistent, 7 transient); the limit is 11"));
  CHECK_THAT(errorOf(verify(problem, {{0, 1}})), Contains("'rows' and 'columns' are an impossible pair"));
  CHECK_THAT(errorOf(verify(problem, {{0}})), Contains("1 strategies for 2 nodes"));
  CHECK_THAT(errorOf(verify(problem, {{0, 2}})), Contains("node 'b' takes strategy 2; it has 2"));
}

TEST_CASE("pair tables compare impossible cells as equal") {
  PairTable a(1, 2), b(1, 2);
  a.set(0, 1, std::nullopt);
  CHECK_FALSE(a == b);
  b.set(0, 1, std::nullopt);
  CHECK(a == b);
  CHECK(a.at(0, 0) == 0.0);
  CHECK_FALSE(a.at(0, 1));
}

TEST_CASE("problems survive their text form") {
  for (size_t index = 0; index < 200; ++index) {
    Random random(index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    std::string text = printProblem(problem);
    Problem again = llvm::cantFail(parseProblem(text, "again.json"));
    REQUIRE(printProblem(again) == text);
    REQUIRE(again.nodes.size() == problem.nodes.size());
    Assignment first{std::vector<uint32_t>(problem.nodes.size(), 0)};
    CHECK(evaluate(again, first).seconds == evaluate(problem, first).seconds);
    CHECK(again.memoryLimitBytes == problem.memoryLimitBytes);
  }
}

TEST_CASE("the reader shares equal tables and fills in defaults") {
  Problem problem = llvm::cantFail(parseProblem(R"({"nodes": [
      {"name": "a", "strategies": [{"name": "x", "seconds": 1}]},
      {"name": "b", "strategies": [{"name": "x", "seconds": 1.0, "persistent_bytes": 0}]},
      {"name": "c", "strategies": [{"name": "x", "seconds": 1, "persistent_bytes": 4.0, "transient_bytes": 8e9}]}],
    "edges": [{"from": "a", "to": "b", "seconds": [[null]]}, {"from": "c", "to": "b", "seconds": [[null]]}]})",
                                                "p.json"));
  CHECK(problem.nodeTables.size() == 2);
  CHECK(problem.nodes[0].table == problem.nodes[1].table);
  CHECK(problem.pairTables.size() == 1);
  CHECK(problem.edges[1].from == NodeId(2));
  CHECK_FALSE(problem.memoryLimitBytes);
  CHECK(problem.nodeTables[1].costs[0] == StrategyCost{1, 4, 8'000'000'000});
  CHECK(llvm::cantFail(parseProblem(R"({"memory_limit_bytes": null, "nodes": []})", "p.json")).nodes.empty());
}

TEST_CASE("the reader names source, place and the values that would be accepted") {
  CHECK(parseError("{") == "p.json:1: this is not JSON: the text ends before its brackets are closed");
  CHECK(parseError("{\n  \"nodes\": x}") == "p.json:2: this is not JSON: 'x' is not expected here");
  CHECK_THAT(parseError(R"({"nodes": [{"name": "a", "strategies": [{"name": "s", "seconds": 1e999}]}]})"),
             Contains("p.json:1: a number is too large"));
  CHECK_THAT(parseError("[]"), Contains("an object with the keys memory_limit_bytes, nodes, edges"));
  CHECK(parseError(R"({"nodes": [], "memory_limit": 3})") ==
        "p.json:1: memory_limit: unknown key (memory_limit_bytes, nodes, edges are known)");
  CHECK(parseError(R"({"edges": []})") == "p.json:1: document: 'nodes' is missing");
  CHECK(parseError("{\"nodes\": [],\n\"edges\": 3}") == "p.json:2: edges: a list is expected, not 3");
  CHECK(parseError(R"({"nodes": [], "memory_limit_bytes": 1.5})") ==
        "p.json:1: memory_limit_bytes: a whole number from 0 to 9223372036854775807 is expected, not 1.5");
  CHECK_THAT(parseError(R"({"nodes": [], "memory_limit_bytes": 18446744073709551615})"), Contains("whole number"));
  CHECK_THAT(parseError(R"({"nodes": [], "memory_limit_bytes": -1})"), Contains("whole number"));
  CHECK(parseError(R"({"nodes": [{"strategies": []}]})") == "p.json:1: nodes[0]: 'name' is missing");
  CHECK_THAT(parseError(R"({"nodes": [{"name": "a", "strategies": []}]})"), Contains("node 'a' has no strategy"));
  CHECK(parseError(R"({"nodes": [{"name": "a", "strategies": [{"name": "x", "seconds": "1"}]}]})") ==
        "p.json:1: nodes[0].strategies[0].seconds: a number is expected, not \"1\"");
  CHECK(parseError(R"({"nodes": [{"name": "a", "strategies": [{"name": "x", "seconds": 1, "axes": [-1]}]}]})") ==
        "p.json:1: nodes[0].strategies[0].axes[0]: a whole number from 0 to 4294967295 is expected, not -1");
  CHECK_THAT(parseError(R"({"nodes": [{"name": "a", "strategies": [{"name": "x", "seconds": 1},
                                                                   {"name": "x", "seconds": 2}]}]})"),
             Contains("p.json:2: nodes[0].strategies[1]: two strategies are called 'x'"));
  auto withEdge = [](const std::string &edge) {
    return parseError(R"({"nodes": [{"name": "a", "strategies": [{"name": "x", "seconds": 1}]},
                                    {"name": "b", "strategies": [{"name": "x", "seconds": 1}]}], "edges": [)" +
                      edge + "]}");
  };
  CHECK(withEdge(R"({"from": "a", "to": "b", "seconds": [[0]]})") == "accepted");
  CHECK_THAT(withEdge(R"({"from": "a", "to": "z", "seconds": [[0]]})"), Contains("edges[0].to: 'z' is no node"));
  CHECK_THAT(withEdge(R"({"from": "a", "to": "b"})"), Contains("edges[0]: 'seconds' is missing"));
  CHECK_THAT(withEdge(R"({"from": "a", "to": "b", "seconds": []})"), Contains("edges[0].seconds: a list of rows"));
  CHECK_THAT(withEdge(R"({"from": "a", "to": "b", "seconds": [[0], []]})"),
             Contains("edges[0].seconds[1]: a list of 1 numbers or null, as in row 0, is expected, not []"));
  CHECK_THAT(withEdge(R"({"from": "a", "to": "b", "seconds": [["0"]]})"),
             Contains("edges[0].seconds[0][0]: a number or null is expected, not \"0\""));
  CHECK_THAT(withEdge(R"({"from": "a", "to": "b", "seconds": [[0, 1]]})"), Contains("the table is 1 x 2"));
  CHECK_THAT(withEdge(R"({"from": "a", "to": "b", "seconds": [[-1]]})"), Contains("pair (0, 0)"));
}

TEST_CASE("results are printed with their keys in order") {
  Problem problem = twoNodes();
  SearchResult result;
  result.status = SearchStatus::Feasible;
  result.assignment = {{1, 1}};
  result.seconds = 4;
  result.bytes = 9;
  result.lowerBoundSeconds = 3;
  CHECK(printResult(problem, result, 0.5) == R"({
  "status": "feasible",
  "seconds": 4.0,
  "bytes": 9,
  "lower_bound_seconds": 3.0,
  "gap": 0.25,
  "assignment": {
    "a": "columns",
    "b": "columns"
  },
  "search_seconds": 0.5
}
)");
  SearchResult none;
  none.status = SearchStatus::Infeasible;
  none.reason = "too small";
  CHECK_THAT(printResult(problem, none, 0), Contains(R"("status": "infeasible")") &&
                                                Contains(R"("reason": "too small")") &&
                                                Contains(R"("assignment": {})"));
  none.status = SearchStatus::CutOff;
  none.lowerBoundSeconds = 2;
  CHECK_THAT(printResult(problem, none, 0),
             Contains(R"("status": "cut_off")") && Contains(R"("lower_bound_seconds": 2.0)"));
}
