// Pruning against its definition, strategy by strategy and pair by pair.
#include "../../lib/Search/Reduce/Folding.h"
#include "../../lib/Search/Reduce/WeightedProblem.h"
#include "Search/RandomProblems.h"
#include "Search/ReducedProblems.h"

#include "apc/Search/ProblemJson.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

using Sets = std::vector<std::vector<uint32_t>>;

/// The definition of one round.
class Round {
public:
  Round(const Problem &problem, Dominance dominance, const Sets &kept)
      : problem(problem), dominance(dominance), kept(kept) {}

  Sets run() const {
    Sets next(kept.size());
    for (size_t node = 0; node < kept.size(); ++node) {
      auto isOut = [&](uint32_t strategy) { return !fits(node, strategy); };
      std::vector<uint32_t> fitting = kept[node];
      llvm::erase_if(fitting, isOut);
      for (uint32_t strategy : fitting)
        if (llvm::none_of(fitting, [&](uint32_t other) { return replaces(node, other, strategy); }))
          next[node].push_back(strategy);
    }
    return next;
  }

private:
  /// Does `visit` hold for each edge of a node, with its cells as a function of the node's strategy and the other's?
  template <typename Visit>
  bool holdsOnEdges(size_t node, Visit visit) const {
    return llvm::all_of(problem.edges, [&](const Edge &edge) {
      const PairTable &table = problem.tableOf(edge);
      if (edge.from.index() == node)
        return visit(kept[edge.to.index()], [&](uint32_t own, uint32_t other) { return table.at(own, other); });
      if (edge.to.index() == node)
        return visit(kept[edge.from.index()], [&](uint32_t own, uint32_t other) { return table.at(other, own); });
      return true;
    });
  }

  bool fits(size_t node, uint32_t strategy) const {
    return holdsOnEdges(node, [&](llvm::ArrayRef<uint32_t> others, auto cell) {
      return llvm::any_of(others, [&](uint32_t other) { return cell(strategy, other).has_value(); });
    });
  }

  /// Is `a` nowhere worse than `b`?
  bool dominates(size_t node, uint32_t a, uint32_t b) const {
    const StrategyCost &costOfA = problem.tableOf(NodeId(node)).costs[a];
    const StrategyCost &costOfB = problem.tableOf(NodeId(node)).costs[b];
    if (costOfA.seconds > costOfB.seconds)
      return false;
    if (dominance == Dominance::SecondsAndBytes &&
        (costOfA.persistentBytes > costOfB.persistentBytes || costOfA.transientBytes > costOfB.transientBytes))
      return false;
    return holdsOnEdges(node, [&](llvm::ArrayRef<uint32_t> others, auto cell) {
      return llvm::all_of(others, [&](uint32_t other) {
        std::optional<double> pairOfA = cell(a, other), pairOfB = cell(b, other);
        return !pairOfB || (pairOfA && *pairOfA <= *pairOfB);
      });
    });
  }

  bool replaces(size_t node, uint32_t a, uint32_t b) const {
    return a != b && dominates(node, a, b) && (a < b || !dominates(node, b, a));
  }

  const Problem &problem;
  Dominance dominance;
  const Sets &kept;
};

/// Empty when some node keeps nothing.
Sets prunedByDefinition(const Problem &problem, Dominance dominance, Sets kept) {
  for (Sets before; before != kept;) {
    before = kept;
    kept = Round(problem, dominance, before).run();
    if (llvm::any_of(kept, [](const std::vector<uint32_t> &own) { return own.empty(); }))
      return {};
  }
  return kept;
}

/// A node of 600 strategies with three of 2 around it, all pairs different.
Problem wideHub(Random &random) {
  constexpr size_t numStrategies = 600;
  auto anyTable = [&](size_t size) {
    NodeTable table;
    for (size_t strategy = 0; strategy < size; ++strategy) {
      table.names.push_back(std::to_string(strategy));
      table.costs.push_back({random.unit() / 10, static_cast<int64_t>(random.below(3)), 0});
    }
    return table;
  };
  Problem problem;
  NodeId hub = problem.addNode("hub", problem.addNodeTable(anyTable(numStrategies)));
  for (const char *name : {"a", "b", "c"}) {
    NodeId leaf = problem.addNode(name, problem.addNodeTable(anyTable(2)));
    PairTable pairs(numStrategies, 2);
    for (size_t strategy = 0; strategy < numStrategies; ++strategy)
      for (size_t other = 0; other < 2; ++other)
        pairs.set(strategy, other, random.unit());
    problem.addEdge(hub, leaf, problem.addPairTable(std::move(pairs)));
  }
  return problem;
}

