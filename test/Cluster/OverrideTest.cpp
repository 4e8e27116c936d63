// Figures that a flag sets: what is understood, what is left alone, and what every mistake is answered with.
#include "../ErrorOf.h"
#include "apc/Cluster/Cluster.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

Cluster with(const std::vector<std::string> &overrides, const std::string &name = "dgx-a100-80gb") {
  llvm::Expected<Cluster> cluster = loadCluster(name, overrides);
  if (!cluster)
    FAIL(takeMessage(cluster.takeError()).second);
  return std::move(*cluster);
}

std::string overrideError(const std::vector<std::string> &overrides) {
  return inputErrorOf(loadCluster("dgx-a100-80gb", overrides));
}

const Figure &figureOf(const Cluster &cluster, const std::string &name) {
  for (const Figure &figure : cluster.figures)
    if (figure.name == name)
      return figure;
  FAIL("no figure " << name);
  return cluster.figures.front();
}

} // namespace

TEST_CASE("a figure is set, with units where it is of bytes, and nothing else changes") {
  CHECK(with({"device.memory_bytes=40GiB"}).pool.device.memoryBytes == int64_t(40) << 30);
  CHECK(with({"device.memory_bytes=8e10"}).pool.device.memoryBytes == 80000000000);
  CHECK(with({"level.node.bytes_per_second=25e9"}).pool.levels[0].bytesPerSecond == 25e9);
  CHECK(with({"level.device.bytes_per_second=150GB/s"}).pool.levels[1].bytesPerSecond == 150e9);
  CHECK(with({"level.device.bytes_per_second=150GB"}).pool.levels[0].bytesPerSecond == 25e9);
  CHECK(with({"level.device.size=4"}).pool.levels[1].size == 4);
  CHECK(with({"level.device.topology=mesh"}).pool.levels[1].peers == 7);
  CHECK(with({"level.node.shared=true"}).pool.levels[0].shared);
  CHECK(with({"host.storage_bytes_per_second=3GB/s"}).pool.host.storageBytesPerSecond == 3e9);
  CHECK(with({"device.launch_seconds=1e-6"}).pool.device.launchSeconds == 1e-6);
}

TEST_CASE("one number format of the peaks is set, the others stay") {
  Cluster cluster = with({"device.peak_flops_per_second.bf16=1e14", "device.peak_flops_per_second.f8=2e14"});
  CHECK(cluster.pool.device.peakFlopsPerSecond.at(NumberFormat::BF16) == 1e14);
  CHECK(cluster.pool.device.peakFlopsPerSecond.at(NumberFormat::F8) == 2e14);
  CHECK(cluster.pool.device.peakFlopsPerSecond.at(NumberFormat::F16) == 312e12);
  CHECK(llvm::StringRef(figureOf(cluster, "device.peak_flops_per_second").source)
            .ends_with("; bf16: --cluster-set; f8: --cluster-set"));
}

TEST_CASE("a curve is set as a list") {
  Cluster cluster = with({"device.memory_efficiency=[[1e6, 0.4], [1e8, 0.8]]"});
  CHECK(cluster.pool.device.memoryEfficiency.points == std::vector<std::pair<double, double>>{{1e6, 0.4}, {1e8, 0.8}});
}

TEST_CASE("what is set has the flag as its source, and the last setting wins") {
  Cluster cluster = with({"device.memory_bytes=40GiB", "device.memory_bytes=64GiB"});
  CHECK(cluster.pool.device.memoryBytes == int64_t(64) << 30);
  CHECK(figureOf(cluster, "device.memory_bytes").source == "--cluster-set");
  CHECK(cluster.figures.size() == with({}).figures.size());
}

