// Number formats, efficiency curves, and cutting a cluster to a job.
#include "../ErrorOf.h"
#include "apc/Cluster/ScaledPool.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Levels of the given sizes; the innermost is called "device", the others "node".
Cluster makeCluster(llvm::ArrayRef<int64_t> sizes) {
  Cluster cluster;
  cluster.name = "test";
  for (size_t i = 0; i < sizes.size(); ++i) {
    Level level;
    level.name = i + 1 == sizes.size() ? "device" : "node";
    level.size = sizes[i];
    cluster.pool.levels.push_back(level);
  }
  return cluster;
}

std::vector<int64_t> cutSizes(llvm::ArrayRef<int64_t> sizes, int64_t count, std::string *note = nullptr) {
  llvm::Expected<Cluster> cut = withDevices(makeCluster(sizes), count, note);
  REQUIRE(static_cast<bool>(cut));
  CHECK(cut->pool.numDevices() == count);
  llvm::SmallVector<int64_t, 4> levels = cut->pool.levelSizes();
  return {levels.begin(), levels.end()};
}

std::string cutError(int64_t count) { return inputErrorOf(withDevices(makeCluster({128, 8}), count)); }

} // namespace

TEST_CASE("number formats and topologies have the names of documents") {
  CHECK(numberFormatName(NumberFormat::F64) == "f64");
  CHECK(numberFormatName(NumberFormat::F8) == "f8");
  CHECK(numberFormatName(NumberFormat::Other) == "other");
  CHECK(enumNames(Topology::Switch)[static_cast<size_t>(Topology::Torus)] == "torus");
}

TEST_CASE("one figure is scaled, and the others stay") {
  Pool pool = loadCluster("dgx-a100-80gb")->pool;
  ScalableFigure outer{FigureKind::LinkRate, 0}, links{FigureKind::LinkRate, std::nullopt};
  CHECK(outer.name(pool) == "level.node.bytes_per_second");
  CHECK(outer.value(pool) == 25e9);
  CHECK(scaled(pool, outer, 2).levels[0].bytesPerSecond == 50e9);
  CHECK(scaled(pool, outer, 2).levels[1].bytesPerSecond == 300e9);
  CHECK(links.name(pool) == "bytes_per_second of all links");
  CHECK_FALSE(links.value(pool));
  CHECK(scaled(pool, links, 2).levels[1].bytesPerSecond == 600e9);
  CHECK(scaled(pool, links, 2).device.memoryBytesPerSecond == pool.device.memoryBytesPerSecond);
  ScalableFigure memory{FigureKind::MemorySize, std::nullopt}, compute{FigureKind::ComputeRate, std::nullopt};
  CHECK(memory.name(pool) == "device.memory_bytes");
  CHECK(memory.value(pool) == 80e9);
  CHECK(scaled(pool, memory, 0.5).device.memoryBytes == 40000000000);
  CHECK(compute.name(pool) == "device.peak_flops_per_second");
  CHECK_FALSE(compute.value(pool));
  Pool faster = scaled(pool, compute, 2);
  CHECK(faster.device.peakFlopsPerSecond.at(NumberFormat::BF16) == 624e12);
  CHECK(faster.device.peakVectorFlopsPerSecond.at(NumberFormat::F32) ==
        2 * pool.device.peakVectorFlopsPerSecond.at(NumberFormat::F32));
  CHECK(faster.device.memoryBytes == pool.device.memoryBytes);
}

TEST_CASE("a curve is linear in the logarithm of the size and constant outside") {
  EfficiencyCurve curve{{{1e6, 0.3}, {1e8, 0.5}}};
  CHECK(curve.at(1) == 0.3);
  CHECK(curve.at(1e6) == 0.3);
  CHECK(curve.at(1e7) == Approx(0.4));
  CHECK(curve.at(1e8) == 0.5);
  CHECK(curve.at(1e12) == 0.5);
  CHECK(EfficiencyCurve{}.at(5) == 1);
}

TEST_CASE("a curve is monotone in time when its slope is at most its value") {
  // ln(10) = 2.303: from 0.1 the fraction may rise by 0.2303 over a decade.
  CHECK(EfficiencyCurve{{{1, 0.1}, {10, 0.33}}}.isMonotoneInTime());
  CHECK_FALSE(EfficiencyCurve{{{1, 0.1}, {10, 0.34}}}.isMonotoneInTime());
  EfficiencyCurve steepest{{{1, 0.1}, {10, 0.33}}};
  double previous = 0;
  for (double size = 1; size < 20; size *= 1.01) {
    CHECK(size / steepest.at(size) > previous);
    previous = size / steepest.at(size);
  }
}

TEST_CASE("devices fill the inner levels first") {
  std::string note;
  CHECK(cutSizes({128, 8}, 64, &note) == std::vector<int64_t>{8, 8});
  CHECK(note.empty());
  CHECK(cutSizes({128, 8}, 1024) == std::vector<int64_t>{128, 8});
  CHECK(cutSizes({128, 8}, 48) == std::vector<int64_t>{6, 8});
  CHECK(cutSizes({128, 8}, 6, &note) == std::vector<int64_t>{1, 6});
  CHECK(note.empty());
  CHECK(cutSizes({128, 8}, 1) == std::vector<int64_t>{1, 1});
  CHECK(cutSizes({2, 16, 16, 16}, 512) == std::vector<int64_t>{1, 2, 16, 16});
}

