// Tables of seconds say, bit for bit, what a Redistributor of each tensor says.
#include "apc/Sharding/RedistributionSeconds.h"

#include "ElementGrid.h"
#include "Redistribution/ShardingGraph.h"

using namespace apc;
using namespace apc::test;

namespace {

/// Axes of different speed; no two costs are simple multiples of each other, so that sums are rounded.
double unevenCost(const Collective &collective) {
  if (collective.kind == CollectiveKind::Slice)
    return 0;
  double seconds = 1e-5 + 0.7e-6 * static_cast<double>(collective.kind);
  seconds += collective.combiner == Combiner::LogSumExp ? 3.1e-5 : 0;
  for (AxisId axis : collective.axes)
    seconds += (axis.index() == 0 ? 7.3e-6 : 1.1e-6) *
               static_cast<double>(std::max(collective.inputBytes, collective.outputBytes));
  return seconds;
}

/// All pairs, a part of the sources after the others; returns how many pairs there were.
size_t checkAllPairs(const Mesh &mesh, const TensorShape &shape, RedistributionSeconds &table,
                     llvm::ArrayRef<PartedDim> parted = {}) {
  Redistributor redistributor(shape, mesh, unevenCost);
  std::vector<Sharding> all = withParts(allShardings(shape.numDims(), mesh, true), parted);
  for (size_t index = 0; index < all.size(); index += 3)
    if (all[index].isPartial())
      all[index].combiner = index % 2 == 0 ? Combiner::Max : Combiner::LogSumExp;
  llvm::ArrayRef<Sharding> every = all;
  for (llvm::ArrayRef<Sharding> sources : {every.take_back(all.size() / 3), every}) {
    size_t next = 0;
    table.between(shape, sources, all, [&](size_t source, RedistributionSeconds::Row seconds) {
      REQUIRE((source == next++ && seconds.size() == all.size()));
      for (size_t target = 0; target < all.size(); ++target)
        if (seconds[target] != redistributor.seconds(sources[source], all[target]))
          FAIL(sources[source].str(mesh) << " to " << all[target].str(mesh));
    });
    REQUIRE(next == sources.size());
  }
  return all.size() * all.size();
}

} // namespace

TEST_CASE("tables of seconds equal Redistributors") {
  for (const char *text : {"[x0=4 | x1=3]", "[x0=2 | x1=1]"}) {
    Mesh on = mesh(text);
    RedistributionSeconds table(on, unevenCost);
    // Those of one line share a search.
    for (const TensorShape &each : {shape({}), shape({1}), shape({1, 1}),                             //
                                    shape({8}), shape({1, 8}), shape({8, 1}),                         //
                                    shape({12, 36}), shape({36, 12}), shape({36, 1, 12}),             //
                                    shape({5, 3}), shape({3, 5}), shape({5, 1, 3}), shape({5, 3}, 8), //
                                    shape({16, 7, 6}), shape({6, 16, 7}), shape({7, 6, 16}), shape({6, 7, 16})})
      CHECK(checkAllPairs(on, each, table) > 0);
  }
  Mesh deep = mesh("[x0=2 | x1=2, x2=2]");
  RedistributionSeconds table(deep, unevenCost);
  for (const TensorShape &each : {shape({48, 40}), shape({40, 48}), shape({24, 24}), shape({40, 56, 48})})
    CHECK(checkAllPairs(deep, each, table) > 0);
}

TEST_CASE("tables of seconds equal Redistributors where no graph is large enough") {
  Mesh on = mesh("[x0=2 | x1=2, x2=2, x3=2, x4=2]");
  TensorShape wide = shape({16, 8, 1, 32, 16});
  REQUIRE_FALSE(ShardingGraph::fits(5, on.numAxes()));
  std::vector<Sharding> some = {sharding("[x0, x1, -, x2, -]", on), sharding("[x1, x2, -, x0, -]", on),
                                sharding("[(x0 x1), x2, -, -, x4]", on), sharding("[-, -, -, -, x3] sum{x0}", on)};
  RedistributionSeconds table(on, unevenCost);
  table.between(wide, some, some, [&](size_t source, RedistributionSeconds::Row seconds) {
    for (size_t target = 0; target < some.size(); ++target) {
      std::optional<Redistribution> path = redistribute(some[source], some[target], wide, on, unevenCost);
      CHECK(seconds[target] == (path ? std::optional(path->seconds) : std::nullopt));
    }
  });
}

TEST_CASE("tables of seconds know cuts inside parts") {
  Mesh on = mesh("[x0=4 | x1=3]");
  RedistributionSeconds table(on, unevenCost);
  CHECK(checkAllPairs(on, shape({12, 36}), table, {{1, {12, 12, 12}}}) > 0);
  CHECK(checkAllPairs(on, shape({36, 12}), table, {{0, {24, 6, 6}}}) > 0);
}