TEST_CASE("a figure that is not given follows the one that stands in for it, and a level keeps its new name") {
  Cluster cluster = *parseCluster(R"({"name": "pair", "device": {"name": "chip", "peak_flops_per_second": {"f32": 1e12},
    "peak_vector_flops_per_second": {"f32": 5e11}, "memory_bytes": 16e9, "memory_bytes_per_second": 4e11,
    "launch_seconds": 2e-6},
    "levels": [{"name": "a", "size": 4, "bytes_per_second": 1e9, "latency_seconds": 1e-5}]})",
                                  "my.json",
                                  {"device.launch_seconds=3e-6", "level.a.latency_seconds=2e-5", "level.a.name=b",
                                   "level.b.bulk_latency_seconds=4e-5", "level.b.latency_seconds=5e-5"});
  CHECK(cluster.pool.device.collectiveLaunchSeconds == 3e-6);
  CHECK(cluster.pool.levels[0].latencySeconds == 5e-5);
  CHECK(cluster.pool.levels[0].bulkLatencySeconds == 4e-5);
  CHECK(cluster.pool.levels[0].switchReductionLatencySeconds == 4e-5);
  std::vector<std::string> names;
  for (const Figure &figure : cluster.figures)
    names.push_back(figure.name);
  CHECK(names == std::vector<std::string>{"device.peak_flops_per_second", "device.peak_vector_flops_per_second",
                                          "device.memory_bytes", "device.memory_bytes_per_second",
                                          "device.launch_seconds", "level.b.size", "level.b.bytes_per_second",
                                          "level.b.latency_seconds", "level.b.bulk_latency_seconds"});
}

TEST_CASE("a level that a cluster file does not describe so fully, and a host that it lacks, are completed") {
  const std::string text = R"({"name": "pair", "device": {"name": "chip", "peak_flops_per_second": {"f32": 1e12},
    "peak_vector_flops_per_second": {"f32": 5e11}, "memory_bytes": 16e9, "memory_bytes_per_second": 4e11,
    "launch_seconds": 2e-6},
    "levels": [{"name": "a.b", "size": 4, "bytes_per_second": 1e9, "latency_seconds": 1e-5}]})";
  llvm::Expected<Cluster> cluster =
      parseCluster(text, "my.json", {"level.a.b.efficiency=0.5", "host.memory_bytes=1TiB"});
  REQUIRE(static_cast<bool>(cluster));
  CHECK(cluster->pool.levels[0].efficiency == 0.5);
  CHECK(cluster->pool.host.memoryBytes == int64_t(1) << 40);
}

TEST_CASE("two levels of one name are refused, in a file and by a new name") {
  const std::string message = "two levels are called 'node'; pins and --cluster-set could not tell them apart";
  CHECK(overrideError({"level.device.name=node"}) == "--cluster-set level.device.name=node: " + message);
  const std::string text = R"({"name": "pair", "device": {"name": "chip", "peak_flops_per_second": {"f32": 1e12},
    "peak_vector_flops_per_second": {"f32": 5e11}, "memory_bytes": 16e9, "memory_bytes_per_second": 4e11,
    "launch_seconds": 2e-6},
    "levels": [{"name": "node", "size": 4, "bytes_per_second": 1e9, "latency_seconds": 1e-5},
               {"name": "node", "size": 4, "bytes_per_second": 1e9, "latency_seconds": 1e-5}]})";
  llvm::Expected<Cluster> cluster = parseCluster(text, "my.json");
  REQUIRE_FALSE(static_cast<bool>(cluster));
  CHECK(takeMessage(cluster.takeError()).second == "my.json:5: levels[1]: " + message);
}

TEST_CASE("two levels whose names are one word of pins are refused") {
  for (auto [first, second, word] :
       {std::tuple("a b", "a-b", "a-b"), {"a.b", "a b", "a-b"}, {"\xc3\xa9", "\xc3\xbc", "--"}}) {
    std::string text = R"({"name": "pair", "device": {"name": "chip", "peak_flops_per_second": {"f32": 1e12},
    "peak_vector_flops_per_second": {"f32": 5e11}, "memory_bytes": 16e9, "memory_bytes_per_second": 4e11,
    "launch_seconds": 2e-6}, "levels": [)";
    for (std::string name : {first, second})
      text += (name == first ? "" : ", ") + (R"({"name": ")" + name) +
              R"(", "size": 4, "bytes_per_second": 1e9, "latency_seconds": 1e-5})";
    llvm::Expected<Cluster> cluster = parseCluster(text + "]}", "my.json");
    REQUIRE_FALSE(static_cast<bool>(cluster));
    CHECK(llvm::StringRef(takeMessage(cluster.takeError()).second)
              .contains(std::string("two levels, '") + first + "' and '" + second + "', are both '" + word + "'"));
  }
}

TEST_CASE("rates that are implausibly small are refused: they are in bytes per second") {
  CHECK(
      overrideError({"level.node.bytes_per_second=25"}) ==
      "--cluster-set level.node.bytes_per_second=25: 25 bytes per second are implausibly few; write for instance 25e9 "
      "or 25GB/s");
  for (std::string value : {"25B/s", " 25", "200bps", "25 ", "25KB/s"}) {
    INFO(value);
    CHECK(llvm::StringRef(overrideError({"level.node.bytes_per_second=" + value})).contains("are implausibly few"));
  }
  CHECK(with({"level.node.bytes_per_second=25e9"}).pool.levels[0].bytesPerSecond == 25e9);
}

