// The graph of a model with what a request says of its program.
#include "apc/Driver/GraphOfStep.h"

#include "apc/Transforms/BuildGraph.h"

namespace apc {

llvm::Expected<OpGraph> graphOfStep(mlir::ModuleOp module, llvm::StringRef source, const PlanRequest &request) {
  llvm::Expected<OpGraph> graph = graphOfModel(module, source);
  if (graph)
    graph->overlaps = (request.overlap || graph->copies > 1) && graph->isTrainingStep();
  return graph;
}

} // namespace apc
