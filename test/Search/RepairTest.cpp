// Moves of one node and of two: what is left gains by no such move, under a limit and beyond it.
#include "../../lib/Search/Local/Repair.h"
#include "../../lib/Search/Local/MoveCost.h"
#include "Search/RandomProblems.h"
#include "Search/ReducedProblems.h"

#include "apc/Search/ProblemJson.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

/// The cost of all choices together, added up anew.
MoveCost costOf(const WeightedProblem &weighted, int64_t limitBytes, llvm::ArrayRef<uint32_t> chosen) {
  MoveCost sum;
  int64_t persistent = 0, transient = 0;
  for (size_t node = 0; node < chosen.size(); ++node) {
    sum.add(weighted.own(node)[chosen[node]]);
    for (const WeightedEnd &end : weighted.ends(node))
      if (end.other < node)
        sum.add(weighted.pairs(end, chosen[end.other])[chosen[node]]);
    persistent += weighted.unary(node).persistentBytes[chosen[node]];
    transient = std::max(transient, weighted.unary(node).transientBytes[chosen[node]]);
  }
  sum.bytesAboveLimit = std::max<int64_t>(0, persistent + transient - limitBytes);
  return sum;
}

bool isNoticeablyBetter(const MoveCost &a, const MoveCost &b) {
  bool isTie = a.impossible == b.impossible && a.bytesAboveLimit == b.bytesAboveLimit;
  return isTie ? a.seconds < b.seconds * (1 - 1e-9) : a < b;
}

/// Does any other choice of any two nodes, or of one, gain?
bool mayGain(const WeightedProblem &weighted, int64_t limitBytes, std::vector<uint32_t> chosen) {
  const MoveCost now = costOf(weighted, limitBytes, chosen);
  for (size_t a = 0; a < chosen.size(); ++a)
    for (size_t b = a + 1; b < chosen.size(); ++b) {
      std::vector<uint32_t> moved = chosen;
      for (moved[a] = 0; moved[a] < weighted.numStrategies(a); ++moved[a])
        for (moved[b] = 0; moved[b] < weighted.numStrategies(b); ++moved[b])
          if (isNoticeablyBetter(costOf(weighted, limitBytes, moved), now))
            return true;
    }
  return false;
}

} // namespace

TEST_CASE("no two nodes gain by another move behind a repair within a limit") {
  const Deadline noDeadline(1e9);
  size_t numRepaired = 0, numTight = 0, numAbove = 0;
  for (size_t index = 0; index < 400; ++index) {
    Random random(12000 + index);
    Recipe recipe = recipeOf(index, random);
    recipe.limitMemory = true;
    Problem problem = randomProblem(recipe, random);
    if (index % 5 == 0) // less than anything fits in
      *problem.memoryLimitBytes /= 4;
    INFO("problem " << index << ": " << printProblem(problem));
    std::variant<ReducedProblem, Impossible> outcome = tablesOf(problem, keepAll(problem));
    if (!std::holds_alternative<ReducedProblem>(outcome))
      continue;
    WeightedProblem weighted(std::get<ReducedProblem>(outcome));
    std::vector<uint32_t> start, chosen;
    for (size_t node = 0; node < weighted.numNodes(); ++node)
      start.push_back(static_cast<uint32_t>(random.below(weighted.numStrategies(node))));
    chosen = start;
    repair(weighted, problem.memoryLimitBytes, noDeadline, chosen);
    CHECK_FALSE(mayGain(weighted, *problem.memoryLimitBytes, chosen));
    numRepaired += chosen != start;
    const MoveCost cost = costOf(weighted, *problem.memoryLimitBytes, chosen);
    numAbove += cost.bytesAboveLimit > 0;
    std::vector<uint32_t> free = start;
    repair(weighted, std::nullopt, noDeadline, free);
    numTight += free != chosen;
  }
  CHECK(numRepaired > 200);
  CHECK(numTight > 100);
  CHECK(numAbove > 40);
}
