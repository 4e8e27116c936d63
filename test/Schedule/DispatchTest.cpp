// Steps whose host launches slower than their device computes.
#include "apc/Schedule/ScheduleStep.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Two ops of 10 us each and collectives of 5 us, with a host that takes `dispatch` for each op.
StepTime timeOf(double dispatch) {
  Pool pool = llvm::cantFail(loadCluster("cpu-local")).pool;
  CostModel model(pool, Mesh::fromLevels(pool.levelSizes()));
  OpCost op;
  op.memorySeconds = 1e-5;
  op.dispatchSeconds = dispatch;
  GraphCost cost;
  cost.ops = {op, op};
  cost.computeSeconds = 2e-5;
  cost.communicationSeconds = 5e-6;
  return stepTime(OpGraph(), cost, model);
}

} // namespace

TEST_CASE("a fast host is hidden behind the device") {
  StepTime time = timeOf(1e-5);
  CHECK(time.seconds == Approx(2.5e-5));
  CHECK(time.computeSeconds == Approx(2e-5));
  CHECK(time.hostSeconds == 0);
}

TEST_CASE("a device waits for the launches of a slow host") {
  StepTime time = timeOf(4e-5);
  CHECK(time.seconds == Approx(8e-5));
  CHECK(time.computeSeconds == Approx(2e-5));
  CHECK(time.exposedCommunicationSeconds == Approx(5e-6));
  CHECK(time.hostSeconds == Approx(5.5e-5));
}
