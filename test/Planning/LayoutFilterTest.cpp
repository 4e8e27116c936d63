// Strategies that a layout leaves to ops which know nothing of batch and sequences.
#include "../../lib/Planning/Layout/LayoutFilter.h"
#include "GraphMaker.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("what constants alone make may be cut over cp, as a mask is by the queries that are seen through it") {
  GraphMaker maker;
  ValueId x = maker.source("x", {64, 64}, ValueRole::Input);
  ValueId rows = maker.relu("rows", x), mask = maker.relu("mask", x);
  maker.graph.ops.back().operands = {std::nullopt};
  ValueId cast = maker.cast("cast", mask, 32);
  maker.sink(rows);
  maker.sink(cast);
  Pool pool;
  pool.levels.resize(1);
  pool.levels[0].size = 8;
  ParallelDegrees layout;
  layout.data = layout.context = layout.tensor = 2;
  std::optional<LayoutMesh> own = arrangeLayout(pool, layout);
  REQUIRE(own);
  LayoutFilter filter(maker.graph, *own, layout, /*isStrict=*/true, /*gathersLogits=*/false);
  // Is a strategy left that cuts the dim over the axes?
  auto mayCut = [&](ValueId value, size_t dim, const AxisList &axes) {
    OpId op = maker.graph.value(value).producer;
    return llvm::any_of(enumerateStrategies(maker.graph.ruleOf(op), own->mesh),
                        [&](const Strategy &strategy) { return strategy.axes[dim] == axes && filter(op, strategy); });
  };
  for (ValueId value : {mask, cast})
    for (size_t dim : {0, 1}) {
      CHECK(mayCut(value, dim, own->context));
      CHECK(mayCut(value, dim, {}));
      CHECK_FALSE(mayCut(value, dim, own->data));
    }
  CHECK(mayCut(rows, 0, own->data));
  CHECK_FALSE(mayCut(rows, 0, own->context));
}
