// Clusters and runtimes as requests change them.
#include "apc/Planning/Planning.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("recorded ops are launched by no host") {
  PlanRequest request;
  request.cluster = "dgx-a100-80gb";
  request.runtime = "megatron-2021";
  request.devices = 8;
  Pool eager = llvm::cantFail(readTarget(request)).cluster.pool;
  CHECK(eager.runtime.dispatchSeconds > 0);
  CHECK(eager.device.launchSeconds == 5e-6);

  request.launches = LaunchMode::Graph;
  Pool recorded = llvm::cantFail(readTarget(request)).cluster.pool;
  CHECK(recorded.runtime.dispatchSeconds == 0);
  CHECK(recorded.device.launchSeconds == eager.device.graphLaunchSeconds);
  CHECK(recorded.runtime.name == "megatron-2021");
}
