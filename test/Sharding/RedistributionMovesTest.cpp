// Every redistribution moves every element where it belongs: all pairs of shardings on small meshes.
#include "../Sanitized.h"
#include "ElementGrid.h"

#include <algorithm>
#include <map>

using namespace apc;
using namespace apc::test;

namespace {

using Price = std::function<double(const Collective &)>;

/// Prices that make different collectives attractive, so that each kind is exercised.
Price costFavouring(int variant) {
  return [variant](const Collective &collective) {
    if (collective.kind == CollectiveKind::Slice)
      return 0.0;
    double seconds = 1e-6 * static_cast<double>(collective.axes.size()) +
                     1e-9 * static_cast<double>(collective.inputBytes) +
                     1e-9 * static_cast<double>(collective.outputBytes);
    if (collective.kind == CollectiveKind::Permute)
      seconds *= variant == 0 ? 0.1 : variant == 1 ? 100 : 1;
    if (collective.kind == CollectiveKind::AllToAll && variant == 2)
      seconds *= 0.01;
    if (collective.kind == CollectiveKind::AllReduce && variant == 1)
      seconds *= 10;
    return seconds;
  };
}

/// Moves the elements for each pair; returns how many pairs there were.
int checkAllPairs(const Mesh &mesh, const TensorShape &shape, int variant, llvm::ArrayRef<PartedDim> parted = {}) {
  std::vector<Sharding> shardings = withParts(allShardings(shape.numDims(), mesh, true), parted);
  Redistributor redistributor(shape, mesh, costFavouring(variant));
  std::map<std::pair<const Sharding *, AxisList>, ElementGrid> targets; // by target and the axes that had terms
  int moved = 0;
  for (const Sharding &from : shardings) {
    ElementGrid start = ElementGrid::make(shape, from, from.partial, mesh);
    for (const Sharding &to : shardings) {
      bool possible = std::includes(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end());
      std::optional<Redistribution> path = redistributor.collectives(from, to);
      if (path.has_value() != possible || redistributor.seconds(from, to).has_value() != possible)
        FAIL(from.str(mesh) << " to " << to.str(mesh) << " is wrongly reachable or not");
      if (!path)
        continue;
      ElementGrid grid = start;
      double seconds = 0;
      for (const Collective &collective : path->collectives) {
        grid.apply(collective);
        seconds += costFavouring(variant)(collective);
      }
      auto target = targets.find({&to, from.partial});
      if (target == targets.end())
        target = targets.try_emplace({&to, from.partial}, ElementGrid::make(shape, to, from.partial, mesh)).first;
      if (!grid.holdsSame(target->second) || !(grid.getLayout() == to))
        FAIL(from.str(mesh) << " to " << to.str(mesh) << " puts elements into wrong places");
      if (std::abs(seconds - path->seconds) > 1e-12 || path->seconds != *redistributor.seconds(from, to))
        FAIL(from.str(mesh) << " to " << to.str(mesh) << " has another cost than its collectives");
      if (path->collectives.empty() != (from == to))
        FAIL(from.str(mesh) << " to " << to.str(mesh) << " has no collectives");
      ++moved;
    }
  }
  return moved;
}

} // namespace

TEST_CASE("MindSpore: between all pairs of shardings on [2,2] every element arrives") {
  Mesh on = mesh("[x0=2 | x1=2]");
  for (int variant : {0, 1, 2})
    for (const TensorShape &each :
         {shape({}), shape({4}), shape({6}), shape({5}), shape({7}), shape({3}), shape({1}), shape({4, 6}),
          shape({5, 7}), shape({3, 8}), shape({1, 2}), shape({4, 6, 8}), shape({5, 2, 7}), shape({1, 3, 4}, 4)})
      CHECK(checkAllPairs(on, each, variant) > 0);
}

TEST_CASE("MindSpore: between all pairs of shardings on [2,3] every element arrives") {
  Mesh on = mesh("[x0=2, x1=3]");
  for (int variant : {0, 1, 2})
    for (const TensorShape &each :
         {shape({6}), shape({4}), shape({5}), shape({7}), shape({2}), shape({6, 12}), shape({5, 7}), shape({4, 6}),
          shape({1, 6}), shape({6, 6, 6}), shape({5, 6, 7}), shape({2, 4, 3})})
      CHECK(checkAllPairs(on, each, variant) > 0);
}

