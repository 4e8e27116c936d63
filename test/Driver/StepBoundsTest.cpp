// Plans and bounds of steps that are more than the sum of their ops: at the pace of the host, and beside collectives.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/PlanModel.h"

#include <catch2/catch.hpp>

using namespace apc;

static PlanRequest stepOf(const Sample &sample, int64_t batch) {
  PlanRequest request = requestOf(sample);
  request.mode = StepMode::Train;
  request.loss = "cross-entropy:logits";
  request.globalBatch = batch;
  request.microBatch = batch;
  request.recompute = RecomputeChoice::None;
  return request;
}

TEST_CASE("A step at the pace of its host is proven, for no strategies take fewer launches") {
  PlanRequest request = stepOf({"tiny/training/gpt/model.onnx", 1, "dgx-a100-80gb"}, 8);
  request.runtime = "torch-eager";
  const Plan plan = valueOf(searchModel(request, controlOf()));
  REQUIRE(plan.hostSeconds > 0.1 * plan.stepSeconds);
  CHECK(plan.gap < 1e-9);
  CHECK(plan.status == PlanStatus::Optimal);
}

TEST_CASE("A plan beside which collectives run is no slower than the one in turn with collectives beside its ops") {
  for (int64_t devices : {2, 4}) {
    PlanRequest request = stepOf({"tiny/training/gpt/model.onnx", devices, "cpu-local"}, 12);
    request.optimizer = OptimizerChoice::Sgd;
    const Plan inTurn = valueOf(searchModel(request, controlOf()));
    REQUIRE(inTurn.overlappedSeconds);
    request.overlap = true;
    const Plan beside = valueOf(searchModel(request, controlOf()));
    CHECK(beside.stepSeconds <= *inTurn.overlappedSeconds * (1 + 1e-9));
    CHECK(beside.lowerBoundSeconds <= beside.stepSeconds * (1 + 1e-9));
  }
}
