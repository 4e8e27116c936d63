// The place of a layout's degrees on a pool.
#include "../../lib/Planning/Layout/LayoutMesh.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Llama 3 405B's layout for long sequences has tp inside a node, then cp, then dp") {
  Pool worker; // one of 16
  worker.levels.resize(2);
  worker.levels[0].size = 128;
  worker.levels[1].size = 8;
  ParallelDegrees layout;
  layout.data = 8, layout.context = 16, layout.tensor = 8;
  std::optional<LayoutMesh> own = arrangeLayout(worker, layout);
  REQUIRE(own);
  REQUIRE((own->data.size() == 1 && own->context.size() == 1 && own->tensor.size() == 1));
  auto axisOf = [&](const AxisList &axes) { return own->mesh.getAxes()[axes.front().index()]; };
  CHECK((axisOf(own->tensor).level == 1 && axisOf(own->tensor).size == 8));
  CHECK((axisOf(own->context).level == 0 && axisOf(own->context).size == 16));
  CHECK((axisOf(own->data).level == 0 && axisOf(own->data).size == 8));
  CHECK((own->data.front() < own->context.front() && own->context.front() < own->tensor.front()));
}

TEST_CASE("the ranks of a shard are the innermost ones of cp and dp, and ZeRO cuts over them alone") {
  Pool pool;
  pool.levels.resize(2);
  pool.levels[0].size = 4;
  pool.levels[1].size = 8;
  auto storageOf = [&](ParallelDegrees layout) {
    layout.zero = 3;
    std::optional<LayoutMesh> own = arrangeLayout(pool, layout);
    REQUIRE(own);
    int64_t ranks = 1;
    for (AxisId axis : own->storage) {
      CHECK(llvm::is_contained(own->replicas(), axis));
      ranks *= own->mesh.axis(axis).size;
    }
    CHECK(own->experts.empty());
    // Replicas that are left are farther out.
    for (AxisId axis : own->replicas())
      CHECK((llvm::is_contained(own->storage, axis) || axis < own->storage.front()));
    return ranks;
  };
  CHECK(storageOf({.data = 32}) == 32);
  CHECK(storageOf({.data = 32, .shard = 8}) == 8);
  CHECK(storageOf({.data = 32, .shard = 16}) == 16);
  CHECK(storageOf({.data = 16, .tensor = 2, .shard = 2}) == 2);
  CHECK(storageOf({.data = 8, .context = 4, .shard = 4}) == 4);
  CHECK(storageOf({.data = 8, .context = 4, .shard = 8}) == 8);
  // 3 x 8 ranks: three of them next to each other do not fill a node; nor do parts of cp and dp.
  pool.levels[0].size = 3;
  auto hasWholeGroups = [&](const ParallelDegrees &layout) { return arrangeLayout(pool, layout)->hasWholeGroups(); };
  CHECK(hasWholeGroups({.data = 24}));
  CHECK(hasWholeGroups({.data = 24, .shard = 4}));
  CHECK_FALSE(hasWholeGroups({.data = 24, .shard = 3}));
  CHECK_FALSE(hasWholeGroups({.data = 24, .shard = 12}));
  CHECK_FALSE(hasWholeGroups({.data = 6, .context = 4, .shard = 6}));
}

TEST_CASE("whole experts lie on ranks of tp first, then on those of cp and dp") {
  Pool pool;
  pool.levels.resize(2);
  pool.levels[0].size = 4;
  pool.levels[1].size = 8;
  auto ranksOf = [&](const ParallelDegrees &layout) {
    std::optional<LayoutMesh> own = arrangeLayout(pool, layout);
    REQUIRE(own);
    auto ranksIn = [&](const AxisList &of) {
      int64_t ranks = 1;
      for (AxisId axis : own->experts)
        ranks *= llvm::is_contained(of, axis) ? own->mesh.axis(axis).size : 1;
      return ranks;
    };
    for (AxisId axis : own->tensor) // those that are left are farther out
      CHECK((!layout.hasWholeExperts() || llvm::is_contained(own->experts, axis) || axis < own->experts.front()));
    return std::make_tuple(ranksIn(own->tensor), ranksIn(own->context), ranksIn(own->data));
  };
  using Ranks = std::tuple<int64_t, int64_t, int64_t>;
  CHECK(ranksOf({.data = 16, .tensor = 2, .experts = 8, .expertTensor = 1}) == Ranks{2, 1, 4});
  CHECK(ranksOf({.data = 4, .tensor = 8, .experts = 2, .expertTensor = 1}) == Ranks{2, 1, 1});
  CHECK(ranksOf({.data = 4, .tensor = 2, .context = 4, .experts = 16, .expertTensor = 1}) == Ranks{2, 4, 2});
  CHECK(ranksOf({.data = 16, .tensor = 2, .experts = 8}) == Ranks{1, 1, 8});
}
