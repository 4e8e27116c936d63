// Strategies one by one and by lot; each as a program that is proven, run and compared.
#include "ConformanceRanks.h"

#include "apc/IR/Apc.h"
#include "apc/Interpret/Grid.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/BuildGraph.h"

namespace apc {

namespace {

constexpr unsigned numDrawn = 4; // combinations by lot for each mesh, where there is more than one op

class MeshRunner {
public:
  MeshRunner(CaseData &data, const OpGraph &graph, const Mesh &mesh, const Cluster &cluster)
      : data(data), graph(graph), mesh(mesh), cluster(cluster) {}

  /// The first fault of the program of these strategies; empty when there is none.
  std::optional<std::string> judge(std::vector<Strategy> strategies) const;
  std::vector<Strategy> replicated() const;

private:
  CaseData &data;
  const OpGraph &graph;
  const Mesh &mesh;
  const Cluster &cluster;
};

std::vector<Strategy> MeshRunner::replicated() const {
  std::vector<Strategy> strategies(graph.ops.size());
  for (auto [index, strategy] : llvm::enumerate(strategies)) {
    const FactorRule &rule = graph.ruleOf(OpId(index));
    strategy.axes.resize(rule.numFactors());
    strategy.partialInputs.resize(rule.linear.size());
  }
  return strategies;
}

std::optional<std::string> MeshRunner::judge(std::vector<Strategy> strategies) const {
  auto plan = planStrategies(graph, cluster, mesh, std::move(strategies));
  if (!plan)
    return takeMessage(plan.takeError()).second;
  auto program = partition(*data.module, *plan);
  if (!program)
    return takeMessage(program.takeError()).second;
  auto proof = verifyProgram(*data.module, *program, *plan);
  if (!proof)
    return "not proven: " + takeMessage(proof.takeError()).second;
  auto results =
      runGrid(*program, data.arguments, [&](ParameterOp parameter) { return parameterTensor(data, parameter); });
  if (!results)
    return takeMessage(results.takeError()).second;
  return compareOutputs(data, *results, Agreement::OnRanks);
}

/// A strategy of one op, the others being replicated.
struct Single {
  OpId op;
  Strategy strategy;
};

std::vector<Single> singles(const OpGraph &graph, const Mesh &mesh) {
  std::vector<Single> found;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const GraphOp &op = graph.ops[index];
    if (op.operands.empty())
      continue; // a source: it is cut as its users need it
    for (Strategy &strategy : enumerateStrategies(graph.ruleOf(OpId(index)), mesh))
      if (llvm::all_of(strategy.partialInputs, [](const AxisList &axes) { return axes.empty(); }))
        found.push_back({OpId(index), std::move(strategy)});
  }
  return found;
}

/// Fewer where the model is large: as many as make `pointBudget` points of loop nests.
size_t limitFor(const OpGraph &graph, const ConformanceOptions &options) {
  constexpr double pointBudget = 2e7;
  constexpr size_t atLeast = 4;
  double points = 1;
  for (const GraphOp &op : graph.ops)
    points += graph.rules[op.rule.index()].numPoints();
  return std::min<size_t>(options.maxPrograms, std::max<size_t>(atLeast, static_cast<size_t>(pointBudget / points)));
}

void runMesh(CaseData &data, const OpGraph &graph, const Mesh &mesh, const Cluster &cluster,
             const ConformanceOptions &options, RanksResult &result) {
  MeshRunner runner(data, graph, mesh, cluster);
  std::vector<Single> all = singles(graph, mesh);
  size_t limit = std::min(all.size(), limitFor(graph, options));
  result.numPossible += static_cast<unsigned>(all.size());
  for (size_t i = 0; i < limit; ++i) {
    const Single &single = all[i * all.size() / limit];
    std::vector<Strategy> strategies = runner.replicated();
    strategies[single.op.index()] = single.strategy;
    ++result.numRun;
    if (auto wrong = runner.judge(std::move(strategies))) {
      result.failure = llvm::formatv("mesh {0}, op '{1}' under {2}: {3}", mesh.str(), graph.op(single.op).name,
                                     single.strategy.str(graph.ruleOf(single.op), mesh), *wrong);
      return;
    }
  }
  for (uint64_t seed = 0; seed < std::min<size_t>(numDrawn, options.maxPrograms); ++seed) {
    ++result.numRun;
    std::vector<Strategy> strategies = drawStrategies(graph, mesh, seed);
    auto wrong = runner.judge(strategies);
    if (!wrong)
      continue;
    std::string chosen;
    for (auto [index, strategy] : llvm::enumerate(strategies))
      if (std::string text = strategy.str(graph.ruleOf(OpId(index)), mesh); text != "replicated")
        chosen += (chosen.empty() ? "'" : ", '") + graph.ops[index].name + "' under " + text;
    result.failure = llvm::formatv("mesh {0}, {1}: {2}", mesh.str(), chosen, *wrong);
    return;
  }
}

} // namespace

RanksResult runOnRanks(CaseData &data, const ConformanceOptions &options) {
  RanksResult result;
  auto graph = buildGraph(*data.module);
  if (mlir::failed(graph)) {
    result.failure = "the model has an op without a factor rule";
    return result;
  }
  for (const Mesh &mesh : options.meshes) {
    auto preset = loadCluster("cpu-local");
    auto cluster = preset ? withDevices(*preset, mesh.numDevices()) : preset.takeError();
    if (!cluster) {
      result.failure = takeMessage(cluster.takeError()).second;
      return result;
    }
    runMesh(data, *graph, mesh, *cluster, options, result);
    if (result.failure)
      return result;
  }
  return result;
}

} // namespace apc