TEST_CASE("unknown keys list those that are accepted") {
  const std::string accepted = ": accepted are device.KEY, host.KEY and level.NAME.KEY, NAME one of node, device, for "
                               "instance device.memory_bytes or level.node.bytes_per_second";
  for (std::string key : {"memory_bytes", "chip.memory_bytes", "device", "device.", "device.memory_bytes.",
                          "level.node", "level.rack.size", "level..size", "level.node.", ".", "name"}) {
    INFO(key);
    CHECK(overrideError({key + "=1"}) == "--cluster-set " + key + accepted);
  }
  CHECK(overrideError({"host.memory=1"}) ==
        "--cluster-set host.memory=1: unknown key (memory_bytes, device_bytes_per_second, storage_bytes, "
        "storage_bytes_per_second are known)");
  CHECK(llvm::StringRef(overrideError({"level.node.latency_second=1"})).contains("did you mean 'latency_seconds'?"));
  CHECK(llvm::StringRef(overrideError({"device.peak_flops_per_second.fp16=1"})).contains("did you mean 'f16'?"));
  CHECK(
      llvm::StringRef(overrideError({"device.x.y=1"})).starts_with("--cluster-set device.x.y=1: unknown key (name, "));
  CHECK(overrideError({"device.memory_bytes.f16=1"}) ==
        "--cluster-set device.memory_bytes.f16=1: 'memory_bytes' has no parts such as 'f16'");
}

TEST_CASE("values that cannot be are refused with the unit") {
  for (std::string setting : {"", "=", "device.memory_bytes", "device.memory_bytes=", "=4"})
    CHECK(overrideError({setting}) ==
          "--cluster-set " + setting + ": accepted is KEY=VALUE, for instance device.memory_bytes=40GiB");
  CHECK(overrideError({"device.memory_bytes=lots"}) ==
        "--cluster-set device.memory_bytes: 'lots' is not a number of bytes; "
        "write for instance 1024, 512MiB, 76GiB or 80GB");
  CHECK(overrideError({"device.memory_bytes=-1"}) ==
        "--cluster-set device.memory_bytes=-1: a whole number above 0 and at most 1.15292e+18 is expected, in bytes, "
        "not -1.0");
  for (std::string value : {"nan", "inf", "1e999", "fast", "true", "[1]", "[", "5us"}) {
    INFO(value);
    CHECK(llvm::StringRef(overrideError({"level.node.latency_seconds=" + value}))
              .starts_with("--cluster-set level.node.latency_seconds=" + value +
                           ": a number above 0 and at most 1 is expected, in seconds, not "));
  }
  CHECK(llvm::StringRef(overrideError({"level.node.shared=yes"})).ends_with("true or false is expected, not \"yes\""));
  CHECK(llvm::StringRef(overrideError({"level.node.topology=star"}))
            .ends_with("switch, mesh or torus is expected, not \"star\""));
  CHECK(llvm::StringRef(overrideError({"level.device.size=1048576"})).contains("the sizes multiply to"));
  CHECK(
      llvm::StringRef(overrideError({"device.memory_efficiency=" + std::string(50000, '[') + std::string(50000, ']')}))
          .contains("a list of pairs [bytes, fraction] is expected"));
}

TEST_CASE("a fault of the file is told before one of the flag") {
  llvm::Expected<Cluster> cluster = parseCluster("{}", "my.json", {"x=1"});
  REQUIRE_FALSE(static_cast<bool>(cluster));
  CHECK(llvm::StringRef(takeMessage(cluster.takeError()).second).starts_with("my.json:1: "));
}

TEST_CASE("devices may be equally fast, where other figures are above 0") {
  CHECK(with({"device.speed_variation=0"}).pool.device.speedVariation == 0);
  CHECK(overrideError({"device.speed_variation=-0.1"}) ==
        "--cluster-set device.speed_variation=-0.1: a number from 0 to 1 is expected, not -0.1");
  CHECK(overrideError({"device.overlapped_compute_share=0"}) ==
        "--cluster-set device.overlapped_compute_share=0: a number above 0 and at most 1 is expected, not 0.0");
}
