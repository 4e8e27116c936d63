// The best mix of several answers, against all mixes.
#include "../../lib/Search/Dp/BestMix.h"
#include "Search/RandomProblems.h"

#include <catch2/catch.hpp>

using namespace apc;
using namespace apc::test;

namespace {

bool fits(const Problem &problem, const Assignment &assignment) {
  return !llvm::errorToBool(verify(problem, assignment));
}

/// The fastest legal assignment that takes each node's strategy from one of two answers.
std::optional<double> fastestMix(const Problem &problem, const Assignment &a, const Assignment &b) {
  std::optional<double> fastest;
  for (uint64_t mask = 0; mask < uint64_t(1) << problem.nodes.size(); ++mask) {
    Assignment mix = a;
    for (size_t node = 0; node < problem.nodes.size(); ++node)
      if (mask >> node & 1)
        mix.strategies[node] = b.strategies[node];
    if (fits(problem, mix))
      fastest = std::min(fastest.value_or(1e300), evaluate(problem, mix).seconds);
  }
  return fastest;
}

Assignment draw(const Problem &problem, Random &random) {
  Assignment assignment;
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    assignment.strategies.push_back(random.below(problem.tableOf(NodeId(node)).costs.size()));
  return assignment;
}

} // namespace

TEST_CASE("Of equal layers as many keep their weight whole as the limit allows") {
  Problem problem;
  NodeTableId layer = problem.addNodeTable({{"cut", "whole"}, {{3, 1, 0}, {2, 3, 0}}});
  constexpr size_t layers = 8;
  for (size_t index = 0; index < layers; ++index)
    problem.addNode("layer " + std::to_string(index), layer);
  problem.memoryLimitBytes = 15; // 8 and three times 2 more
  Assignment cut{std::vector<uint32_t>(layers, 0)}, whole{std::vector<uint32_t>(layers, 1)};
  std::optional<Assignment> mix = bestMix(problem, cut, {whole}, {}, 1);
  REQUIRE(mix);
  CHECK(evaluate(problem, *mix).seconds == 3 * 8 - 3);
}

TEST_CASE("No mix of two answers is faster than what is found") {
  size_t improved = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    Problem problem = randomProblem(recipeOf(seed, random), random);
    Assignment best = draw(problem, random), other = draw(problem, random);
    if (!fits(problem, best))
      continue;
    INFO("seed " << seed);
    double fastest = *fastestMix(problem, best, other), start = evaluate(problem, best).seconds;
    std::optional<Assignment> mix = bestMix(problem, best, {other}, {}, 10);
    improved += mix.has_value();
    CHECK((mix ? evaluate(problem, *mix).seconds : start) <= fastest * (1 + 1e-12));
    CHECK((!mix || (fits(problem, *mix) && evaluate(problem, *mix).seconds < start)));
  }
  CHECK(improved > 50);
}
