// The embedded presets: all there, all readable, every figure with its source.
#include "apc/Cluster/Cluster.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

using namespace apc;

namespace {

Cluster load(const std::string &name) {
  llvm::Expected<Cluster> cluster = loadCluster(name);
  if (!cluster)
    FAIL(takeMessage(cluster.takeError()).second);
  return std::move(*cluster);
}

/// The paths of all figures that a cluster gives.
std::vector<std::string> figures(const Cluster &cluster) {
  std::vector<std::string> paths;
  for (const char *key :
       {"peak_flops_per_second", "peak_vector_flops_per_second", "memory_bytes", "memory_bytes_per_second",
        "launch_seconds", "collective_launch_seconds", "contraction_efficiency", "memory_efficiency"})
    paths.push_back(std::string("device.") + key);
  if (cluster.pool.device.graphLaunchSeconds > 0)
    paths.push_back("device.graph_launch_seconds");
  if (!cluster.pool.device.attentionEfficiency.points.empty())
    paths.push_back("device.attention_efficiency");
  if (!cluster.pool.device.tunedAttention.points.empty())
    paths.push_back("device.tuned_attention_efficiency");
  if (cluster.pool.device.narrowContractionShare < 1)
    paths.push_back("device.narrow_contraction_share");
  if (cluster.pool.device.multiprocessors > 0)
    paths.push_back("device.multiprocessors");
  if (cluster.pool.device.maskedAttentionShare < 1)
    paths.push_back("device.masked_attention_share");
  if (cluster.pool.device.speedVariation > 0)
    paths.push_back("device.speed_variation");
  if (cluster.pool.device.overlappedComputeShare < 1)
    paths.push_back("device.overlapped_compute_share");
  if (cluster.pool.device.overlappedCommunicationShare < 1)
    paths.push_back("device.overlapped_communication_share");
  if (cluster.pool.device.workspaceBytes)
    paths.push_back("device.workspace_bytes");
  if (cluster.pool.device.tf32ForF32)
    paths.push_back("device.tf32_for_f32");
  if (cluster.pool.device.bf16ForF32)
    paths.push_back("device.bf16_for_f32");
  for (size_t i = 0; i < cluster.pool.levels.size(); ++i) {
    std::string level = "level." + cluster.pool.levels[i].name + ".";
    for (const char *key : {"size", "bytes_per_second", "latency_seconds", "efficiency"})
      paths.push_back(level + key);
    if (cluster.pool.levels[i].bulkLatencySeconds != cluster.pool.levels[i].latencySeconds)
      paths.push_back(level + "bulk_latency_seconds");
    if (cluster.pool.levels[i].switchReductionEfficiency > 0) {
      paths.push_back(level + "switch_reduction_efficiency");
      paths.push_back(level + "switch_reduction_latency_seconds");
    }
  }
  if (cluster.pool.host.memoryBytes)
    paths.push_back("host.memory_bytes");
  if (cluster.pool.host.deviceBytesPerSecond > 0)
    paths.push_back("host.device_bytes_per_second");
  if (cluster.pool.host.storageBytes)
    paths.push_back("host.storage_bytes");
  if (cluster.pool.host.storageBytesPerSecond > 0)
    paths.push_back("host.storage_bytes_per_second");
  return paths;
}

} // namespace

TEST_CASE("all presets are there, sorted") {
  CHECK(presetNames() == std::vector<std::string>{"atlas-900-a2", "cpu-local", "dgx-a100-40gb", "dgx-a100-80gb",
                                                  "dgx-b200", "dgx-b300", "dgx-h100", "dgx-h200", "dgx1-v100-32gb",
                                                  "gb200-nvl72", "gb300-nvl72", "mi300x", "mi325x", "mi355x", "tpu-v4",
                                                  "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x"});
}

