// Changes of a training request that lower the memory of a device.
#include "apc/Planning/Alternatives.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

/// A copy of `request` for a plan that only has to fit.
PlanRequest anyPlan(const PlanRequest &request) {
  PlanRequest own = request;
  own.gapTolerance = 1;
  own.sensitivity = false;
  own.layouts.clear();
  return own;
}

Alternatives recomputing(const PlanRequest &request) {
  if (request.recompute == RecomputeChoice::Full || request.recompute == RecomputeChoice::Auto)
    return {};
  Alternative full{"--recompute full", anyPlan(request)};
  full.request.recompute = RecomputeChoice::Full;
  return {{full}};
}

/// The stages of ZeRO above that of the request, nearest first; none where storage is not limited.
Alternatives higherZero(const PlanRequest &request) {
  constexpr ZeroChoice stages[] = {ZeroChoice::Stage1, ZeroChoice::Stage2, ZeroChoice::Stage3};
  std::optional<int64_t> most = zeroStage(request.zero);
  Alternatives higher;
  for (ZeroChoice choice : stages) {
    int64_t stage = *zeroStage(choice);
    if (!most || stage <= *most)
      continue;
    Alternative own{llvm::formatv("--zero {0}", stage).str(), anyPlan(request)};
    own.request.zero = choice;
    higher.nearestFirst.push_back(std::move(own));
  }
  return higher;
}

/// The divisors of the batch below `most`, largest first: half, and the least.
Alternatives smallerMicroBatches(const PlanRequest &request, std::optional<int64_t> batch) {
  if (!batch || (request.globalBatch && !request.microBatch)) // all numbers of micro-batches have been tried
    return {};
  int64_t most = request.microBatch.value_or(*batch);
  Alternatives smaller;
  for (int64_t size = most / 2; size >= 1; --size) {
    if (*batch % size != 0 || size % copiesOf(request) != 0 || (!smaller.nearestFirst.empty() && size > 1))
      continue;
    std::string flags = llvm::formatv("--micro-batch {0}", size).str();
    if (!request.globalBatch)
      flags = llvm::formatv("--global-batch {0} {1}", *batch, flags).str();
    Alternative own{std::move(flags), anyPlan(request)};
    own.request.globalBatch = batch;
    own.request.microBatch = size;
    smaller.nearestFirst.push_back(std::move(own));
  }
  return smaller;
}

Alternatives lowerPrecision(const PlanRequest &request) {
  if (request.precision != PrecisionChoice::Model && request.precision != PrecisionChoice::Fp32)
    return {};
  Alternative low{"--precision bf16", anyPlan(request)};
  low.request.precision = PrecisionChoice::Bf16;
  return {{low}};
}

/// Without states; settings that belong to other optimizers are left out.
Alternatives withoutStates(const PlanRequest &request) {
  if (request.optimizer == OptimizerChoice::Sgd)
    return {};
  const PlanRequest defaults;
  Alternative sgd{"--optimizer sgd", anyPlan(request)};
  sgd.request.optimizer = OptimizerChoice::Sgd;
  sgd.request.momentum = defaults.momentum;
  sgd.request.dampening = defaults.dampening;
  sgd.request.nesterov = defaults.nesterov;
  sgd.request.beta1 = defaults.beta1;
  sgd.request.beta2 = defaults.beta2;
  sgd.request.epsilon = defaults.epsilon;
  sgd.request.amsgrad = defaults.amsgrad;
  return {{sgd}};
}

Alternatives moreDevices(const PlanRequest &request) {
  constexpr int64_t mostTimes = 64;
  Alternatives more;
  for (int64_t times = 2; times <= mostTimes; times *= 2) {
    Alternative own{llvm::formatv("--devices {0}", times * request.devices).str(), anyPlan(request)};
    own.request.devices = times * request.devices;
    more.nearestFirst.push_back(std::move(own));
  }
  return more;
}

/// The last of the micro-batches, with full recomputation.
Alternatives together(const Alternatives &recompute, const Alternatives &smaller) {
  if (recompute.nearestFirst.empty() || smaller.nearestFirst.empty())
    return {};
  Alternative both = smaller.nearestFirst.back();
  both.flags = recompute.nearestFirst.front().flags + " " + both.flags;
  both.request.recompute = recompute.nearestFirst.front().request.recompute;
  return {{both}, /*isLastResort=*/true};
}

} // namespace

std::vector<Alternatives> alternativesTo(const PlanRequest &request, std::optional<int64_t> batch, bool isTooMuchHeld) {
  std::vector<Alternatives> all;
  Alternatives recompute = recomputing(request), smaller = smallerMicroBatches(request, batch);
  if (!isTooMuchHeld)
    all = {higherZero(request), recompute, smaller};
  all.push_back(lowerPrecision(request));
  all.push_back(withoutStates(request));
  all.push_back(moreDevices(request));
  if (!isTooMuchHeld)
    all.push_back(together(recompute, smaller));
  llvm::erase_if(all, [](const Alternatives &own) { return own.nearestFirst.empty(); });
  return all;
}

} // namespace apc
