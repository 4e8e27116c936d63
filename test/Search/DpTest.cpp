// The search `dp` against oracles, its bounds, and its results when a budget is exceeded.
#include "../Sanitized.h"
#include "Search/RandomProblems.h"

#include "apc/Search/Algorithms.h"
#include "apc/Search/ProblemJson.h"
#include "apc/Support/Error.h"
#include "apc/Support/StableHash.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace apc;
using namespace apc::test;
using Catch::Contains;

namespace {

SearchResult run(const Problem &problem, const SearchOptions &options = {}) {
  llvm::Expected<SearchResult> result = searchDp(problem, options);
  if (!result)
    FAIL(takeMessage(result.takeError()).second);
  return *result;
}

bool passes(const Problem &problem, const SearchResult &result) {
  llvm::Error error = verify(problem, result.assignment);
  bool passed = !error;
  llvm::consumeError(std::move(error));
  return passed;
}

/// The least seconds of a chain (edges only from node i to node i + 1) under its limit: a table over strategy and
/// persistent bytes for every possible largest transient. Slow, and unlike anything in `dp`.
std::optional<double> chainOracle(const Problem &problem) {
  std::set<int64_t> transients;
  for (const NodeTable &table : problem.nodeTables)
    for (const StrategyCost &cost : table.costs)
      transients.insert(cost.transientBytes);
  std::optional<double> best;
  for (int64_t transient : transients) {
    int64_t budget = *problem.memoryLimitBytes - transient;
    std::map<std::pair<uint32_t, int64_t>, double> reached;
    for (size_t node = 0; node < problem.nodes.size() && budget >= 0; ++node) {
      std::map<std::pair<uint32_t, int64_t>, double> next;
      llvm::ArrayRef<StrategyCost> costs = problem.tableOf(NodeId(node)).costs;
      auto extend = [&](uint32_t strategy, int64_t bytes, double seconds) {
        if (costs[strategy].transientBytes > transient || bytes + costs[strategy].persistentBytes > budget)
          return;
        std::pair key(strategy, bytes + costs[strategy].persistentBytes);
        auto [entry, isNew] = next.try_emplace(key, seconds + costs[strategy].seconds);
        entry->second = std::min(entry->second, seconds + costs[strategy].seconds);
      };
      for (uint32_t strategy = 0; strategy < costs.size(); ++strategy) {
        if (node == 0)
          extend(strategy, 0, 0);
        for (const auto &[state, seconds] : reached)
          if (std::optional<double> pair = problem.tableOf(problem.edges[node - 1]).at(state.first, strategy))
            extend(strategy, state.second, seconds + *pair);
      }
      reached = std::move(next);
    }
    for (const auto &[state, seconds] : reached)
      best = std::min(best.value_or(seconds), seconds);
  }
  return best;
}

/// A chain with small whole bytes and a limit between the least bytes and those of the fastest assignment.
Problem limitedChain(size_t numNodes, size_t numDistinct, Random &random) {
  Problem problem = randomChain(numNodes, 4, /*residual=*/false, numDistinct, random);
  Evaluation fastest = evaluate(problem, llvm::cantFail(searchDp(problem, {})).assignment);
  problem.memoryLimitBytes = fastest.transientBytes + fastest.persistentBytes / 2 + int64_t(random.below(10));
  return problem;
}

/// Every node has an edge to every other: 1 s for each pair that differs, and hundredths for each strategy.
Problem clique(size_t numNodes, size_t numStrategies) {
  Problem problem;
  NodeTable table;
  PairTable pairs(numStrategies, numStrategies);
  for (size_t strategy = 0; strategy < numStrategies; ++strategy) {
    table.names.push_back("s" + std::to_string(strategy));
    table.costs.push_back({0.01 * static_cast<double>(numStrategies - strategy), static_cast<int64_t>(strategy), 1});
    for (size_t other = 0; other < numStrategies; ++other)
      pairs.set(strategy, other, strategy == other ? 0.0 : 1.0);
  }
  NodeTableId nodeTable = problem.addNodeTable(std::move(table));
  PairTableId pairTable = problem.addPairTable(std::move(pairs));
  for (size_t node = 0; node < numNodes; ++node) {
    problem.addNode("n" + std::to_string(node), nodeTable);
    for (size_t other = 0; other < node; ++other)
      problem.addEdge(NodeId(other), NodeId(node), pairTable);
  }
  return problem;
}

} // namespace

