// Every formula of a collective against its closed form, worked by hand.
#include "apc/Cost/Collectives.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

using enum CollectiveAlgorithm;
using enum Protocol;

/// 8 nodes of 4 devices. Inside: 10 GB/s, messages of 1, 2 (mixed) and 4 us; between: 1 GB/s, 10, 20 and 40 us. A
/// collective starts in 5 us.
Pool makePool() {
  Pool pool;
  Level node{.name = "node", .size = 8, .bytesPerSecond = 1e9, .latencySeconds = 1e-5, .bulkLatencySeconds = 4e-5};
  Level device{.name = "device", .size = 4, .bytesPerSecond = 1e10, .latencySeconds = 1e-6, .bulkLatencySeconds = 4e-6};
  pool.levels = {node, device};
  pool.device.collectiveLaunchSeconds = 5e-6;
  return pool;
}

/// Three rings of 4, 10 GB/s and 1 us each.
Pool makeTorus() {
  Pool pool;
  Level ring{.name = "ring", .size = 4, .bytesPerSecond = 1e10, .latencySeconds = 1e-6, .bulkLatencySeconds = 1e-6};
  ring.topology = Topology::Torus;
  pool.levels = {ring, ring, ring};
  return pool;
}

const GroupSpan inside{{{1, 4}}};
const GroupSpan between{{{0, 8}}};
const GroupSpan both{{{0, 8}, {1, 4}}};

/// In microseconds, so that figures read like the comments.
double cost(CollectiveAlgorithm algorithm, Protocol protocol, CollectiveKind kind, const GroupSpan &span, int64_t bytes,
            const Pool &pool) {
  std::optional<double> seconds = algorithmSeconds(algorithm, protocol, kind, span, bytes, pool);
  REQUIRE(seconds.has_value());
  return *seconds * 1e6;
}

bool applies(CollectiveAlgorithm algorithm, CollectiveKind kind, const GroupSpan &span, const Pool &pool) {
  return algorithmSeconds(algorithm, Bulk, kind, span, 1000, pool).has_value();
}

} // namespace

TEST_CASE("ring on one level") {
  Pool pool = makePool();
  // 5 + 3 hops * 4 us + 3/4 * 4 MB / 10 GB/s = 5 + 12 + 300
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, inside, 4000000, pool) == Approx(317));
  CHECK(cost(Ring, Bulk, CollectiveKind::ReduceScatter, inside, 4000000, pool) == Approx(317));
  // Both passes: 5 + 2 * (12 + 300)
  CHECK(cost(Ring, Bulk, CollectiveKind::AllReduce, inside, 4000000, pool) == Approx(629));
  // Half the bandwidth, hops of 1 us: 5 + 2 * (3 + 600)
  CHECK(cost(Ring, LowLatency, CollectiveKind::AllReduce, inside, 4000000, pool) == Approx(1211));
  // 0.92 of the bandwidth, hops of sqrt(1 * 4) = 2 us: 5 + 2 * (6 + 300 / 0.92)
  CHECK(cost(Ring, Mixed, CollectiveKind::AllReduce, inside, 4000000, pool) == Approx(5 + 2 * (6 + 300 / 0.92)));
  CHECK_FALSE(applies(Ring, CollectiveKind::AllToAll, inside, pool));
  CHECK_FALSE(applies(Ring, CollectiveKind::Permute, inside, pool));
}

TEST_CASE("ring over two levels: four rings side by side cross the nodes") {
  Pool pool = makePool();
  // Of 31 hops 7 cross nodes (40 us), 24 do not (4 us): 376 us. 31/32 * 32 MB is 31 MB: between nodes over 4 links of
  // 1 GB/s 7750 us, inside at 10 GB/s 3100 us, at the same time. 5 + 376 + 7750
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, both, 32000000, pool) == Approx(8131));
  CHECK(cost(Ring, Bulk, CollectiveKind::AllReduce, both, 32000000, pool) == Approx(5 + 2 * (376 + 7750)));
}

TEST_CASE("tree: a chain inside, a binary tree between") {
  Pool pool = makePool();
  // Depth 3 * 4 us + log2(8) * 40 us = 132 us; 31/32 * 3.68 MB / (0.92 * 4 * 1 GB/s) = 968.75 us; up, down.
  CHECK(cost(Tree, Bulk, CollectiveKind::AllReduce, both, 3680000, pool) == Approx(5 + 2 * (132 + 968.75)));
  // Six nodes need as many levels as eight: ceil(log2(6)) = 3. 5/6 * 0.92 MB / 0.92 GB/s
  CHECK(cost(Tree, Bulk, CollectiveKind::AllReduce, GroupSpan{{{0, 6}}}, 920000, pool) ==
        Approx(5 + 2 * (120 + 5000.0 / 6)));
  CHECK_FALSE(applies(Tree, CollectiveKind::AllReduce, inside, pool));
  // One pass.
  CHECK(cost(Tree, Bulk, CollectiveKind::AllGather, both, 3680000, pool) == Approx(5 + 132 + 968.75));
  CHECK_FALSE(applies(Tree, CollectiveKind::AllToAll, both, pool));
  CHECK_FALSE(applies(Tree, CollectiveKind::AllReduce, GroupSpan{{{0, 4}, {1, 4}}}, makeTorus()));
}

