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
        std::vector<std::string>{"device.memory_bytes=15.78GiB", "level.node.bytes_per_second=3125MB/s"});
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
  CHECK(overridesOf("NVIDIA GB200 NVL72").empty());                              // no source is known
  for (const char *name : {"NVIDIA H100 96GB HBM2e, 500 W", "H100 SXM (HBM2e)"}) // slower than that of 80 GB
    CHECK(overridesOf(name) == Overrides{"device.memory_bytes=95.04GiB", "device.memory_bytes_per_second=2.4TB/s",
                                         "device.peak_flops_per_second.bf16=9.12e14",
                                         "device.peak_flops_per_second.f16=9.12e14"});
}

TEST_CASE("a stated network replaces that of the preset") {
  auto networkOf = [](const char *name, const char *devicesOfNode = "8") {
    Measurement row = readRows({throughputCells({{"hardware", name}, {"gpus_per_node", devicesOfNode}})})[0];
    llvm::StringRef last;
    if (!row.overrides.empty())
      last = row.overrides.back();
    return last.consume_front("level.node.bytes_per_second=") ? last.str() : "";
  };
  CHECK(networkOf("A100-80GB SXM, DGX A100 (Selene): 8 GPU/node NVLink3+NVSwitch, 8x HDR200 IB HCA/node") ==
        "25000MB/s");
  CHECK(networkOf("A100-80GB SXM, Jean-Zay: 8 GPU/node NVLink3, 4x Omni-Path 100 Gb/s per node") == "6250MB/s");
  CHECK(networkOf("A100-40GB (8 GPUs per node; RoCE 1600 Gbps node-to-node)") == "25000MB/s");
  CHECK(networkOf("A100-80GB, 400 Gbps EFA per node") == "6250MB/s");
  CHECK(networkOf("A100-80GB, 400 Gbps EFA per node", "4") == "12500MB/s");
  CHECK(networkOf("A100, 100 Gb/s Ethernet") == "1563MB/s");
  CHECK(networkOf("H100 (Grand Teton, 8/node NVLink, RDMA 400 Gb/s per GPU)") == "50000MB/s");
  CHECK(networkOf("H100, 8x 400Gb/s") == "50000MB/s");
  CHECK(networkOf("H100, 4xEDR") == "6250MB/s");
  CHECK(networkOf("A100, 0.8 Tbps per node") == "12500MB/s");
  CHECK(networkOf("A100, 800Gb per node") == "12500MB/s");
  CHECK(networkOf("A100, TCP 100 gbps") == "1563MB/s");
  CHECK(networkOf("A100, 25GbE") == "391MB/s");
  CHECK(networkOf("A100, 10 Gbps network") == "156MB/s");
  CHECK(networkOf("V100-16GB, 25 Gbps between hosts") == "3125MB/s"); // its nodes have one link
  CHECK(networkOf("A100 80GB, 4x ConnectX-6 200 Gb/s") == "12500MB/s");
  CHECK(networkOf("A100 80GB, 4x Mellanox ConnectX-6 Dx 100 Gb/s") == "6250MB/s");
  CHECK(networkOf("4x A100 40GB, 4x Slingshot-11 200 Gb/s", "4") == "25000MB/s");
  CHECK(networkOf("4x A100 40GB, 2x Slingshot 11 200Gbps", "4") == "12500MB/s");
  CHECK(networkOf("A100 80GB, 2\xc3\x97 HDR InfiniBand") == "6250MB/s");
  CHECK(networkOf("8\xc3\x97"
                  "A100 80GB, 8 \xc3\x97 200 Gb/s") == "25000MB/s");
  CHECK(networkOf("A100 80GB, one HDR100 NIC per node") == "1563MB/s");
  CHECK(networkOf("A100 80GB, dual EDR") == "3125MB/s");
  CHECK(networkOf("A100 80GB, 100 Gbps RoCE") == "1563MB/s");
  CHECK(networkOf("A100 80GB, CLOS RoCE 200Gbps x8") == "25000MB/s");
  CHECK(networkOf("H100 80GB, 3.2Tbps InfiniBand") == "50000MB/s"); // more than an adapter has
  CHECK(networkOf("A100 80GB, 100 Gb/s x86 nodes") == "1563MB/s");  // no 86 adapters
  CHECK(networkOf("A100 80GB, 25 Gbps x86_64 servers") == "391MB/s");
  for (const char *name : {"A100 80GB, backbone HDR", "A100 80GB, none EDR", "A100 80GB, backbone 200 Gb/s"})
    CHECK(networkOf(name).empty());
  for (const char *name : {"A100 80GB per GPU", "A100 (600 GB/s)", "8x A100 80GB", "a single A100, HDR"})
    CHECK(networkOf(name).empty());
  for (const char *name : {"A100 (NVLink 600 GB/s per GPU)", "A100, IB HDR", "A100, 200 Gb/s InfiniBand", "A100-80GB",
                           "TPU v4, 100 Gb/s per host"})
    CHECK(networkOf(name).empty());
}

