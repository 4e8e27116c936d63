// Gradients on ranks: each op under every legal strategy, and all by lot.
#include "GradientsOnRanks.h"

#include "../ValueOf.h"

#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Grid.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Transforms/BuildGraph.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace apc {

namespace {

/// The reversed program of one op, and its results on one device.
class OnRanks {
public:
  explicit OnRanks(const GradientProgram &program) : reversed(reverse(program)) {
    REQUIRE(reversed.module);
    inputs = program.inputs;
    mlir::func::FuncOp main = reversedMain();
    for (unsigned index = inputs.size(); index < main.getNumArguments(); ++index) {
      Tensor arriving = zeros(main.getArgumentTypes()[index]);
      for (auto [place, value] : llvm::enumerate(arriving.floats))
        value = std::cos(static_cast<double>(place + 7 * index));
      inputs.push_back(std::move(arriving));
    }
    expected = runOn(*reversed.module, inputs);
    mlir::FailureOr<OpGraph> built = buildGraph(*reversed.module);
    REQUIRE(mlir::succeeded(built));
    graph = std::move(*built);
  }

  /// The number of programs that were run.
  size_t check() {
    size_t count = 0;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      if (graph.ops[op].operands.empty())
        continue; // cut as its users need it
      const FactorRule &rule = graph.ruleOf(OpId(op));
      for (const Strategy &strategy : enumerateStrategies(rule, mesh)) {
        // Nothing that is whole is partial; by lot, operands are.
        if (llvm::any_of(strategy.partialInputs, [](const AxisList &axes) { return !axes.empty(); }))
          continue;
        INFO(graph.ops[op].name << ": " << rule.str() << " under " << strategy.str(rule, mesh));
        std::vector<Strategy> strategies = replicated();
        strategies[op] = strategy;
        compare(std::move(strategies));
        ++count;
      }
    }
    for (uint64_t seed = 0; seed < 16; ++seed, ++count) {
      INFO("by lot " << seed);
      compare(drawStrategies(graph, mesh, seed));
    }
    return count;
  }

private:
  mlir::func::FuncOp reversedMain() { return reversed.module->lookupSymbol<mlir::func::FuncOp>("main"); }

  std::vector<Strategy> replicated() const {
    std::vector<Strategy> strategies(graph.ops.size());
    for (auto [index, strategy] : llvm::enumerate(strategies)) {
      strategy.axes.resize(graph.ruleOf(OpId(index)).numFactors());
      strategy.partialInputs.resize(graph.ruleOf(OpId(index)).linear.size());
    }
    return strategies;
  }

  void compare(std::vector<Strategy> strategies) {
    Plan plan = valueOf(planStrategies(graph, cluster, mesh, std::move(strategies)));
    Program ranks = valueOf(partition(*reversed.module, plan));
    valueOf(verifyProgram(*reversed.module, ranks, plan));
    std::vector<Tensor> results = valueOf(runGrid(ranks, inputs, [](ParameterOp parameter) -> llvm::Expected<Tensor> {
      return inputError("no parameter '{0}'", parameter.getName());
    }));
    REQUIRE(results.size() == expected.size());
    for (size_t i = 0; i < results.size(); ++i)
      CHECK(findDifference(results[i], expected[i], {1e-9, 1e-9}).value_or("") == "");
  }

  ReversedProgram reversed;
  std::vector<Tensor> inputs, expected;
  OpGraph graph;
  Mesh mesh = valueOf(Mesh::parse("[a=2 | b=2]"));
  Cluster cluster = valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), 4));
};

} // namespace

size_t runOnRanks(const GradientProgram &program) { return OnRanks(program).check(); }

} // namespace apc
