// One op under one strategy after the other.
#include "StrategySamples.h"

#include "../ValueOf.h"

#include "apc/Interpret/Compare.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/PlanStrategies.h"

namespace apc {

namespace {

/// The program of `sample` with the op under `strategy` and everything else whole.
std::vector<Tensor> runUnder(const Sample &sample, const Cluster &cluster, const Mesh &mesh, const Strategy &strategy) {
  std::vector<Strategy> strategies;
  for (size_t op = 0; op < sample.graph.ops.size(); ++op) {
    const FactorRule &rule = sample.graph.ruleOf(OpId(op));
    Strategy whole;
    whole.axes.resize(rule.numFactors());
    whole.partialInputs.resize(rule.linear.size());
    strategies.push_back(op == sample.op ? strategy : whole);
  }
  Plan plan = valueOf(planStrategies(sample.graph, cluster, mesh, std::move(strategies)));
  auto program = valueOf(partition(sample.module, plan));
  valueOf(verifyProgram(sample.module, program, plan));
  return valueOf(runGrid(program, sample.inputs, sample));
}

} // namespace

size_t checkStrategies(const Sample &sample, llvm::StringRef meshText) {
  Mesh mesh = valueOf(Mesh::parse(meshText));
  Cluster cluster = valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), mesh.numDevices()));
  const FactorRule &rule = sample.graph.ruleOf(OpId(sample.op));
  size_t count = 0;
  for (const Strategy &strategy : enumerateStrategies(rule, mesh)) {
    // No op of the sample makes a partial operand.
    if (llvm::any_of(strategy.partialInputs, [](const AxisList &axes) { return !axes.empty(); }))
      continue;
    INFO(rule.str() << " on " << mesh.str() << " under " << strategy.str(rule, mesh));
    std::vector<Tensor> results = runUnder(sample, cluster, mesh, strategy);
    REQUIRE(results.size() == sample.expected.size());
    for (size_t i = 0; i < results.size(); ++i)
      CHECK(findDifference(results[i], sample.expected[i], {1e-5, 1e-5}).value_or("") == "");
    ++count;
  }
  return count;
}

} // namespace apc