Sets setsOf(const Survivors &kept) {
  Sets result;
  for (uint32_t set : kept.setOf)
    result.push_back(kept.sets[set]);
  return result;
}

} // namespace

TEST_CASE("pruning keeps the strategies that its definition keeps") {
  size_t numPruned = 0, numImpossible = 0;
  for (size_t index = 0; index < 1000; ++index) {
    Random random(40000 + index);
    Recipe recipe = recipeOf(index, random);
    recipe.maxStrategies = 9;
    Problem problem = randomProblem(recipe, random);
    INFO("problem " << index << ": " << printProblem(problem));
    Sets all = setsOf(keepAll(problem));
    for (Dominance dominance : {Dominance::Seconds, Dominance::SecondsAndBytes}) {
      Sets expected = prunedByDefinition(problem, dominance, all);
      std::variant<Survivors, Impossible> pruned = pruneDominated(problem, dominance, keepAll(problem));
      REQUIRE(std::holds_alternative<Survivors>(pruned) == !expected.empty());
      numImpossible += expected.empty();
      if (expected.empty())
        continue;
      CHECK(setsOf(std::get<Survivors>(pruned)) == expected);
      numPruned += expected != all;
    }
  }
  CHECK(numPruned > 500);
  CHECK(numImpossible > 20);
}

TEST_CASE("pruning keeps the same strategies where kinds are too many to remember their relations") {
  Random random(1);
  Problem problem = wideHub(random);
  for (Dominance dominance : {Dominance::Seconds, Dominance::SecondsAndBytes}) {
    Sets expected = prunedByDefinition(problem, dominance, setsOf(keepAll(problem)));
    CHECK(expected.front().size() > 10);
    CHECK(expected.front().size() < 600);
    CHECK(setsOf(std::get<Survivors>(pruneDominated(problem, dominance, keepAll(problem)))) == expected);
  }
}

TEST_CASE("pruning continues from the result of a weaker dominance") {
  for (size_t index = 0; index < 200; ++index) {
    Random random(50000 + index);
    Problem problem = randomProblem(recipeOf(index, random), random);
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<Survivors, Impossible> less = pruneDominated(problem, Dominance::SecondsAndBytes, keepAll(problem));
    if (!std::holds_alternative<Survivors>(less))
      continue;
    Sets start = setsOf(std::get<Survivors>(less));
    std::variant<Survivors, Impossible> more = pruneDominated(problem, Dominance::Seconds, std::get<Survivors>(less));
    REQUIRE(std::holds_alternative<Survivors>(more));
    CHECK(setsOf(std::get<Survivors>(more)) == prunedByDefinition(problem, Dominance::Seconds, start));
  }
}

TEST_CASE("a table of all strategies shares the cells of its pairs until those are changed") {
  Random random(31);
  Problem problem = randomChain(3, 4, false, 3, random);
  ReducedProblem whole = std::get<ReducedProblem>(tablesOf(problem, keepAll(problem)));
  REQUIRE(whole.leaves.size() == 2);
  CHECK(whole.leaves[0].cells.data() == problem.pairTables[problem.edges[0].table.index()].row(0).data());
  double before = whole.leaves[0].cells[0];
  problem.pairTables[problem.edges[0].table.index()].set(0, 0, before + 1);
  CHECK(whole.leaves[0].cells[0] == before);
}

TEST_CASE("threads change no survivor, no table and no class") {
  for (size_t seed = 0; seed < 40; ++seed) {
    Random random(8800 + seed);
    Problem problem = randomChain(60, 12, seed % 2, 5, random);
    for (Dominance dominance : {Dominance::Seconds, Dominance::SecondsAndBytes}) {
      ReducedProblem one = reducedProblemOf(problem, dominance);
      ReducedProblem four = std::get<ReducedProblem>(reduceProblem(problem, dominance, nullptr, 4));
      REQUIRE(four.survivors.sets == one.survivors.sets);
      CHECK(four.survivors.setOf == one.survivors.setOf);
      REQUIRE(four.leaves.size() == one.leaves.size());
      for (auto [a, b] : llvm::zip_equal(four.leaves, one.leaves))
        CHECK(llvm::ArrayRef<double>(a.cells) == llvm::ArrayRef<double>(b.cells));
      std::optional<Folding> folded = fold(problem, one), again = fold(problem, four, 4);
      REQUIRE((folded && again));
      CHECK(again->problem.pairTables == folded->problem.pairTables);
      WeightedProblem weighted(one), side(four, 4);
      for (size_t node = 0; node < weighted.numNodes(); ++node)
        for (auto [end, other] : llvm::zip_equal(weighted.ends(node), side.ends(node)))
          CHECK(weighted.pairs(end, 0) == side.pairs(other, 0));
    }
  }
}
