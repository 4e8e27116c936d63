// The number of micro-batches is the best of all, and the bound holds for those that were not tried.
#include "../ValueOf.h"
#include "Samples.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A step of a tiny model on two devices. Limits of memory are in KiB; none: what the devices have.
PlanRequest stepOf(const std::string &model, int64_t globalBatch, std::optional<int64_t> limit = std::nullopt) {
  PlanRequest request = requestOf({"tiny/" + model + "/model.onnx", 2, "cpu-local"});
  request.mode = StepMode::Train;
  request.loss = "sum";
  request.globalBatch = globalBatch;
  if (limit)
    request.memoryLimitBytes = *limit << 10;
  return request;
}

/// The plan of each micro-batch that divides the batch, the largest first; none where nothing fits.
std::vector<std::optional<Plan>> plansOfAll(PlanRequest request) {
  std::vector<std::optional<Plan>> plans;
  for (int64_t size = *request.globalBatch; size >= 1; --size) {
    if (*request.globalBatch % size != 0)
      continue;
    request.microBatch = size;
    llvm::Expected<Plan> plan = planModel(request, controlOf());
    plans.push_back(plan ? std::optional(std::move(*plan)) : std::nullopt);
    if (!plan)
      CHECK(takeMessage(plan.takeError()).first == Fault::NoPlan);
  }
  return plans;
}

} // namespace

TEST_CASE("no number of micro-batches is faster than the chosen one, nor below the bound") {
  for (const char *model : {"gpt", "dlrm"}) {
    bool isTight = llvm::StringRef(model) == "gpt"; // takes long: one model, with fewer samples
    int64_t samples = isTight ? 4 : 12;
    int64_t needed = valueOf(planModel(stepOf(model, samples), controlOf())).memory.total() >> 10;
    std::vector<std::optional<int64_t>> limits(1);
    if (isTight)
      limits.emplace_back(needed * 19 / 20);
    for (std::optional<int64_t> limit : limits) {
      PlanRequest request = stepOf(model, samples, limit);
      std::vector<std::optional<Plan>> plans = plansOfAll(request);
      llvm::Expected<Plan> chosen = planModel(request, controlOf());
      INFO(model << " within " << limit.value_or(0) << " KiB");
      bool fitsAny = llvm::any_of(plans, [](const std::optional<Plan> &plan) { return plan.has_value(); });
      REQUIRE(static_cast<bool>(chosen) == fitsAny);
      if (!chosen) {
        llvm::consumeError(chosen.takeError());
        continue;
      }
      CHECK(chosen->training->microBatch * chosen->training->microBatches == samples);
      for (const std::optional<Plan> &plan : plans)
        if (plan) {
          CHECK(plan->stepSeconds >= chosen->lowerBoundSeconds * (1 - 1e-9));
          CHECK(plan->stepSeconds >= chosen->stepSeconds * (1 - request.gapTolerance));
        }
    }
  }
}

namespace {

/// Plans policies of some micro-batches by themselves. None that fits is faster than the bound of \p chosen.
unsigned checkPolicies(const Plan &chosen, PlanRequest request, llvm::ArrayRef<int64_t> microBatches,
                       llvm::ArrayRef<RecomputeChoice> policies) {
  unsigned numPlans = 0;
  for (int64_t microBatch : microBatches)
    for (RecomputeChoice policy : policies) {
      request.microBatch = microBatch;
      request.recompute = policy;
      llvm::Expected<Plan> plan = planModel(request, controlOf());
      if (!plan) {
        CHECK(takeMessage(plan.takeError()).first == Fault::NoPlan);
        continue;
      }
      INFO("micro-batches of " << microBatch << ", recompute " << recomputeChoiceName(policy).str());
      CHECK(plan->stepSeconds >= chosen.lowerBoundSeconds * (1 - 1e-9));
      ++numPlans;
    }
  return numPlans;
}

} // namespace

TEST_CASE("no policy of any number of micro-batches that fits the memory is faster than the bound") {
  PlanRequest request = stepOf("gpt", 4);
  request.microBatch = 4;
  request.recompute = RecomputeChoice::None;
  request.memoryLimitBytes = valueOf(planModel(request, controlOf())).memory.total() * 3 / 4;
  request.microBatch = std::nullopt;
  request.recompute = RecomputeChoice::Auto;
  const Plan chosen = valueOf(planModel(request, controlOf()));
  CHECK(checkPolicies(chosen, request, {4, 2},
                      {RecomputeChoice::Norms, RecomputeChoice::Attention, RecomputeChoice::Mlp,
                       RecomputeChoice::Branches, RecomputeChoice::Full}) > 4);
}

TEST_CASE("fewer micro-batches than a layout has are tried with the policy that fits, where the bound leaves room") {
  PlanRequest request = requestOf({"gpt3_6_7b_dyn.onnx", 8, "dgx-h100"});
  request.dims["seq"] = 2048;
  request.mode = StepMode::Train;
  request.globalBatch = 256;
  const Plan chosen = valueOf(planModel(request, controlOf()));
  CHECK(chosen.training->microBatch == 64); // layouts lead with 16, which takes 3 % longer
  CHECK(chosen.gap < 0.03);                 // 7 % where the bound does not know what is kept
  CHECK(checkPolicies(chosen, request, {64}, {RecomputeChoice::Norms}) == 1);
}

TEST_CASE("recomputation is no work of the model: the share of the peak counts what is done once") {
  for (const char *model : {"gpt", "llama"}) {
    PlanRequest request = stepOf(model, 4);
    request.devices = 1;
    request.microBatch = 4;
    request.recompute = RecomputeChoice::None;
    Plan kept = valueOf(planModel(request, controlOf()));
    request.recompute = RecomputeChoice::Full;
    Plan recomputed = valueOf(planModel(request, controlOf()));
    INFO(model);
    CHECK(recomputed.flopsPerDevice > kept.flopsPerDevice);
    CHECK(*recomputed.shareOfPeak * recomputed.stepSeconds == Approx(*kept.shareOfPeak * kept.stepSeconds));
  }
}
