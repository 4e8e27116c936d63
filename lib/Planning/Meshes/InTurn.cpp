// The same step without overlap, searched; its program costed with it.
#include "InTurn.h"

namespace apc {

llvm::Error searchInTurn(const PlanningTask &task, MeshChoice &choice) {
  const bool isLate = task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search);
  if (!task.graph.overlaps || !choice.best || isLate)
    return llvm::Error::success();
  OpGraph graph = task.graph;
  graph.overlaps = false;
  const PlanningTask inTurn{graph,        task.request, task.pool,  task.memoryLimitBytes, task.search, task.pins,
                            task.control, {},           task.begin, task.fusion,           task.kept};
  llvm::Expected<MeshChoice> found = chooseMesh(inTurn);
  if (!found)
    return found.takeError();
  choice.problemSeconds += found->problemSeconds;
  choice.searchSeconds += found->searchSeconds;
  if (!found->best)
    return llvm::Error::success();
  llvm::Expected<Candidate> candidate =
      costCandidate(task, found->best->mesh, found->best->strategies, found->best->cost.hubsOfComeAgain());
  if (!candidate)
    return candidate.takeError();
  const bool fits = candidate->cost.memory.total() <= task.memoryLimitBytes;
  if (!fits || !isBetter(rankOf(task, *candidate), rankOf(task, *choice.best)))
    return llvm::Error::success();
  choice.best = std::move(*candidate);
  choice.problem = problemOf(task, choice.best->mesh);
  return llvm::Error::success();
}

} // namespace apc