TEST_CASE("MindSpore: between all pairs of shardings on [2,2,2] every element arrives") {
  Mesh on = mesh("[x0=2 | x1=2, x2=2]");
  for (const TensorShape &each : {shape({8}), shape({6}), shape({5}), shape({7}), shape({3}), shape({4, 6})})
    for (int variant : {0, 1, 2})
      CHECK(checkAllPairs(on, each, variant) > 0);
  int variant = 0;
  for (const TensorShape &each : {shape({8, 8}), shape({5, 7}), shape({2, 12}), shape({8, 8, 8}), shape({4, 5, 6}),
                                  shape({2, 7, 4}), shape({1, 6, 8}, 16)})
    if (!isSanitized || each.numDims() < 3)
      CHECK(checkAllPairs(on, each, variant++ % 3) > 0);
}

TEST_CASE("axes of size 1 move nothing") {
  Mesh on = mesh("[x0=2, x1=1, x2=1]");
  CHECK(checkAllPairs(on, shape({4, 3}), 0) > 0);
}

TEST_CASE("between cuts inside parts and all others every element arrives") {
  Mesh four = mesh("[x0=2 | x1=2]"), six = mesh("[x0=2, x1=3]");
  for (int variant : {0, 1, 2}) {
    CHECK(checkAllPairs(four, shape({12}), variant, {{0, {4, 4, 4}}}) > 0);
    CHECK(checkAllPairs(four, shape({8, 4}), variant, {{0, {4, 2, 2}}}) > 0);
    CHECK(checkAllPairs(four, shape({3, 8}), variant, {{1, {4, 4}}}) > 0);
    CHECK(checkAllPairs(six, shape({24}), variant, {{0, {12, 6, 6}}}) > 0);
    CHECK(checkAllPairs(six, shape({2, 12}), variant, {{1, {6, 6}}}) > 0);
  }
  // Parts that axes do not divide, that are smaller than the ways, and two lists of parts.
  CHECK(checkAllPairs(four, shape({11}), 0, {{0, {5, 3, 3}}}) > 0);
  CHECK(checkAllPairs(four, shape({4, 7}), 1, {{1, {4, 2, 1}}}) > 0);
  CHECK(checkAllPairs(six, shape({10}), 2, {{0, {7, 3}}}) > 0);
  CHECK(checkAllPairs(four, shape({8}), 0, {{0, {4, 4}}, {0, {2, 6}}}) > 0);
  CHECK(checkAllPairs(four, shape({4, 6}), 0, {{0, {2, 2}}, {1, {4, 2}}}) > 0);
}

TEST_CASE("a tensor of too many shardings for one graph is moved between cuts inside parts") {
  Mesh on = mesh("[x0=2, x1=2, x2=2, x3=2, x4=2]");
  TensorShape tensor = shape({2, 2, 2, 2, 64});
  auto sharding = [&](llvm::StringRef text) { return llvm::cantFail(Sharding::parse(text, on)); };
  for (auto [source, target] : {std::pair("[-, -, -, -, (x0 x1 x2){32 16 16}]", "[x3, -, -, -, (x0 x1 x2)]"),
                                std::pair("[x4, x3, -, -, (x1 x0)]", "[-, -, -, -, (x1 x0 x2){32 32}]")}) {
    Sharding from = sharding(source), to = sharding(target);
    Redistributor redistributor(tensor, on, costFavouring(0));
    ElementGrid grid = ElementGrid::make(tensor, from, {}, on);
    std::optional<Redistribution> path = redistributor.collectives(from, to);
    REQUIRE(path.has_value());
    for (const Collective &collective : path->collectives)
      grid.apply(collective);
    CHECK(grid.getLayout() == to);
    CHECK(grid.holdsSame(ElementGrid::make(tensor, to, {}, on)));
  }
}
