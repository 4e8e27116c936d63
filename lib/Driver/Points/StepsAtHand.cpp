// Import, training step, graph; kept by what they depend on.
#include "StepsAtHand.h"

#include "../CheckNames.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>

namespace apc {

llvm::Expected<StepAtHand> buildStep(const PlanRequest &request) {
  auto begin = std::chrono::steady_clock::now();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importForRequest(request, context);
  if (!model)
    return model.takeError();
  const double importSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  llvm::Expected<std::vector<std::string>> notes = buildNotedStep(model->module, request);
  if (!notes)
    return notes.takeError();
  llvm::Expected<OpGraph> graph = graphOfStep(*model->module, request.modelPath, request);
  if (!graph)
    return graph.takeError();
  if (llvm::Error error = checkNames(*graph, request.modelPath))
    return std::move(error);
  return StepAtHand{std::move(model->report), std::move(*graph), std::move(*notes), importSeconds};
}

void countStep(const OpGraph &graph, WorkClock &clock) {
  constexpr double perOp = 36'000; // nanoseconds
  clock.spend(perOp * static_cast<double>(graph.ops.size()));
}

StepsAtHand::Key StepsAtHand::keyOf(const PlanRequest &request) {
  return {request.globalBatch, request.microBatch, copiesOf(request), request.recompute.str(),
          request.pipeline.count.value_or(1) > 1};
}

llvm::Expected<StepsAtHand::Step> StepsAtHand::uncounted(const PlanRequest &request) {
  Key key = keyOf(request);
  auto isKey = [&](const auto &each) { return each.first == key; };
  {
    std::lock_guard lock(mutex);
    if (auto known = llvm::find_if(kept, isKey); known != kept.end()) {
      std::rotate(known, known + 1, kept.end());
      return kept.back().second;
    }
  }
  llvm::Expected<StepAtHand> step = buildStep(request);
  if (!step)
    return step.takeError();
  std::lock_guard lock(mutex);
  if (llvm::none_of(kept, isKey)) { // another thread may have built it, too
    if (kept.size() == most)
      kept.erase(kept.begin());
    kept.emplace_back(key, std::make_shared<const StepAtHand>(std::move(*step)));
  }
  return llvm::find_if(kept, isKey)->second;
}

llvm::Expected<StepsAtHand::Step> StepsAtHand::of(const PlanRequest &request, WorkClock &clock) {
  llvm::Expected<Step> step = uncounted(request);
  if (!step)
    return step;
  Key key = keyOf(request);
  if (auto known = llvm::find(counted, key); known != counted.end()) {
    std::rotate(known, known + 1, counted.end());
    return step;
  }
  countStep((*step)->graph, clock);
  if (counted.size() == most)
    counted.erase(counted.begin());
  counted.push_back(std::move(key));
  return step;
}

} // namespace apc
