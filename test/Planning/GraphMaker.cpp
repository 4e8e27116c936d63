// The cost model of graphs that are made by hand.
#include "GraphMaker.h"

#include <catch2/catch.hpp>

namespace apc {

CostModel modelOn(int64_t devices, Mesh &mesh) {
  llvm::Expected<Cluster> preset = loadCluster("dgx-a100-80gb");
  REQUIRE(bool(preset));
  llvm::Expected<Cluster> cluster = withDevices(*preset, devices);
  REQUIRE(bool(cluster));
  mesh = logicalMeshes(Mesh::fromLevels(cluster->pool.levelSizes()), 1).front();
  return CostModel(cluster->pool, mesh);
}

} // namespace apc