TEST_CASE("orders that are known from other problems change no answer") {
  SearchOptions sharing;
  sharing.orders = makeKnownOrders();
  for (size_t index = 0; index < 400; ++index) {
    // Seconds differ and structures repeat: each recipe comes twice, and chains of one length often.
    Random random(index), again(index / 2);
    Problem problem = index % 2 ? randomProblem(recipeOf(index / 2, again), random)
                                : limitedChain(/*numNodes=*/6 + index % 8, /*numDistinct=*/2, random);
    SearchResult alone = run(problem), shared = run(problem, sharing);
    INFO("problem " << index);
    REQUIRE(shared.status == alone.status);
    CHECK(shared.assignment.strategies == alone.assignment.strategies);
    CHECK(shared.lowerBoundSeconds == alone.lowerBoundSeconds);
  }
}

TEST_CASE("dp equals exhaustive on 2,000 random problems") {
  size_t numInfeasible = 0, numBinding = 0;
  for (size_t index = 0; index < 2000; ++index) {
    Random random(index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    SearchResult oracle = llvm::cantFail(searchExhaustive(problem, {}));
    SearchResult result = run(problem);
    INFO("problem " << index << ": " << printProblem(problem));
    REQUIRE(searchStatusName(result.status).str() == searchStatusName(oracle.status).str());
    if (oracle.status == SearchStatus::Infeasible) {
      ++numInfeasible;
      CHECK_FALSE(result.reason.empty());
      continue;
    }
    REQUIRE(passes(problem, result));
    CHECK(result.seconds == evaluate(problem, result.assignment).seconds);
    CHECK(result.bytes == evaluate(problem, result.assignment).bytes());
    CHECK(result.lowerBoundSeconds == result.seconds);
    REQUIRE(result.seconds == Approx(oracle.seconds).epsilon(1e-9).margin(1e-12));
    CHECK(trivialLowerBound(problem) <= oracle.seconds * (1 + 1e-12));
    Problem unlimited = problem;
    unlimited.memoryLimitBytes.reset();
    numBinding += problem.memoryLimitBytes && run(unlimited).bytes > *problem.memoryLimitBytes;
  }
  // The generator makes enough problems of both kinds.
  CHECK(numInfeasible > 50);
  CHECK(numBinding > 200);
}

TEST_CASE("dp equals a table over bytes on longer chains under a binding limit") {
  for (size_t index = 0; index < 60; ++index) {
    Random random(900 + index);
    Problem problem = limitedChain(10 + random.below(20), 1 + random.below(12), random);
    INFO("chain " << index << ": " << printProblem(problem));
    std::optional<double> oracle = chainOracle(problem);
    SearchResult result = run(problem);
    REQUIRE((result.status == SearchStatus::Optimal) == oracle.has_value());
    if (oracle) {
      CHECK(passes(problem, result));
      CHECK(result.seconds == Approx(*oracle).epsilon(1e-9));
    }
  }
}

TEST_CASE("dp keeps its bound below the optimum, and its answer near it, where it rounds") {
  for (size_t index = 0; index < (isSanitized ? 10 : 30); ++index) {
    Random random(1700 + index);
    Problem problem = limitedChain(60 + random.below(60), 60, random);
    for (NodeTable &table : problem.nodeTables)
      for (StrategyCost &cost : table.costs)
        cost.persistentBytes = cost.persistentBytes * 7 + int64_t(random.below(7));
    problem.memoryLimitBytes = *problem.memoryLimitBytes * 7;
    INFO("chain " << index);
    std::optional<double> oracle = chainOracle(problem);
    for (double gap : {0.002, 0.02, 0.1}) {
      SearchOptions options;
      options.gapTolerance = gap;
      SearchResult result = run(problem, options);
      REQUIRE(result.hasAnswer() == oracle.has_value());
      if (!oracle)
        continue;
      CHECK(passes(problem, result));
      CHECK(result.gap() <= gap);
      CHECK(result.lowerBoundSeconds <= *oracle * (1 + 1e-9));
      CHECK(result.seconds >= *oracle * (1 - 1e-9));
    }
  }
}

TEST_CASE("dp keeps the smaller persistent and the smaller transient memory apart") {
  // Node b: A needs 10 persistent bytes, B needs 11 transient bytes. Up to b, A looks smaller (10 against 11 B). But c
  // needs 11 transient bytes in any case, so A ends at 21 B and B at 11 B. A search that orders partial answers by
  // their total bytes loses B.
  for (int64_t limit : {11, 15, 20}) {
    Problem problem;
    NodeTableId choice = problem.addNodeTable({{"A", "B"}, {{1, 10, 0}, {1, 0, 11}}});
    NodeTableId small = problem.addNodeTable({{"only"}, {{1, 0, 0}}});
    NodeTableId large = problem.addNodeTable({{"only"}, {{1, 0, 11}}});
    problem.addNode("a", small);
    problem.addNode("b", choice);
    problem.addNode("c", large);
    problem.addEdge(NodeId(0), NodeId(1), problem.addPairTable(PairTable(1, 2)));
    problem.addEdge(NodeId(1), NodeId(2), problem.addPairTable(PairTable(2, 1)));
    problem.memoryLimitBytes = limit;
    SearchResult result = run(problem);
    CHECK(result.status == SearchStatus::Optimal);
    CHECK(result.assignment.strategies == std::vector<uint32_t>{0, 1, 0});
    CHECK(result.bytes == 11);
  }
}

TEST_CASE("dp says how much memory is needed at least") {
  Random random(3);
  Problem problem = limitedChain(40, 5, random);
  problem.memoryLimitBytes = 3;
  SearchResult result = run(problem);
  CHECK(result.status == SearchStatus::Infeasible);
  REQUIRE_THAT(result.reason, Contains("every assignment needs at least") && Contains("the limit is 3 B"));
  // The number is exact: with it there is an answer, with one byte less there is none.
  int64_t least = std::stoll(result.reason.substr(std::string("every assignment needs at least ").size()));
  problem.memoryLimitBytes = least;
  CHECK(run(problem).bytes == least);
  problem.memoryLimitBytes = least - 1;
  CHECK(run(problem).status == SearchStatus::Infeasible);
}

TEST_CASE("dp names the node that impossible pairs leave without a choice") {
  Problem problem = clique(3, 2);
  // Every two nodes must differ, which three nodes of two strategies cannot.
  for (size_t strategy = 0; strategy < 2; ++strategy)
    problem.pairTables[0].set(strategy, strategy, std::nullopt);
  CHECK_THAT(run(problem).reason, Contains("impossible pairs leave no choice for node 'n"));
  problem.pairTables[0].set(0, 1, std::nullopt);
  problem.pairTables[0].set(1, 0, std::nullopt);
  CHECK_THAT(run(problem).reason, Contains("no strategy of node 'n0' is a possible pair"));
}

TEST_CASE("dp answers within budgets, with a proven gap") {
  size_t numFeasible = 0;
  for (size_t index = 0; index < 60; ++index) {
    Random random(70 + index);
    Problem problem = limitedChain(20 + random.below(20), 2 + random.below(12), random);
    std::optional<double> oracle = chainOracle(problem);
    if (!oracle)
      continue;
    SearchOptions options;
    options.maxFrontier = 1;
    SearchResult result = run(problem, options);
    CHECK(passes(problem, result));
    CHECK(result.seconds >= *oracle * (1 - 1e-9));
    CHECK(result.lowerBoundSeconds <= *oracle * (1 + 1e-9));
    CHECK((result.status == SearchStatus::Feasible) == (result.gap() > 0));
    CHECK(printResult(problem, run(problem, options), 0) == printResult(problem, result, 0));
    numFeasible += result.status == SearchStatus::Feasible;
  }
  CHECK(numFeasible > 3);
}

TEST_CASE("dp has an answer and a bound even without any time") {
  Random random(8);
  Problem problem = randomChain(200, 6, /*residual=*/true, 9, random);
  SearchResult best = run(problem);
  SearchOptions options;
  options.timeLimitSeconds = 0;
  SearchResult hasty = run(problem, options);
  CHECK(hasty.status == SearchStatus::Feasible);
  CHECK(passes(problem, hasty));
  CHECK(hasty.lowerBoundSeconds <= best.seconds);
  CHECK(hasty.seconds >= best.seconds);
  CHECK(hasty.gap() > 0);
}

TEST_CASE("dp stops at the gap that is asked for") {
  Random random(12);
  Problem problem = limitedChain(60, 60, random);
  SearchResult best = run(problem);
  REQUIRE(best.status == SearchStatus::Optimal);
  SearchOptions options;
  options.gapTolerance = 0.2;
  SearchResult coarse = run(problem, options);
  CHECK(coarse.gap() <= 0.2);
  CHECK(coarse.lowerBoundSeconds <= best.seconds * (1 + 1e-9));
}

TEST_CASE("dp gives bounds where the graph is too wide for tables") {
  // 10 nodes of 8 strategies, each joined to each: an exact table would have 8^9 cells.
  Problem problem = clique(10, 8);
  double optimum = 10 * 0.01; // all nodes on the last strategy
  SearchResult result = run(problem);
  CHECK(passes(problem, result));
  CHECK(result.lowerBoundSeconds <= optimum * (1 + 1e-9));
  CHECK(result.seconds >= optimum * (1 - 1e-9));
  CHECK(result.status == (result.gap() > 0 ? SearchStatus::Feasible : SearchStatus::Optimal));

  problem.memoryLimitBytes = 10 * 3 + 1; // all nodes on strategy 3 or below on average
  SearchResult limited = run(problem);
  CHECK(passes(problem, limited));
  CHECK(limited.lowerBoundSeconds <= 10 * 0.05 * (1 + 1e-9));
  CHECK(limited.seconds >= optimum);
  CHECK(printResult(problem, limited, 0) == printResult(problem, run(problem), 0));

  for (StrategyCost &cost : problem.nodeTables[0].costs)
    cost.persistentBytes += 4;
  SearchResult none = run(problem);
  CHECK(none.status == SearchStatus::Infeasible);
  CHECK_THAT(none.reason, Contains("what rests on the devices takes at least 40 B of memory; the limit is 31 B"));
}

TEST_CASE("dp gives the same bytes with any number of threads where tables are large") {
  Random random(21);
  Problem problem = randomChain(8, 170, /*residual=*/true, 8, random);
  SearchResult once = run(problem, {.numThreads = 1});
  CHECK(once.status == SearchStatus::Optimal);
  for (unsigned numThreads : {2u, 3u, 7u})
    CHECK(printResult(problem, run(problem, {.numThreads = numThreads}), 0) == printResult(problem, once, 0));
}

TEST_CASE("dp solves hubs, many isolated nodes, and long repetitions") {
  Random random(31);
  Problem star = randomChain(3001, 5, /*residual=*/false, 3, random);
  for (size_t edge = 0; edge < star.edges.size(); ++edge)
    star.edges[edge].from = NodeId(0);
  CHECK(run(star).status == SearchStatus::Optimal);

  Problem crowd = star;
  crowd.edges.clear();
  SearchResult apart = run(crowd);
  CHECK(apart.status == SearchStatus::Optimal);
  CHECK(apart.seconds == Approx(trivialLowerBound(crowd)).epsilon(1e-9));
  crowd.memoryLimitBytes = apart.bytes * 4 / 5;
  SearchResult limited = run(crowd);
  CHECK(passes(crowd, limited));
  CHECK(limited.lowerBoundSeconds <= limited.seconds);

  Problem layers = randomChain(1000, 8, /*residual=*/true, 4, random);
  Problem unshared = llvm::cantFail(parseProblem(printProblem(layers), "layers.json"));
  CHECK(run(layers).status == SearchStatus::Optimal);
  CHECK(run(layers).seconds == run(unshared).seconds);
}

TEST_CASE("dp gives the same bytes in every build") {
  // A hash of 200 answers. It may change when ties are broken or reasons worded differently, but not between builds or
  // machines.
  StableHash hash;
  for (size_t index = 0; index < 200; ++index) {
    Random random(40000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    hash.add(printResult(problem, run(problem), 0));
  }
  Random random(50);
  Problem chain = limitedChain(60, 9, random);
  hash.add(printResult(chain, run(chain), 0));
  CHECK(hash.value() == 0xfad5c43365b1114dULL);
}