TEST_CASE("device counts that do not fill nodes use all devices and say so") {
  std::string note;
  CHECK(cutSizes({128, 8}, 12, &note) == std::vector<int64_t>{2, 6});
  CHECK(
      note ==
      "12 devices are taken as 2 nodes with 6 devices each (the other 2 of each node are not yours); 1 node with 8 and "
      "a last one with 4 cannot be planned");
  CHECK(cutSizes({128, 8}, 13, &note) == std::vector<int64_t>{13, 1});
  CHECK(
      note ==
      "13 devices are taken as 13 nodes with 1 device each (the other 7 of each node are not yours); 1 node with 8 and "
      "a last one with 5 cannot be planned");
  CHECK(cutSizes({128, 8}, 100, &note) == std::vector<int64_t>{20, 5});
}

TEST_CASE("counts below that may be faster are known") {
  auto fewer = [](std::vector<int64_t> sizes, int64_t count) {
    auto counts = fewerCounts(makeCluster(sizes), count);
    return std::vector<int64_t>(counts.begin(), counts.end());
  };
  CHECK(fewer({128, 8}, 62) == std::vector<int64_t>{56, 48, 40, 32});
  CHECK(fewer({128, 8}, 24) == std::vector<int64_t>{16, 14});   // 20 are 4 nodes with 5; 12 divide 24
  CHECK(fewer({128, 8}, 13) == std::vector<int64_t>{10, 8, 7}); // 12 are 6 in each of 2 nodes, and one has but 5
  CHECK(fewer({128, 8}, 2000) == std::vector<int64_t>{1792, 1536, 1280, 1024}); // whole nodes, if more than there are
  CHECK(fewer({128, 8}, 64).empty());
  CHECK(fewer({128, 8}, 7) == std::vector<int64_t>{6, 5, 4});
  CHECK(fewer({64}, 13) == std::vector<int64_t>{12, 10, 8, 7});
  CHECK(fewer({2, 16, 16}, 300) == std::vector<int64_t>{288, 256, 224, 192, 160});
  CHECK(fewer({2, 16, 16}, 272) == std::vector<int64_t>{256, 224, 192, 160}); // 17 rings of 16
  CHECK(fewer({2, 16, 16}, 270) == std::vector<int64_t>{256, 224, 192, 160}); // the same for both levels
}

TEST_CASE("the outermost level grows where it must, and says so") {
  std::string note;
  CHECK(cutSizes({4, 8}, 64, &note) == std::vector<int64_t>{8, 8});
  CHECK(note == "8 nodes are more than the 4 that cluster 'test' describes; they are taken to be linked alike");
  CHECK(cutSizes({8}, 9, &note) == std::vector<int64_t>{9});
  CHECK_FALSE(note.empty());
}

TEST_CASE("every count up to 600 is cut to exactly that many devices within the nodes") {
  for (int64_t count = 1; count <= 600; ++count) {
    std::vector<int64_t> sizes = cutSizes({128, 8}, count);
    CHECK(sizes[1] <= 8);
    for (int64_t larger = sizes[1] + 1; larger <= 8; ++larger)
      CHECK(count % larger != 0);
  }
}

TEST_CASE("counts that no cluster has are refused") {
  CHECK(cutError(0) == "0 devices: a number from 1 to 1048576 is expected");
  CHECK(cutError(-4) == "-4 devices: a number from 1 to 1048576 is expected");
  CHECK(cutError((int64_t(1) << 20) + 1) == "1048577 devices: a number from 1 to 1048576 is expected");
  CHECK(static_cast<bool>(withDevices(makeCluster({128, 8}), int64_t(1) << 20)));
}

TEST_CASE("the slowest of more devices is slower") {
  Cluster cluster = makeCluster({128, 8});
  auto shareOf = [&](int64_t count) { return withDevices(cluster, count)->pool.device.slowestShare; };
  CHECK(shareOf(1024) == 1); // all are equally fast
  cluster.pool.device.speedVariation = 0.015;
  CHECK(shareOf(1) == 1);
  // The mean of the greatest of n standard normal numbers: 0.564, 1.424 and 3.243 (Harter 1961, table 1).
  CHECK(1 / shareOf(2) - 1 == Approx(0.015 * 0.564).epsilon(0.05));
  CHECK(1 / shareOf(8) - 1 == Approx(0.015 * 1.424).epsilon(0.01));
  CHECK(1 / shareOf(1024) - 1 == Approx(0.015 * 3.243).epsilon(0.01));
  llvm::Expected<Cluster> again = withDevices(*withDevices(cluster, 1024), 8);
  CHECK(again->pool.device.slowestShare == shareOf(8));
}
