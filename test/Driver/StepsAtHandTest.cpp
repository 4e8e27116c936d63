// Points of one request share the steps that they have in common.
#include "../../lib/Driver/Points/StepsAtHand.h"
#include "../../lib/Driver/Points/SecondsOnOne.h"
#include "../ValueOf.h"
#include "Samples.h"

#include <set>

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

namespace {

PlanRequest stepOf(const std::string &model, const std::string &loss, int64_t length) {
  PlanRequest request = requestOf({model, 8, "dgx-h100"});
  request.mode = StepMode::Train;
  request.loss = loss;
  request.globalBatch = request.microBatch = 8;
  if (length > 0)
    request.dims["seq"] = length;
  return request;
}

const RecomputeSetting policies[] = {RecomputeChoice::None, RecomputeChoice::Norms,    RecomputeChoice::Attention,
                                     RecomputeChoice::Mlp,  RecomputeChoice::Branches, RecomputeChoice::Full};

} // namespace

TEST_CASE("Few layers tell the seconds of all, with every policy") {
  for (const PlanRequest &request :
       {stepOf("gpt3_175b_loss.onnx", "", 0), stepOf("llama3_8b.onnx", "cross-entropy:logits", 64)}) {
    INFO(request.modelPath);
    WorkClock clock(60);
    const Pool pool = valueOf(readTarget(request)).cluster.pool;
    auto found = secondsByLayers(request, policies, pool, clock);
    REQUIRE(found);
    CHECK(clock.seconds() > 0);
    std::set<double> different;
    for (auto [policy, seconds] : llvm::zip_equal(policies, *found)) {
      INFO(policy.str());
      PlanRequest own = request;
      own.recompute = policy;
      CHECK(seconds == Approx(secondsOnOne(valueOf(buildStep(own)).graph, pool)).epsilon(1e-9));
      different.insert(seconds);
    }
    CHECK(different.size() > 3);
  }
}

TEST_CASE("Few layers tell nothing of models without layers, of two stacks of them, or of layers that are counted") {
  WorkClock clock(60);
  auto isKnown = [&](const PlanRequest &request, llvm::ArrayRef<RecomputeSetting> of) {
    return secondsByLayers(request, of, valueOf(readTarget(request)).cluster.pool, clock).has_value();
  };
  CHECK(!isKnown(stepOf("tiny/gpt/model.onnx", "cross-entropy:logits", 0), policies)); // two layers
  CHECK(!isKnown(stepOf("gpt3_175b_loss.onnx", "", 0), RecomputeSetting(RecomputeChoice::Full, 26)));
  CHECK(!isKnown(stepOf("gpt3_175b_loss.onnx", "cross-entropy:nothing", 0), policies));
}
