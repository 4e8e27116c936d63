// Programs of models whose projections are cut inside their parts give the results of one device.
#include "../ValueOf.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/IR/Apc.h"
#include "apc/Import/Import.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr const char *models[] = {"split", "slice", "reshape", "gate", "grouped", "few_keys", "projected", "blocks"};

struct PartsModel {
  explicit PartsModel(const std::string &name)
      : path(std::string(APC_DRIVER_INPUTS) + "/parts_" + name + ".onnx"), data(valueOf(ModelData::open(path))),
        context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
    module = std::move(valueOf(importOnnx(path, {}, context)).module);
    graph = valueOf(graphOfModel(*module, name));
  }

  /// Strategies by lot, with those of the named ops set, and those of all others as they are.
  Plan draw(const Mesh &mesh, uint64_t seed) const {
    Cluster cluster = valueOf(withDevices(valueOf(loadCluster("cpu-local")), mesh.numDevices()));
    return valueOf(planStrategies(graph, cluster, mesh, drawStrategies(graph, mesh, seed)));
  }

  /// Partitions, proves and runs.
  void judge(const Plan &plan) {
    auto program = valueOf(partition(*module, plan));
    valueOf(verifyProgram(*module, program, plan));
    for (const OutputError &error : valueOf(executeProgram(*module, program, parametersOf(data)))) {
      INFO(error.name << " differs by " << error.absolute << ", relative to its largest element " << error.relative);
      CHECK(error.agrees());
    }
  }

  const FactorRule &ruleOf(const std::string &op) const {
    for (const GraphOp &each : graph.ops)
      if (each.name == op)
        return graph.rules[each.rule.index()];
    FAIL("no op " << op);
    std::abort();
  }

  std::string path;
  ModelData data;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  OpGraph graph;
};

/// How many values the plan cuts inside parts.
size_t numParted(const Plan &plan) {
  return llvm::count_if(plan.stages.front().shardings,
                        [](const PlanSharding &sharding) { return !sharding.sharding.parts.empty(); });
}

} // namespace

TEST_CASE("Projections that are cut inside parts give the results of one device, under strategies by lot") {
  const char *name = GENERATE(from_range(std::begin(models), std::end(models)));
  PartsModel model(name);
  size_t parted = 0;
  for (const char *meshText : {"[2]", "[4]", "[3]", "[2, 2]", "[2, 3]"})
    for (uint64_t seed = 0; seed < 12; ++seed) {
      Mesh mesh = valueOf(Mesh::parse(meshText));
      Plan plan = model.draw(mesh, seed);
      INFO(name << " " << meshText << " seed " << seed);
      parted += numParted(plan);
      model.judge(plan);
    }
  CHECK(parted > 10);
}

TEST_CASE("The weights, the product, the bias and the op that takes it apart are cut inside the same parts") {
  for (const char *name : {"split", "slice", "reshape", "grouped"}) {
    INFO(name);
    PartsModel model(name);
    std::string parts = name == std::string("grouped") ? "{32 16 16}" : "{16 16 16}";
    CHECK_THAT(model.ruleOf("wqkv").str(), Catch::Contains("d1" + parts));
    CHECK_THAT(model.ruleOf("bqkv").str(), Catch::Contains("d0" + parts));
    CHECK_THAT(model.ruleOf("qkv").str(), Catch::Contains("k n" + parts + " -> b0 m n" + parts));
    CHECK_THAT(model.ruleOf("bias").str(), Catch::Contains("b2" + parts + " ->"));
  }
  CHECK_THAT(PartsModel("projected").ruleOf("wqkv").str(), Catch::Contains("d1{16 16 16}"));
  CHECK_THAT(PartsModel("blocks").ruleOf("qkv").str(), Catch::Contains("n{16 16 16}"));
  PartsModel gate("gate");
  CHECK_THAT(gate.ruleOf("wgu").str(), Catch::Contains("d0{12 12}"));
  CHECK_THAT(gate.ruleOf("turn").str(), Catch::Contains("d0{12 12} d1 -> d1 d0{12 12}"));
  CHECK_THAT(gate.ruleOf("split").str(), Catch::Contains("(d2 w0){12 12}, w1 -> d0 d1 d2, d0 d1 d2"));
}
