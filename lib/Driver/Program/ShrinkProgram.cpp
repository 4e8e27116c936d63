// Strategies found by name for the ops of a smaller model.
#include "apc/Driver/ShrinkProgram.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Partition/Partition.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// The strategies that a plan gives ops and sources by name.
class NamedStrategies {
public:
  NamedStrategies(const Plan &plan, const Mesh &mesh) : mesh(mesh) {
    for (const StagePlan &stage : plan.stages) {
      for (const PlanChoice &choice : stage.choices)
        choices[choice.op] = &choice;
      for (const PlanSharding &sharding : stage.shardings)
        sources[sharding.producer] = &sharding;
    }
  }

  llvm::Expected<Strategy> of(const GraphOp &op, const FactorRule &rule) const {
    std::optional<NamedStrategy> named = op.operands.empty() ? ofSource(op, rule) : ofChoice(op);
    if (!named)
      return inputError("op '{0}': the plan does not know it", op.name);
    llvm::Expected<Strategy> strategy = named->bind(rule, mesh);
    if (strategy)
      return strategy;
    return inputError("op '{0}' cannot take the plan's strategy '{1}' in the smaller model: {2}", op.name, named->str(),
                      takeMessage(strategy.takeError()).second);
  }

private:
  std::optional<NamedStrategy> ofChoice(const GraphOp &op) const {
    auto found = choices.find(op.name);
    return found == choices.end() ? std::nullopt : std::optional(found->second->strategy);
  }

  /// Inputs and parameters: a factor for each dim, cut as the plan shards the value.
  std::optional<NamedStrategy> ofSource(const GraphOp &op, const FactorRule &rule) const {
    auto found = sources.find(op.name);
    if (found == sources.end() || found->second->sharding.dims.size() != rule.factors.size())
      return std::nullopt;
    NamedStrategy strategy;
    for (auto [factor, axes] : llvm::zip_equal(rule.factors, found->second->sharding.dims))
      if (!axes.empty())
        strategy.cuts.push_back({factor.name, axes});
    return strategy;
  }

  const Mesh &mesh;
  llvm::StringMap<const PlanChoice *> choices;
  llvm::StringMap<const PlanSharding *> sources; ///< by producer; those of ops with several results are not asked for
};

/// The mesh with all axes at one level: the cost of a model that is only checked does not matter.
Mesh flattened(const Mesh &mesh) {
  std::vector<MeshAxis> axes(mesh.getAxes());
  for (MeshAxis &axis : axes)
    axis.level = 0;
  return Mesh(std::move(axes));
}

llvm::Expected<Plan> planSmaller(mlir::ModuleOp module, const Plan &plan) {
  llvm::Expected<OpGraph> graph = graphOfStep(module, plan.request.modelPath, plan.request);
  if (!graph)
    return graph.takeError();
  llvm::Expected<Mesh> mesh = plan.stages.front().mesh.bind(plan.request.devices);
  if (!mesh)
    return mesh.takeError();
  NamedStrategies named(plan, *mesh);
  std::vector<Strategy> strategies;
  for (const GraphOp &op : graph->ops) {
    auto strategy = named.of(op, graph->rules[op.rule.index()]);
    if (!strategy)
      return strategy.takeError();
    strategies.push_back(std::move(*strategy));
  }
  llvm::Expected<Cluster> cluster = withDevices(llvm::cantFail(loadCluster("cpu-local")), mesh->numDevices());
  if (!cluster)
    return cluster.takeError();
  return planStrategies(*graph, *cluster, flattened(*mesh), std::move(strategies));
}

} // namespace

llvm::Expected<SmallerProgram> buildSmallerProgram(const Plan &plan, std::optional<std::string> modelPath,
                                                   const Shrinkage &shrinkage) {
  llvm::Expected<PlannedProgram> planned = importPlanned(plan, std::move(modelPath), shrinkage);
  if (!planned)
    return planned.takeError();
  llvm::Expected<Plan> smaller = planSmaller(*planned->original, plan);
  if (!smaller)
    return smaller.takeError();
  auto program = partition(*planned->original, *smaller);
  if (!program)
    return program.takeError();
  planned->program = std::move(*program);
  return SmallerProgram{std::move(*planned), std::move(*smaller)};
}

} // namespace apc
