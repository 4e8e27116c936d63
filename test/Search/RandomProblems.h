// Small random problems for the properties of searches, from a generator that is the same everywhere.
#pragma once

#include "../Rounding.h"

#include "apc/Search/Problem.h"

namespace apc::test {

/// SplitMix64: the same numbers with every standard library.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next();
  /// In [0, bound).
  size_t below(size_t bound) { return next() % bound; }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }

private:
  uint64_t state;
};

enum class Shape { Chain, Tree, Diamond, Residual, Clique, Disconnected, ParallelEdges, Ring };
constexpr unsigned numShapes = 8;

/// The parameters of the generator.
struct Recipe {
  Shape shape = Shape::Chain;
  size_t numNodes = 5;
  size_t maxStrategies = 4;
  bool wholeNumbers = false;    ///< many ties
  double impossiblePairs = 0;   ///< their share of all pairs
  size_t numDistinctTables = 3; ///< nodes of the same size share tables
  bool limitMemory = false;     ///< to about the bytes of a random assignment; often binds
};

Problem randomProblem(const Recipe &recipe, Random &random);

/// A recipe of up to 7 nodes for each index; any 16 in a row cover all shapes, with and without a limit.
Recipe recipeOf(size_t index, Random &random);

/// A chain of random tables, with edges from node i to i + 2 when `residual`. `numDistinct` node and pair tables take
/// turns.
Problem randomChain(size_t numNodes, size_t numStrategies, bool residual, size_t numDistinct, Random &random);

} // namespace apc::test