TEST_CASE("hierarchical: level after level, the outer one with what the inner one left") {
  Pool pool = makePool();
  // Inside: 3 * 4 + 3/4 * 32 MB / 10 GB/s = 12 + 2400. Between, with a quarter: 7 * 40 + 7/8 * 8 MB / 1 GB/s = 280 +
  // 7000. Together 9692.
  CHECK(cost(Hierarchical, Bulk, CollectiveKind::ReduceScatter, both, 32000000, pool) == Approx(9697));
  CHECK(cost(Hierarchical, Bulk, CollectiveKind::AllReduce, both, 32000000, pool) == Approx(5 + 2 * 9692));
  CHECK_FALSE(applies(Hierarchical, CollectiveKind::AllReduce, inside, pool));
}

TEST_CASE("all-to-all, direct and hierarchical") {
  Pool pool = makePool();
  // One level: 5 + 4 (start) + 3 messages * 1 us + 3/4 * 4 MB / 10 GB/s
  CHECK(cost(Direct, Bulk, CollectiveKind::AllToAll, inside, 4000000, pool) == Approx(5 + 4 + 3 + 300));
  // 28 of 31 messages leave the node (10 us), 3 do not (1 us). 7/8 of 32 MB leave over the device's 1 GB/s: 28000 us;
  // the rest, 3/4 of the remaining eighth, is faster. 5 + 40 + 283 + 28000
  CHECK(cost(Direct, Bulk, CollectiveKind::AllToAll, both, 32000000, pool) == Approx(28328));
  // Inside 4 + 3 + 2400, between 40 + 70 + 28000.
  CHECK(cost(Hierarchical, Bulk, CollectiveKind::AllToAll, both, 32000000, pool) == Approx(5 + 2407 + 28110));
  // Few bytes: 5 + 10 + 283 against 5 + (1 + 3) + (10 + 70), in the low-latency protocol; 32 bytes take 0.04 us.
  CollectiveCost small = collectiveCost(CollectiveKind::AllToAll, both, 32, pool);
  CHECK(small.algorithm == Hierarchical);
  CHECK(small.seconds * 1e6 == Approx(89).margin(0.1));
}

TEST_CASE("permute sends one message over the slowest level") {
  Pool pool = makePool();
  CHECK(cost(Direct, Bulk, CollectiveKind::Permute, inside, 1000000, pool) == Approx(5 + 4 + 100));
  CHECK(cost(Direct, Bulk, CollectiveKind::Permute, both, 1000000, pool) == Approx(5 + 40 + 1000));
  CHECK_FALSE(applies(Hierarchical, CollectiveKind::Permute, both, pool));
}

TEST_CASE("efficiency scales bandwidth; a shared link is divided among the devices below") {
  Pool pool = makePool();
  pool.levels[1].efficiency = 0.5;
  // 5 + 12 + 3/4 * 4 MB / 5 GB/s
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, inside, 4000000, pool) == Approx(617));
  pool.levels[0].shared = true;
  // Each of a node's 4 devices has a quarter of 1 GB/s: 5 + 280 + 7/8 * 1 MB / 0.25 GB/s
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, between, 1000000, pool) == Approx(5 + 280 + 3500));
  // A group of whole nodes has all of it: 5 + 376 + 31 MB / 1 GB/s
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, both, 32000000, pool) == Approx(5 + 376 + 31000));
}

TEST_CASE("a mesh of links gives a group its own links only") {
  Pool pool = makePool();
  pool.levels[1].topology = Topology::Mesh;
  pool.levels[1].peers = 3;
  // Two of four use 1 of 3 links: 5 + 4 + 1/2 * 1 MB / 3.33 GB/s
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, GroupSpan{{{1, 2}}}, 1000000, pool) == Approx(5 + 4 + 150));
  CHECK(cost(Ring, Bulk, CollectiveKind::AllGather, inside, 4000000, pool) == Approx(317));
  CHECK(cost(Direct, Bulk, CollectiveKind::Permute, inside, 1000000, pool) == Approx(5 + 4 + 300));
}

