// The graph of a model with what a request says of its program.
#include "apc/Driver/GraphOfStep.h"

#include "apc/Cost/ApplyRuntime.h"
#include "apc/Cost/NarrowProducts.h"
#include "apc/Transforms/BuildGraph.h"

namespace apc {

OpGraph withMicroBatches(OpGraph graph, int64_t count) {
  assert((count > 1) == (graph.microBatches() > 1) && graph.copies == 1 && "sums are there for several alone");
  for (GraphOp &op : graph.ops)
    if (op.repeats > 1)
      op.repeats = count;
  return graph;
}

llvm::Expected<OpGraph> graphAsRun(OpGraph graph, const PlanRequest &request) {
  graph.overlaps = (request.overlap || graph.copies > 1) && graph.isTrainingStep();
  if (request.runtime != noRuntime) {
    llvm::Expected<Runtime> runtime = loadRuntime(request.runtime);
    if (!runtime)
      return runtime.takeError();
    applyRuntime(graph, *runtime);
  }
  if (request.precision == PrecisionChoice::Fp8)
    narrowProducts(graph);
  return graph;
}

llvm::Expected<OpGraph> graphOfStep(mlir::ModuleOp module, llvm::StringRef source, const PlanRequest &request) {
  llvm::Expected<OpGraph> graph = graphOfModel(module, source);
  return graph ? graphAsRun(std::move(*graph), request) : std::move(graph);
}

} // namespace apc