TEST_CASE("every figure of every preset has a source, and no source is without a figure") {
  for (const std::string &name : presetNames()) {
    INFO(name);
    Cluster cluster = load(name);
    CHECK(cluster.name == name);
    CHECK_FALSE(cluster.description.empty());
    std::set<std::string> sourced;
    for (const Figure &figure : cluster.figures) {
      INFO(figure.name);
      // How links are wired is part of what a level is; the level's other figures say whose description that is.
      if (llvm::StringRef(figure.name).ends_with(".topology") || llvm::StringRef(figure.name).ends_with(".shared"))
        continue;
      CHECK_FALSE(figure.source.empty());
      CHECK(sourced.insert(figure.name).second);
      // A document's public name, not somebody's file.
      CHECK_FALSE(llvm::StringRef(figure.source).starts_with("/"));
    }
    std::vector<std::string> given = figures(cluster);
    for (const std::string &figure : given) {
      INFO(figure);
      CHECK(sourced.count(figure) == 1);
    }
    CHECK(sourced.size() == given.size());
  }
}

TEST_CASE("presets are plausible: links get faster inwards, memory is faster than links") {
  for (const std::string &name : presetNames()) {
    INFO(name);
    Cluster cluster = load(name);
    for (size_t i = 1; i < cluster.pool.levels.size(); ++i) {
      CHECK(cluster.pool.levels[i].bytesPerSecond >= cluster.pool.levels[i - 1].bytesPerSecond);
      CHECK(cluster.pool.levels[i].latencySeconds <= cluster.pool.levels[i - 1].latencySeconds);
    }
    for (const Level &level : cluster.pool.levels)
      CHECK((level.shared || level.bytesPerSecond < cluster.pool.device.memoryBytesPerSecond));
    CHECK(cluster.pool.device.contractionEfficiency.isMonotoneInTime());
    CHECK(cluster.pool.device.memoryEfficiency.isMonotoneInTime());
  }
}

TEST_CASE("figures that plans stand on") {
  Cluster a100 = load("dgx-a100-80gb");
  CHECK(a100.pool.device.peakFlopsPerSecond.at(NumberFormat::BF16) == 312e12);
  CHECK(a100.pool.device.memoryBytes == 80000000000);
  CHECK(a100.pool.levels[1].size == 8);
  CHECK(a100.pool.levels[1].bytesPerSecond == 300e9);
  CHECK(a100.pool.levels[0].bytesPerSecond == 25e9);
  CHECK(load("gb200-nvl72").pool.levels[1].size == 72);
  CHECK(load("mi300x").pool.levels[1].peers == 7);
  CHECK(load("atlas-900-a2").pool.device.memoryBytes == int64_t(64) << 30);
  CHECK(load("dgx1-v100-32gb").pool.levels[0].shared);
}

TEST_CASE("unknown clusters list the presets; absent files are named") {
  llvm::Expected<Cluster> unknown = loadCluster("dgx-h10");
  REQUIRE_FALSE(static_cast<bool>(unknown));
  CHECK(takeMessage(unknown.takeError()).second == "unknown cluster 'dgx-h10': one of " +
                                                       llvm::join(presetNames(), ", ") +
                                                       " is expected, or the path of a .json file");
  llvm::Expected<Cluster> absent = loadCluster("no/such/file.json");
  REQUIRE_FALSE(static_cast<bool>(absent));
  auto [fault, message] = takeMessage(absent.takeError());
  CHECK(fault == Fault::Input);
  CHECK(llvm::StringRef(message).contains("no/such/file.json"));
}

TEST_CASE("a file is read by its path, and its name stands in errors") {
  {
    std::ofstream file("broken-cluster.json");
    file << "{\n\"name\": 3}";
  }
  llvm::Expected<Cluster> broken = loadCluster("broken-cluster.json");
  REQUIRE_FALSE(static_cast<bool>(broken));
  CHECK(takeMessage(broken.takeError()).second == "broken-cluster.json:2: name: a text is expected, not 3");
  std::remove("broken-cluster.json");
}
