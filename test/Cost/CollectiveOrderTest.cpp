// Costs of collectives, on every preset: positive, growing with bytes and with the group.
#include "apc/Cost/Collectives.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
                                    CollectiveKind::AllReduce, CollectiveKind::Permute};

std::vector<Pool> presets() {
  std::vector<Pool> pools;
  for (const std::string &name : presetNames())
    pools.push_back(llvm::cantFail(loadCluster(name)).pool);
  return pools;
}

/// Each level alone, pairs of neighbours, all.
std::vector<GroupSpan> spans(const Pool &pool) {
  std::vector<GroupSpan> spans;
  auto count = static_cast<unsigned>(pool.levels.size());
  for (unsigned first = 0; first < count; ++first)
    for (unsigned last = first; last < count; ++last) {
      GroupSpan span;
      for (unsigned level = first; level <= last; ++level)
        span.parts.push_back({level, pool.levels[level].size});
      spans.push_back(span);
    }
  return spans;
}

} // namespace

TEST_CASE("every collective has a positive cost that grows with the bytes") {
  for (const Pool &pool : presets())
    for (const GroupSpan &span : spans(pool))
      for (CollectiveKind kind : kinds) {
        double previous = 0;
        for (int64_t bytes = 0; bytes < int64_t(1) << 42; bytes = bytes * 2 + 1) {
          double seconds = collectiveSeconds(kind, span, bytes, pool);
          INFO(pool.device.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes");
          CHECK(seconds > 0);
          CHECK(seconds >= previous);
          CHECK(seconds < 1e8);
          previous = seconds;
        }
      }
}

TEST_CASE("half the bytes take at least half the time") {
  for (const Pool &pool : presets())
    for (const GroupSpan &span : spans(pool))
      for (CollectiveKind kind : kinds)
        for (int64_t bytes = 2; bytes < int64_t(1) << 40; bytes = bytes * 3 / 2 / 2 * 2 + 2) {
          INFO(pool.device.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes");
          CHECK(2 * collectiveSeconds(kind, span, bytes / 2, pool) >=
                collectiveSeconds(kind, span, bytes, pool) * (1 - 1e-12));
        }
}

TEST_CASE("the cost grows with the group on one level, but for a mesh, where more devices have more links") {
  for (const Pool &pool : presets())
    for (unsigned level = 0; level < pool.levels.size(); ++level)
      for (CollectiveKind kind : kinds)
        for (int64_t bytes : {1, 100000, 1 << 30}) {
          if (pool.levels[level].topology == Topology::Mesh)
            continue;
          double previous = 0;
          for (int64_t size = 2; size <= pool.levels[level].size; ++size) {
            double seconds = collectiveSeconds(kind, GroupSpan{{{level, size}}}, bytes, pool);
            INFO(pool.device.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes over " << size);
            CHECK(seconds >= previous);
            previous = seconds;
          }
        }
}

TEST_CASE("the cost grows with the number of nodes") {
  for (const Pool &pool : presets()) {
    if (pool.levels.size() < 2)
      continue;
    auto inner = static_cast<unsigned>(pool.levels.size()) - 1;
    for (CollectiveKind kind : kinds)
      for (int64_t bytes : {1, 100000, 1 << 30}) {
        double previous = 0;
        for (int64_t nodes = 1; nodes <= 64; nodes *= 2) {
          GroupSpan span{{{inner - 1, nodes}, {inner, pool.levels[inner].size}}};
          double seconds = collectiveSeconds(kind, span, bytes, pool);
          INFO(pool.device.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes over " << nodes
                                << " nodes");
          // A torus gains a ring with its second level.
          if (pool.levels[inner].topology != Topology::Torus || nodes > 2)
            CHECK(seconds >= previous);
          previous = seconds;
        }
      }
  }
}

TEST_CASE("AllReduce is no dearer than ReduceScatter and AllGather together, and no cheaper than either") {
  for (const Pool &pool : presets())
    for (const GroupSpan &span : spans(pool))
      for (int64_t bytes : {1000, 1000000, 1000000000}) {
        double both = collectiveSeconds(CollectiveKind::ReduceScatter, span, bytes, pool) +
                      collectiveSeconds(CollectiveKind::AllGather, span, bytes, pool);
        CHECK(collectiveSeconds(CollectiveKind::AllReduce, span, bytes, pool) <= both);
        CHECK(collectiveSeconds(CollectiveKind::AllReduce, span, bytes, pool) >=
              collectiveSeconds(CollectiveKind::AllGather, span, bytes, pool));
      }
}

TEST_CASE("inside a node is cheaper than between nodes") {
  for (const char *name : {"dgx-a100-80gb", "dgx-h100", "dgx-b200", "gb200-nvl72", "atlas-900-a2"}) {
    Pool pool = llvm::cantFail(loadCluster(name)).pool;
    for (CollectiveKind kind : kinds)
      for (int64_t bytes : {1000, 1000000, 1000000000})
        CHECK(collectiveSeconds(kind, GroupSpan{{{1, 8}}}, bytes, pool) <
              collectiveSeconds(kind, GroupSpan{{{0, 8}}}, bytes, pool));
  }
}
