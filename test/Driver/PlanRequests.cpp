// Plans of the models in models/, for tests.
#include "PlanRequests.h"

#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

namespace apc {

PlanOptions optionsOf(const PlanRequest &request) {
  PlanOptions options;
  options.modelPath = std::string(APC_MODELS) + "/" + request.model;
  options.devices = request.devices;
  options.cluster = request.cluster;
  options.import.dims = request.dims;
  options.searchOptions.numThreads = request.threads;
  return options;
}

Plan planOf(const PlanRequest &request) {
  llvm::Expected<Plan> plan = planModel(optionsOf(request));
  if (plan)
    return std::move(*plan);
  FAIL(request.model << ": " << takeMessage(plan.takeError()).second);
  return {};
}

std::vector<std::string> innerAxes(const Plan &plan) {
  unsigned innermost = 0;
  for (const PlanAxis &axis : plan.mesh)
    innermost = std::max(innermost, axis.levelIndex);
  std::vector<std::string> names;
  for (const PlanAxis &axis : plan.mesh)
    if (axis.levelIndex == innermost)
      names.push_back(axis.name);
  return names;
}

void checkSound(const Plan &plan) {
  CHECK(plan.memory.total() <= plan.memoryLimitBytes);
  CHECK(plan.lowerBoundSeconds <= plan.stepSeconds);
  CHECK(plan.stepSeconds > 0);
  REQUIRE(plan.baselines.size() >= 3);
  for (const Baseline &baseline : plan.baselines) {
    INFO(baseline.name);
    if (baseline.feasible)
      CHECK(plan.stepSeconds <= *baseline.stepSeconds);
    else
      CHECK(!baseline.reason.empty());
  }
}

} // namespace apc