TEST_CASE("names of hardware are written together, too") {
  auto clusterOf = [](const char *name) { return readRows({throughputCells({{"hardware", name}})})[0].cluster; };
  CHECK(clusterOf("8xA100-80GB") == "dgx-a100-80gb");
  CHECK(clusterOf("DGXH100") == "dgx-h100");
  CHECK(clusterOf("Ascend910B") == "atlas-900-a2");
  CHECK(clusterOf("TPUv4") == "tpu-v4");
  CHECK(clusterOf("TPUv5p") == "tpu-v5p");
  CHECK(clusterOf("8x A100s 40 GB") == "dgx-a100-40gb");
  for (const char *name : {"NVIDIA A100 GPU-40GB", "A100-GPU-40G", "A100 gpu-40gb"})
    CHECK(clusterOf(name) == "dgx-a100-40gb");
  CHECK(clusterOf("H100SXM") == "dgx-h100");
  CHECK(clusterOf("DGX A100 320GB") == "dgx-a100-40gb");
  CHECK(clusterOf("DGX A100 640GB") == "dgx-a100-80gb");
  for (const char *other : {"NVIDIA RTX A1000", "A100X", "V100S", "TPU v4i"})
    CHECK(clusterOf(other).empty());
  CHECK(clusterOf("GH100").empty());
  CHECK(clusterOf("GB300") == "gb300-nvl72");
  CHECK(clusterOf("NVIDIA DGX B300") == "dgx-b300");
  CHECK(clusterOf("TPU v7x Ironwood") == "tpu-v7x");
  CHECK(clusterOf("TPU Trillium") == "tpu-v6e");
  CHECK(clusterOf("AMD MI355X") == "mi355x");
}

TEST_CASE("machines of clouds and vendors stand for their devices and networks") {
  auto hardware = [](const char *name) {
    Measurement row = readRows({throughputCells({{"hardware", name}})})[0];
    CHECK(row.leftOut.empty());
    std::string text = row.cluster;
    for (const std::string &figure : row.overrides)
      text += " " + llvm::StringRef(figure).split('=').second.str();
    return text;
  };
  for (const char *name : {"AWS p4d.24xlarge", "p4d", "AWS p4d.24xlarge (8x A100 40GB, 400 Gbps EFA)"})
    CHECK(hardware(name) == "dgx-a100-40gb 39.5GiB 6250MB/s");
  CHECK(hardware("AWS p4de.24xlarge") == "dgx-a100-80gb 79.25GiB 6250MB/s");
  CHECK(hardware("AWS p5.48xlarge") == "dgx-h100 79.11GiB 50000MB/s");
  CHECK(hardware("p5.48xlarge, 1600 Gbps EFA") == "dgx-h100 79.11GiB 25000MB/s"); // what a row says counts
  for (const char *name : {"GCP a3-megagpu-8g (H100)", "GCP a3-megagpu-8g, 8x H100 80GB", "a3-highgpu-8g"})
    CHECK(hardware(name) == "dgx-h100 79.11GiB");
  CHECK(hardware("a2-highgpu-8g, A100 40GB") == "dgx-a100-40gb 39.5GiB");
  CHECK(hardware("a2-ultragpu-8g") == "dgx-a100-80gb 79.25GiB");
  CHECK(hardware("a2-megagpu-16g, A100 40GB") == "dgx-a100-40gb 39.5GiB");
  CHECK(hardware("a3-ultragpu-8g") == "dgx-h200 139.83GiB");
  for (const char *name : {"TPU v5 lite pod", "v5litepod-256"})
    CHECK(hardware(name) == "tpu-v5e");
  CHECK(hardware("v4-1024") == "tpu-v4");
  CHECK(hardware("TPU7x") == "tpu-v7x");
  for (const char *name : {"Atlas 800T A2", "Atlas 900 A2 PODc", "Atlas 800T A2 (8x Ascend 910B3)"})
    CHECK(hardware(name) == "atlas-900-a2");
  CHECK(hardware("Azure NDm A100 v4") == "dgx-a100-80gb 79.25GiB");
}

TEST_CASE("memory of a node or of its host is not that of a device") {
  auto hardware = [](const char *name) { return readRows({throughputCells({{"hardware", name}})})[0]; };
  CHECK(hardware("HGX H100 8-GPU 640GB").cluster == "dgx-h100");
  CHECK(hardware("HGX A100 8-GPU (320 GB)").cluster == "dgx-a100-40gb");
  for (const char *name : {"8 GPUs, 512 GB RAM, A100 80GB", "512 GB DDR4, A100 80GB"})
    CHECK(hardware(name).cluster == "dgx-a100-80gb");
  for (const char *name : {"8 GPUs, 512 GB RAM, A100 40GB", "1024 GB of DRAM; A100-SXM4-40GB"})
    CHECK(hardware(name).cluster == "dgx-a100-40gb");
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
  CHECK(reasonFor("DGX H100 (640GB)").empty());
  CHECK(reasonFor("H100 96GB HBM2e").empty());
  CHECK(reasonFor("SXM H100 (95GB), HBM2e").empty());
}
