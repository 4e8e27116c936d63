// A plan for a module that is at hand.
#include "apc/Driver/PlanModel.h"

#include "apc/Driver/GraphOfStep.h"

#include <chrono>

namespace apc {

llvm::Expected<Plan> planModule(mlir::ModuleOp module, const PlanRequest &request, const PlanningControl &control) {
  auto begin = std::chrono::steady_clock::now();
  llvm::Expected<PlanningTarget> target = readTarget(request);
  if (!target)
    return target.takeError();
  llvm::Expected<OpGraph> graph = graphOfStep(module, request.modelPath, request);
  if (!graph)
    return graph.takeError();
  llvm::Expected<Plan> plan = planGraph(*graph, request, *target, {}, control);
  if (plan)
    plan->timing.totalSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plan;
}

} // namespace apc