TEST_CASE("the switch reduces: each device sends and receives the buffer once") {
  Pool pool = makePool();
  CHECK_FALSE(applies(Switch, CollectiveKind::AllReduce, inside, pool));
  pool.levels[1].efficiency = 0.8;
  pool.levels[1].switchReductionEfficiency = 0.6;
  pool.levels[1].switchReductionLatencySeconds = 3e-5;
  // 5 + 30 + 6 MB / (0.6 * 10 GB/s), however many devices.
  CHECK(cost(Switch, Bulk, CollectiveKind::AllReduce, inside, 6000000, pool) == Approx(1035));
  CHECK(cost(Switch, Bulk, CollectiveKind::AllReduce, GroupSpan{{{1, 3}}}, 6000000, pool) == Approx(1035));
  CHECK(cost(Switch, Bulk, CollectiveKind::AllGather, inside, 6000000, pool) == Approx(1035));
  CHECK_FALSE(applies(Switch, CollectiveKind::AllToAll, inside, pool));
  CHECK_FALSE(applies(Switch, CollectiveKind::AllReduce, both, pool));
}

TEST_CASE("a torus uses all its rings at once; all-to-all pays for distance") {
  Pool pool = makeTorus();
  GroupSpan plane{{{0, 4}, {1, 4}}};
  // 2 * (3 + 3 hops + 15/16 * 16 MB / 20 GB/s) = 2 * (6 + 750)
  CHECK(cost(AllRings, Bulk, CollectiveKind::AllReduce, plane, 16000000, pool) == Approx(1512));
  CHECK(collectiveCost(CollectiveKind::AllReduce, plane, 16000000, pool).algorithm == AllRings);
  // Mean distance floor(16 / 4) / 4 = 1 instead of 3/4: 1 + 3 + 4 MB / 10 GB/s
  CHECK(cost(Direct, Bulk, CollectiveKind::AllToAll, GroupSpan{{{2, 4}}}, 4000000, pool) == Approx(404));
  // Messages to other rows go along the column, too, and the other way round: both rings carry everything.
  CHECK(cost(Direct, Bulk, CollectiveKind::AllToAll, plane, 4000000, pool) == Approx(1 + 15 + 400));
  // One direction of the ring: 1 + 1 MB / 5 GB/s
  CHECK(cost(Direct, Bulk, CollectiveKind::Permute, GroupSpan{{{2, 4}}}, 1000000, pool) == Approx(201));
  CHECK_FALSE(applies(AllRings, CollectiveKind::AllReduce, GroupSpan{{{2, 4}}}, pool));
}

TEST_CASE("the cheapest algorithm and protocol are taken") {
  Pool pool = makePool();
  for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
                              CollectiveKind::AllReduce, CollectiveKind::Permute})
    for (const GroupSpan &span : {inside, between, both})
      for (int64_t bytes : {1, 1000, 1000000, 1000000000}) {
        double best = collectiveSeconds(kind, span, bytes, pool);
        bool isFound = false;
        for (CollectiveAlgorithm algorithm : {Ring, Tree, Hierarchical, Switch, AllRings, Direct})
          for (Protocol protocol : {LowLatency, Mixed, Bulk})
            if (auto seconds = algorithmSeconds(algorithm, protocol, kind, span, bytes, pool)) {
              CHECK(best <= *seconds);
              isFound |= best == *seconds;
            }
        CHECK(isFound);
      }
  CHECK(collectiveCost(CollectiveKind::AllReduce, both, 8, pool).algorithm == Tree);
  CHECK(collectiveCost(CollectiveKind::AllReduce, both, 8, pool).protocol == LowLatency);
  CHECK(collectiveCost(CollectiveKind::AllReduce, both, 1000000000, pool).algorithm == Ring);
  CHECK(collectiveCost(CollectiveKind::AllReduce, both, 1000000000, pool).protocol == Bulk);
}

TEST_CASE("groups of one and slices cost nothing") {
  Pool pool = makePool();
  CHECK(collectiveSeconds(CollectiveKind::AllReduce, GroupSpan{}, 1000, pool) == 0);
  CHECK(collectiveSeconds(CollectiveKind::AllReduce, GroupSpan{{{0, 1}, {1, 1}}}, 1000, pool) == 0);
  CHECK(collectiveSeconds(CollectiveKind::Slice, both, 1000, pool) == 0);
  CHECK(GroupSpan{}.size() == 1);
  CHECK(both.size() == 32);
  // Ways of one beside others change nothing.
  CHECK(collectiveSeconds(CollectiveKind::AllReduce, GroupSpan{{{0, 1}, {1, 4}}}, 1000, pool) ==
        collectiveSeconds(CollectiveKind::AllReduce, inside, 1000, pool));
}
