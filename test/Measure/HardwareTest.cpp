// Hardware as measurements name it.
#include "Rows.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("hardware is a preset with the figures that its source states") {
  auto hardware = [](const char *name) { return readRows({throughputCells({{"hardware", name}})})[0]; };
  CHECK(hardware("NVIDIA H100 SXM").cluster == "dgx-h100");
  CHECK(hardware("NVIDIA GB200 NVL72").cluster == "gb200-nvl72");
  CHECK(hardware("NVIDIA A100-40GB (RoCE)").cluster == "dgx-a100-40gb");
  Measurement aws = hardware("AWS: 8x NVIDIA V100-16GB NVLink per host, 25 Gbps between hosts");
  CHECK(aws.cluster == "dgx1-v100-32gb");
  CHECK(aws.overrides ==
        std::vector<std::string>{"device.memory_bytes=15.78GiB", "level.node.bytes_per_second=25Gbit/s"});
  CHECK(readRows({throughputCells({{"gpus_per_node", "4"}})})[0].overrides ==
        std::vector<std::string>{"device.memory_bytes=79.25GiB", "level.device.size=4"});
  for (const char *name : {"A100 40 GB", "A100-SXM4-40G", "A100 40GiB, 200 Gb/s", "40GB A100, 80 GB host RAM"})
    CHECK(hardware(name).cluster == "dgx-a100-40gb");
  for (const char *name : {"A100 80 GB", "A100, 40 Gb/s between nodes", "A100, 40Gbps", "A100-80GB with 40GB host RAM",
                           "A100, 512 GB of host memory", "DGX A100, PCIe 4 to the host"})
    CHECK(hardware(name).cluster == "dgx-a100-80gb");
  CHECK(hardware("Tesla V100 16 GB").overrides == std::vector<std::string>{"device.memory_bytes=15.78GiB"});
}

TEST_CASE("memory is what the driver reports, not what the name rounds it to") {
  auto overridesOf = [](const char *name) { return readRows({throughputCells({{"hardware", name}})})[0].overrides; };
  using Overrides = std::vector<std::string>;
  CHECK(overridesOf("NVIDIA A100-40GB") == Overrides{"device.memory_bytes=39.5GiB"});
  CHECK(overridesOf("NVIDIA H100 80GB SXM") == Overrides{"device.memory_bytes=79.11GiB"});
  CHECK(overridesOf("H200 SXM") == Overrides{"device.memory_bytes=139.83GiB"});
  CHECK(overridesOf("DGX B200") == Overrides{"device.memory_bytes=178.35GiB"});
  CHECK(overridesOf("V100-SXM2-32GB") == Overrides{"device.memory_bytes=31.75GiB"});
  CHECK(overridesOf("NVIDIA GB200 NVL72").empty()); // no source is known
}

TEST_CASE("names of hardware are written together, too") {
  auto clusterOf = [](const char *name) { return readRows({throughputCells({{"hardware", name}})})[0].cluster; };
  CHECK(clusterOf("8xA100-80GB") == "dgx-a100-80gb");
  CHECK(clusterOf("DGXH100") == "dgx-h100");
  CHECK(clusterOf("Ascend910B") == "atlas-900-a2");
  CHECK(clusterOf("TPUv4") == "tpu-v4");
  CHECK(clusterOf("TPUv5p") == "tpu-v5p");
  CHECK(clusterOf("GH100").empty());
  CHECK(clusterOf("GB300").empty());
}

TEST_CASE("parts of a known name that no preset describes are left out") {
  auto reasonFor = [](const char *name) { return readRows({throughputCells({{"hardware", name}})})[0].leftOut; };
  for (const char *name : {"H100 PCIe", "NVIDIA H100 NVL 94GB"})
    CHECK(reasonFor(name) == "known is the H100 as SXM with NVLink, not as PCIe or NVL");
  CHECK(reasonFor("A100-PCIE-40GB") == "known is the A100 as SXM with NVLink, not as PCIe or NVL");
  CHECK(reasonFor("H200 NVL") == "known is the H200 as SXM with NVLink, not as PCIe or NVL");
  CHECK(reasonFor("A100-SXM-64GB") == "known is the A100 with 40 or 80 GB, not with 64");
  CHECK(reasonFor("H100 96GB SXM") == "known is the H100 with 80 GB, not with 96");
  CHECK(reasonFor("NVIDIA H100-80GB, NVLink").empty());
}
