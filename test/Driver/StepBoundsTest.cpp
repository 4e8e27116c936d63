// Plans and bounds of steps that are more than the sum of their ops: at the pace of the host, beside collectives, and
// in buckets that are not full.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Plan/PlanJson.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

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

TEST_CASE("A plan whose buckets are not full is the same on a machine that takes longer over it") {
  PlanRequest request = stepOf({"tiny/training/moe/model.onnx", 4, "cpu-local"}, 32);
  request.timeLimitSeconds = 10; // of which a fiftieth pays for further searches
  auto textOf = [&](std::chrono::milliseconds pause) {
    PlanningControl control = controlOf();
    control.search = [=](const SearchProgress &) { std::this_thread::sleep_for(pause); };
    Plan plan = valueOf(searchModel(request, control));
    plan.timing = {};
    return printPlan(plan);
  };
  CHECK(textOf(std::chrono::milliseconds(0)) == textOf(std::chrono::milliseconds(30)));
}
