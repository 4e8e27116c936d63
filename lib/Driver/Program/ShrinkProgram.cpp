// The smaller model planned under the strategies of the plan.
#include "apc/Driver/ShrinkProgram.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Graph/LayerCuts.h"
#include "apc/Graph/SharedSums.h"
#include "apc/Graph/StageGraph.h"
#include "apc/Planning/CarriedStrategies.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Support/Error.h"

namespace apc {

namespace {

/// The mesh with all axes at one level: the cost of a model that is only checked does not matter.
Mesh flattened(const Mesh &mesh) {
  std::vector<MeshAxis> axes(mesh.getAxes());
  for (MeshAxis &axis : axes)
    axis.level = 0;
  return Mesh(std::move(axes));
}

/// `graph` under what the plan says of its stage number `stage`.
llvm::Expected<Plan> planStage(const OpGraph &graph, const Plan &plan, size_t stage) {
  llvm::Expected<Mesh> mesh = plan.stages[stage].mesh.bind(plan.request.devices);
  if (!mesh)
    return mesh.takeError();
  auto strategies = carriedStrategies(graph, plan, stage, *mesh);
  if (!strategies)
    return strategies.takeError();
  llvm::Expected<Cluster> cluster = withDevices(llvm::cantFail(loadCluster("cpu-local")), mesh->numDevices());
  if (!cluster)
    return cluster.takeError();
  return planStrategies(graph, *cluster, flattened(*mesh), std::move(*strategies));
}

/// The plan's cuts; where layers that they stand before are gone, as many others, with about as many layers in each
/// stage.
llvm::Expected<std::vector<size_t>> smallerCuts(const OpGraph &graph, const Plan &plan) {
  llvm::Expected<std::vector<size_t>> same = cutsBefore(graph, plan.pipeline->cuts);
  if (same)
    return same;
  llvm::consumeError(same.takeError());
  std::vector<CutPosition> places = layerCuts(graph);
  size_t numStages = plan.stages.size(), numParts = places.size() + 1;
  if (numParts < numStages)
    return inputError("the plan has {0} stages, and the smaller model can be cut into {1} at most; keep more layers, "
                      "--layers {0}",
                      numStages, numParts);
  std::vector<size_t> cuts;
  for (size_t stage = 1; stage < numStages; ++stage)
    cuts.push_back(places[numParts * stage / numStages - 1].position);
  return cuts;
}

llvm::Expected<Plan> planStages(const OpGraph &graph, const Plan &plan) {
  const PlanPipeline &pipeline = *plan.pipeline;
  auto schedule = findPipelineSchedule(pipeline.schedule, static_cast<uint32_t>(pipeline.chunks));
  if (!schedule)
    return schedule.takeError();
  llvm::Expected<std::vector<size_t>> cuts = smallerCuts(graph, plan);
  if (!cuts)
    return cuts.takeError();
  llvm::Expected<SplitStep> step = splitStep(graph, *cuts);
  if (!step)
    return step.takeError();
  Plan smaller;
  smaller.pipeline = PlanPipeline{pipeline.schedule, pipeline.workers, pipeline.chunks, {}, {}};
  std::vector<OpId> forward = forwardOps(graph);
  for (size_t cut : *cuts)
    smaller.pipeline->cuts.push_back(graph.op(forward[cut]).name);
  for (unsigned number = 0; number < step->split.numStages; ++number) {
    const StagePlan &planned = plan.stages[number];
    OpGraph own =
        withInFlight(stageGraph(step->graph, step->split, number, (*schedule)->splitsBackward), planned.inFlight);
    llvm::Expected<Plan> stage = planStage(own, plan, number);
    if (!stage)
      return stage.takeError();
    smaller.stages.push_back(std::move(stage->stages.front()));
    smaller.stages.back().firstRank = planned.firstRank;
    smaller.stages.back().inFlight = planned.inFlight;
  }
  return withTotals(std::move(smaller));
}

} // namespace

llvm::Expected<SmallerProgram> buildSmallerProgram(const Plan &plan, std::optional<std::string> modelPath,
                                                   const Shrinkage &shrinkage) {
  llvm::Expected<PlannedProgram> planned = importPlanned(plan, std::move(modelPath), shrinkage);
  if (!planned)
    return planned.takeError();
  llvm::Expected<OpGraph> graph = graphOfStep(*planned->original, planned->modelPath, plan.request);
  if (!graph)
    return graph.takeError();
  llvm::Expected<Plan> smaller = plan.pipeline ? planStages(*graph, plan) : planStage(*graph, plan, 0);
  if (!smaller)
    return smaller.takeError();
  smaller->request = plan.request;
  llvm::Expected<PlannedProgram> carried = withProgram(std::move(*planned), *smaller);
  if (!carried)
    return carried.takeError();
  return SmallerProgram{std::move(*carried), std::move(*smaller)};
}

} // namespace apc
