// Costs of collectives, on every preset: positive, growing with bytes and with the group.
#include "apc/Cost/Collectives.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
                                    CollectiveKind::AllReduce, CollectiveKind::Permute};

std::vector<Cluster> presets() {
  std::vector<Cluster> clusters;
  for (const std::string &name : presetNames())
    clusters.push_back(llvm::cantFail(loadCluster(name)));
  return clusters;
}

/// Each level alone, pairs of neighbours, all.
std::vector<GroupSpan> spans(const Cluster &cluster) {
  std::vector<GroupSpan> spans;
  auto count = static_cast<unsigned>(cluster.levels.size());
  for (unsigned first = 0; first < count; ++first)
    for (unsigned last = first; last < count; ++last) {
      GroupSpan span;
      for (unsigned level = first; level <= last; ++level)
        span.parts.push_back({level, cluster.levels[level].size});
      spans.push_back(span);
    }
  return spans;
}

} // namespace

TEST_CASE("every collective has a positive cost that grows with the bytes") {
  for (const Cluster &cluster : presets())
    for (const GroupSpan &span : spans(cluster))
      for (CollectiveKind kind : kinds) {
        double previous = 0;
        for (int64_t bytes = 0; bytes < int64_t(1) << 42; bytes = bytes * 2 + 1) {
          double seconds = collectiveSeconds(kind, span, bytes, cluster);
          INFO(cluster.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes");
          CHECK(seconds > 0);
          CHECK(seconds >= previous);
          CHECK(seconds < 1e8);
          previous = seconds;
        }
      }
}

TEST_CASE("the cost grows with the group on one level, but for a mesh, where more devices have more links") {
  for (const Cluster &cluster : presets())
    for (unsigned level = 0; level < cluster.levels.size(); ++level)
      for (CollectiveKind kind : kinds)
        for (int64_t bytes : {1, 100000, 1 << 30}) {
          if (cluster.levels[level].topology == Topology::Mesh)
            continue;
          double previous = 0;
          for (int64_t size = 2; size <= cluster.levels[level].size; ++size) {
            double seconds = collectiveSeconds(kind, GroupSpan{{{level, size}}}, bytes, cluster);
            INFO(cluster.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes over " << size);
            CHECK(seconds >= previous);
            previous = seconds;
          }
        }
}

TEST_CASE("the cost grows with the number of nodes") {
  for (const Cluster &cluster : presets()) {
    if (cluster.levels.size() < 2)
      continue;
    auto inner = static_cast<unsigned>(cluster.levels.size()) - 1;
    for (CollectiveKind kind : kinds)
      for (int64_t bytes : {1, 100000, 1 << 30}) {
        double previous = 0;
        for (int64_t nodes = 1; nodes <= 64; nodes *= 2) {
          GroupSpan span{{{inner - 1, nodes}, {inner, cluster.levels[inner].size}}};
          double seconds = collectiveSeconds(kind, span, bytes, cluster);
          INFO(cluster.name << " " << collectiveName(kind).str() << " of " << bytes << " bytes over " << nodes
                            << " nodes");
          // A torus gains a ring with its second level.
          if (cluster.levels[inner].topology != Topology::Torus || nodes > 2)
            CHECK(seconds >= previous);
          previous = seconds;
        }
      }
  }
}

TEST_CASE("AllReduce is no dearer than ReduceScatter and AllGather together, and no cheaper than either") {
  for (const Cluster &cluster : presets())
    for (const GroupSpan &span : spans(cluster))
      for (int64_t bytes : {1000, 1000000, 1000000000}) {
        double both = collectiveSeconds(CollectiveKind::ReduceScatter, span, bytes, cluster) +
                      collectiveSeconds(CollectiveKind::AllGather, span, bytes, cluster);
        CHECK(collectiveSeconds(CollectiveKind::AllReduce, span, bytes, cluster) <= both);
        CHECK(collectiveSeconds(CollectiveKind::AllReduce, span, bytes, cluster) >=
              collectiveSeconds(CollectiveKind::AllGather, span, bytes, cluster));
      }
}

TEST_CASE("inside a node is cheaper than between nodes") {
  for (const char *name : {"dgx-a100-80gb", "dgx-h100", "dgx-b200", "gb200-nvl72", "atlas-900-a2"}) {
    Cluster cluster = llvm::cantFail(loadCluster(name));
    for (CollectiveKind kind : kinds)
      for (int64_t bytes : {1000, 1000000, 1000000000})
        CHECK(collectiveSeconds(kind, GroupSpan{{{1, 8}}}, bytes, cluster) <
              collectiveSeconds(kind, GroupSpan{{{0, 8}}}, bytes, cluster));
  }
}
