// Messages of a folded problem on the whole: a proven bound before the first pass, and most of what many passes prove.
#include "../../lib/Search/Bounds/FoldedMessages.h"
#include "Search/RandomProblems.h"
#include "Search/ReducedProblems.h"

#include "apc/Search/Algorithms.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

constexpr double secondsPerByte = 0.02;

/// The least sum of seconds and weighed bytes over the strategies of \p survivors, by `dp`.
double leastWeighted(Problem problem, const Survivors &survivors) {
  constexpr double leftOut = 1e6;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    NodeTable table = problem.tableOf(NodeId(node));
    for (auto [strategy, cost] : llvm::enumerate(table.costs)) {
      cost.seconds += secondsPerByte * static_cast<double>(cost.persistentBytes);
      cost.seconds += llvm::is_contained(survivors.of(node), strategy) ? 0 : leftOut;
    }
    problem.nodes[node].table = problem.addNodeTable(std::move(table));
  }
  return llvm::cantFail(searchDp(problem, {})).seconds;
}

/// A problem, its folding and the messages of several passes over that.
struct Folded {
  Problem problem;
  ReducedProblem reduced = reducedProblemOf(problem, Dominance::SecondsAndBytes);
  Folding folding = *fold(problem, reduced);
  ReducedProblem folded = std::get<ReducedProblem>(tablesOf(folding.problem, keepAll(folding.problem)));
  double bound = 0; ///< of the folded problem

  explicit Folded(Problem own) : problem(std::move(own)) {}

  FoldedMessages messages(unsigned passes) {
    WeightedProblem weighted(folded);
    weighted.weigh({secondsPerByte});
    TrwsBound trws(weighted, copiesOfEdges(folding, folded));
    for (unsigned pass = 0; pass < passes; ++pass)
      bound = folded.constantSeconds + *trws.pass();
    return {problem, folding, weighted, trws, secondsPerByte};
  }
};

/// The bound of messages on \p reduced before the first pass, and after each of some passes.
std::vector<double> boundsFrom(const FoldedMessages *messages, const Problem &problem, const ReducedProblem &reduced,
                               unsigned passes) {
  WeightedProblem weighted(reduced);
  weighted.weigh({secondsPerByte});
  TrwsBound trws(weighted);
  std::vector<double> bounds;
  if (messages)
    bounds.push_back(reduced.constantSeconds + *messages->start(problem, weighted, trws));
  for (unsigned pass = 0; pass < passes; ++pass)
    bounds.push_back(reduced.constantSeconds + *trws.pass());
  return bounds;
}

/// Several copies of a problem side by side.
Problem copiesOf(const Problem &one, size_t count) {
  Problem all = one;
  for (size_t copy = 1; copy < count; ++copy) {
    size_t first = all.nodes.size();
    for (const Node &node : one.nodes)
      all.addNode(node.name + "." + std::to_string(copy), node.table);
    for (const Edge &edge : one.edges)
      all.addEdge(NodeId(first + edge.from.index()), NodeId(first + edge.to.index()), edge.table);
  }
  return all;
}

} // namespace

TEST_CASE("messages of a folded problem bound the whole, and no pass after them lowers the bound") {
  size_t numAbove = 0, numCompared = 0;
  for (size_t numDistinct : {2, 5})
    for (bool residual : {false, true})
      for (size_t seed = 0; seed < 15; ++seed) {
        Random random(4100 + seed);
        Folded own(randomChain(60, 5, residual, numDistinct, random));
        FoldedMessages messages = own.messages(10);
        double optimum = leastWeighted(own.problem, own.reduced.survivors);
        std::vector<double> bounds = boundsFrom(&messages, own.problem, own.reduced, 3);
        for (size_t pass = 0; pass < bounds.size(); ++pass) {
          CHECK(bounds[pass] <= optimum * (1 + rounding));
          CHECK((pass == 0 || bounds[pass] >= bounds[pass - 1] - rounding * optimum));
        }
        CHECK(messages.getSecondsPerByte() == secondsPerByte);
        numAbove += bounds[1] > boundsFrom(nullptr, own.problem, own.reduced, 1).front() + rounding * optimum;
        ++numCompared;
      }
  CHECK(numCompared == 60);
  CHECK(numAbove > 15); // on a path one pass is exact without them
}

TEST_CASE("the bound of the folded problem is that of the whole where all nodes of a class have equal neighbours") {
  for (size_t seed = 0; seed < 30; ++seed) {
    Random random(4200 + seed);
    Folded own(copiesOf(randomChain(6, 5, true, 6, random), 8));
    REQUIRE(own.folding.problem.nodes.size() == 6);
    FoldedMessages messages = own.messages(4);
    CHECK(boundsFrom(&messages, own.problem, own.reduced, 0).front() == Approx(own.bound).epsilon(rounding));
  }
}

TEST_CASE("messages of a folded problem bound what is left of the strategies") {
  for (size_t seed = 0; seed < 40; ++seed) {
    Random random(4300 + seed);
    Folded own(randomChain(40, 6, true, 4, random));
    FoldedMessages messages = own.messages(10);
    Survivors some;
    for (size_t node = 0; node < own.problem.nodes.size(); ++node) {
      std::vector<uint32_t> strategies = own.reduced.survivors.of(node);
      strategies.erase(strategies.begin() + static_cast<ptrdiff_t>(random.below(strategies.size())));
      some.setOf.push_back(node);
      some.sets.push_back(strategies.empty() ? own.reduced.survivors.of(node) : strategies);
    }
    ReducedProblem left = std::get<ReducedProblem>(tablesOf(own.problem, some));
    double bound = boundsFrom(&messages, own.problem, left, 0).front();
    CHECK(bound <= leastWeighted(own.problem, left.survivors) * (1 + rounding));
    CHECK(bound > 0);
  }
}
