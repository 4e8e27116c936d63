// Points of one request share the steps that they have in common.
#include "../../lib/Driver/Points/StepsAtHand.h"
#include "../ValueOf.h"
#include "Samples.h"

using namespace apc;

static PlanRequest stepOfGpt(int64_t microBatch) {
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", 4});
  request.mode = StepMode::Train;
  request.loss = "cross-entropy:logits";
  request.globalBatch = 16;
  request.microBatch = microBatch;
  request.recompute = RecomputeChoice::None;
  return request;
}

TEST_CASE("Points that differ in ZeRO, schedule or workers share one step; others have one of their own") {
  StepsAtHand steps;
  WorkClock clock(60);
  PlanRequest request = stepOfGpt(8);
  StepsAtHand::Step first = valueOf(steps.of(request, clock));
  PlanRequest same = request;
  same.zero = ZeroChoice::Stage1;
  same.memoryLimitBytes = 1 << 20;
  CHECK(valueOf(steps.of(same, clock)) == first);
  CHECK(first->graph.microBatches() == 2);

  PlanRequest smaller = request;
  smaller.microBatch = 4;
  StepsAtHand::Step second = valueOf(steps.of(smaller, clock));
  CHECK(second->graph.microBatches() == 4);
  CHECK(valueOf(steps.of(request, clock)) == first); // still at hand

  PlanRequest recomputed = request;
  recomputed.recompute = RecomputeChoice::Full;
  CHECK(valueOf(steps.of(recomputed, clock))->graph.ops.size() > first->graph.ops.size());

  PlanRequest two = request, four = request;
  two.pipeline = {2};
  four.pipeline = {4};
  CHECK(valueOf(steps.of(two, clock)) == valueOf(steps.of(four, clock)));
}

TEST_CASE("A step that cannot be built is no step at hand: its error comes each time") {
  StepsAtHand steps;
  WorkClock clock(60);
  PlanRequest request = stepOfGpt(5);
  for (int time = 0; time < 2; ++time)
    CHECK(takeMessage(steps.of(request, clock).takeError()).second ==
          "--global-batch 16 cannot be cut into micro-batches of 5: a multiple of 5 is accepted, or a --micro-batch "
          "that divides 16");
}
