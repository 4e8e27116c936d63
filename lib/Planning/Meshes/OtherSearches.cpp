// Their answers, costed as programs of the task.
#include "OtherSearches.h"

namespace apc {

/// No time is left for another search.
static bool isLate(const PlanningTask &task) {
  return task.isStopped() || task.isOutOfTime(PlanningTask::Part::Search);
}

/// The answer of \p other into `choice` where its program, one of the task, fits and is the faster. Errors (internal):
/// those of costing it.
static llvm::Error takeIfFaster(const PlanningTask &task, const MeshChoice &other, MeshChoice &choice) {
  choice.times += other.times;
  if (!other.best)
    return llvm::Error::success();
  llvm::Expected<Candidate> candidate =
      costCandidate(task, other.best->mesh, other.best->strategies, other.best->cost.hubsOfComeAgain());
  if (!candidate)
    return candidate.takeError();
  bool fits = candidate->cost.memory.total() <= task.memoryLimitBytes;
  if (!fits || !isBetter(rankOf(task, *candidate), rankOf(task, *choice.best)))
    return llvm::Error::success();
  choice.best = std::move(*candidate);
  choice.problem = problemOf(task, choice.best->mesh);
  return llvm::Error::success();
}

/// On the mesh of `choice` with fewer stages of ZeRO, where the search was short and the request leaves storage open.
static llvm::Error searchFewerStages(const PlanningTask &task, MeshChoice &choice) {
  constexpr double little = 0.02; // of the time limit
  const bool isShort = choice.times.workSeconds < little * task.request.timeLimitSeconds;
  if (!isShort || task.request.zero != ZeroChoice::Auto || !task.pins.empty() || !task.graph.isTrainingStep())
    return llvm::Error::success();
  const Mesh mesh = choice.best->mesh;
  for (ZeroChoice stage : {ZeroChoice::Stage0, ZeroChoice::Stage1}) {
    if (isLate(task))
      break;
    PlanRequest request = task.request;
    request.zero = stage;
    const PlanningTask own{task.graph,   request, task.pool,  task.memoryLimitBytes, task.search, task.pins,
                           task.control, {},      task.begin, task.fusion,           task.kept};
    llvm::Expected<MeshChoice> other = chooseOn(own, mesh);
    if (llvm::Error error = other ? takeIfFaster(task, *other, choice) : other.takeError())
      return error;
  }
  return llvm::Error::success();
}

llvm::Error searchAlone(const PlanningTask &task, MeshChoice &choice) {
  bool isWanted = goesToTheEnd(task.control.effort, choice.isByFirstSums) && choice.best &&
                  choice.unsharedSeconds > task.request.gapTolerance * choice.best->seconds();
  if (!isWanted || isLate(task))
    return llvm::Error::success();
  PlanningTask alone = task;
  alone.fusion = {};
  llvm::Expected<MeshChoice> other = chooseOn(alone, choice.best->mesh);
  if (llvm::Error error = other ? takeIfFaster(task, *other, choice) : other.takeError())
    return error;
  return searchFewerStages(task, choice);
}

llvm::Error searchInTurn(const PlanningTask &task, MeshChoice &choice) {
  if (!task.graph.overlaps || !choice.best || isLate(task))
    return llvm::Error::success();
  OpGraph graph = task.graph;
  graph.overlaps = false;
  const PlanningTask inTurn{graph,        task.request, task.pool,  task.memoryLimitBytes, task.search, task.pins,
                            task.control, {},           task.begin, task.fusion,           task.kept};
  llvm::Expected<MeshChoice> other = chooseMesh(inTurn);
  return other ? takeIfFaster(task, *other, choice) : other.takeError();
}

} // namespace apc
