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
