// Seconds of ops without a strategy, and of models with fewer layers.
#include "SecondsOnOne.h"

#include "StepsAtHand.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Transforms/KeepLayers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

namespace apc {

double secondsOnOne(const OpGraph &graph, const Pool &pool) {
  const CostModel model(pool, Mesh::fromLevels(pool.levelSizes()));
  double seconds = 0;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const FactorRule &rule = graph.ruleOf(OpId(op));
    Strategy whole;
    whole.axes.resize(rule.numFactors());
    whole.partialInputs.resize(rule.linear.size());
    seconds += costOfOp(graph, OpId(op), whole, model).seconds();
  }
  return seconds;
}

namespace {

/// A model without some of its layers.
struct FewerLayers {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  unsigned gone = 0;
};

llvm::Expected<FewerLayers> withLayers(mlir::ModuleOp model, int64_t count) {
  FewerLayers fewer{model.clone()};
  llvm::Expected<unsigned> gone = keepLayers(*fewer.module, count);
  if (!gone)
    return gone.takeError();
  fewer.gone = *gone;
  return fewer;
}

llvm::Expected<double> secondsOf(mlir::ModuleOp model, const PlanRequest &request, const Pool &pool, WorkClock &clock) {
  mlir::OwningOpRef<mlir::ModuleOp> module = model.clone();
  if (llvm::Error error = recognizeAndBuildStep(module, request))
    return std::move(error);
  llvm::Expected<OpGraph> graph = graphOfStep(*module, request.modelPath, request);
  if (!graph)
    return graph.takeError();
  countStep(*graph, clock);
  return secondsOnOne(*graph, pool);
}

/// With the first layers of a model, which has both its ends, at least one layer between others, and one more.
llvm::Expected<std::optional<std::vector<double>>> secondsFrom(mlir::ModuleOp model, PlanRequest request,
                                                               llvm::ArrayRef<RecomputeSetting> policies,
                                                               const Pool &pool, WorkClock &clock) {
  constexpr int64_t few = 3;
  llvm::Expected<FewerLayers> more = withLayers(model, few + 1);
  if (!more)
    return more.takeError();
  llvm::Expected<FewerLayers> fewer = withLayers(*more->module, few);
  if (!fewer)
    return fewer.takeError();
  if (more->gone == 0 || fewer->gone != 1)
    return std::nullopt; // few layers, or several runs of them
  std::vector<double> seconds;
  for (const RecomputeSetting &policy : policies) {
    request.recompute = policy;
    llvm::Expected<double> least = secondsOf(*fewer->module, request, pool, clock);
    if (!least)
      return least.takeError();
    llvm::Expected<double> next = secondsOf(*more->module, request, pool, clock);
    if (!next)
      return next.takeError();
    seconds.push_back(*next + double(more->gone) * (*next - *least));
  }
  return seconds;
}

} // namespace

std::optional<std::vector<double>> secondsByLayers(const PlanRequest &request,
                                                   llvm::ArrayRef<RecomputeSetting> policies, const Pool &pool,
                                                   WorkClock &clock) {
  if (llvm::any_of(policies, [](const RecomputeSetting &policy) { return policy.layers.has_value(); }))
    return std::nullopt;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  llvm::Expected<ImportedModel> model = importForRequest(request, context);
  if (!model)
    return llvm::consumeError(model.takeError()), std::nullopt;
  auto seconds = secondsFrom(*model->module, request, policies, pool, clock);
  if (!seconds)
    return llvm::consumeError(seconds.takeError()), std::nullopt;
  return std::move(*seconds);
}

} // namespace apc
