// The graph of a model with what a request says of its program.
#include "apc/Driver/GraphOfStep.h"

#include "apc/Cost/ApplyRuntime.h"
#include "apc/Transforms/BuildGraph.h"

namespace apc {

llvm::Expected<OpGraph> graphOfStep(mlir::ModuleOp module, llvm::StringRef source, const PlanRequest &request) {
  llvm::Expected<OpGraph> graph = graphOfModel(module, source);
  if (graph)
    graph->overlaps = (request.overlap || graph->copies > 1) && graph->isTrainingStep();
  if (graph && !request.runtime.empty()) {
    llvm::Expected<Runtime> runtime = loadRuntime(request.runtime);
    if (!runtime)
      return runtime.takeError();
    applyRuntime(*graph, *runtime);
  }
  return graph;
}

} // namespace apc
