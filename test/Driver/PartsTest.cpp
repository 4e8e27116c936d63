// Programs of models whose projections are cut inside their parts give the results of one device.
#include "../ValueOf.h"

#include "apc/Autodiff/TrainingStep.h"
#include "apc/Driver/ExecuteProgram.h"
#include "apc/IR/Apc.h"
#include "apc/Import/Import.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <random>
#include <set>

using namespace apc;

namespace {

constexpr const char *models[] = {"split", "slice", "reshape", "gate", "grouped", "few_keys", "projected", "blocks"};

/// Those whose ops have gradients.
constexpr const char *trainedModels[] = {"split", "slice", "reshape", "gate", "after"};

/// The settings of a step with states.
TrainingOptions training(RecomputePolicy recompute = RecomputePolicy::None) {
  TrainingOptions options;
  options.loss = "mse:y";
  options.optimizer.kind = OptimizerKind::Momentum;
  options.clipNorm = 1;
  options.recompute = recompute;
  return options;
}

struct PartsModel {
  explicit PartsModel(const std::string &name, const std::optional<TrainingOptions> &trained = {})
      : path(std::string(APC_DRIVER_INPUTS) + "/parts_" + name + ".onnx"), data(valueOf(ModelData::open(path))),
        context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
    module = std::move(valueOf(importOnnx(path, {}, context)).module);
    if (trained) {
      recognizeComposites(*module);
      module = std::move(valueOf(buildTrainingStep(*module, *trained)).module);
    }
    graph = valueOf(graphOfModel(*module, name));
  }

  /// Strategies by lot, with those of the named ops set, and those of all others as they are.
  Plan draw(const Mesh &mesh, uint64_t seed) const {
    Cluster cluster = valueOf(withDevices(valueOf(loadCluster("cpu-local")), mesh.numDevices()));
    return valueOf(planStrategies(graph, cluster, mesh, drawStrategies(graph, mesh, seed)));
  }

  /// Choices of the planner by lot, without sums that enter while partial: ops that are tied are cut alike.
  Plan drawChoices(
      const Mesh &mesh, uint64_t seed,
      llvm::function_ref<bool(const GraphOp &, const Strategy &)> keep = [](auto &, auto &) { return true; }) const {
    Cluster cluster = valueOf(withDevices(valueOf(loadCluster("cpu-local")), mesh.numDevices()));
    PlanningProblem planning =
        buildProblem(graph, CostModel(cluster.pool, mesh), [&](OpId op, const Strategy &strategy) {
          return keep(graph.op(op), strategy) &&
                 llvm::all_of(strategy.partialInputs, [](const AxisList &axes) { return axes.empty(); });
        });
    std::mt19937_64 random(seed);
    std::vector<Strategy> strategies(graph.ops.size());
    for (size_t node = 0; node < planning.ops.size(); ++node) {
      std::vector<const Choice *> possible;
      for (const Choice &choice : planning.choicesOf(NodeId(node)))
        if (choice.passing.empty())
          possible.push_back(&choice);
      const Choice &drawn = *possible[random() % possible.size()];
      for (auto [position, op] : llvm::enumerate(planning.ops[node]))
        strategies[op.index()] = drawn.strategies[position];
    }
    return valueOf(planStrategies(graph, cluster, mesh, std::move(strategies)));
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

  /// The names of the ops with a tensor that is cut inside {16 16 16}.
  std::set<std::string> partedOps() const {
    std::set<std::string> names;
    for (const GraphOp &op : graph.ops)
      if (llvm::StringRef(graph.rules[op.rule.index()].str()).contains("{16 16 16}"))
        names.insert(op.name);
    return names;
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

TEST_CASE("Training steps of such projections give the results of one device, under choices by lot") {
  const char *name = GENERATE(from_range(std::begin(trainedModels), std::end(trainedModels)));
  PartsModel model(name, training());
  size_t parted = 0;
  for (const char *meshText : {"[2]", "[4]", "[3]", "[2, 2]", "[2, 3]", "[2, 2, 2]"})
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Mesh mesh = valueOf(Mesh::parse(meshText));
      Plan plan = model.drawChoices(mesh, seed);
      INFO(name << " " << meshText << " seed " << seed);
      parted += numParted(plan);
      model.judge(plan);
    }
  CHECK(parted > 20);
}

TEST_CASE("A gradient that is summed over columns in padded parts is that of one device") {
  PartsModel model("after", training());
  // 16 over 3 devices: 6, 6 and 4 of each part.
  Mesh mesh = valueOf(Mesh::parse("[3]"));
  Plan plan = model.drawChoices(mesh, 0, [&](const GraphOp &op, const Strategy &strategy) {
    return op.name != "qkv" || strategy.str(model.ruleOf("qkv"), mesh) == "n:x0";
  });
  auto program = valueOf(partition(*model.module, plan));
  std::string text;
  llvm::raw_string_ostream(text) << *program.stages.front().module;
  const std::string parts = "<sum> {parts = array<i64: 16, 16, 16>}";
  size_t place = text.find(parts);
  REQUIRE(place != std::string::npos);
  model.judge(plan);
  // A mask of the dim as one run leaves the padding of the parts.
  text.replace(place, parts.size(), "<sum>");
  program.stages.front().module = mlir::parseSourceString<mlir::ModuleOp>(text, &model.context);
  REQUIRE(program.stages.front().module);
  auto proof = verifyProgram(*model.module, program, plan);
  REQUIRE(!proof);
  CHECK(takeMessage(proof.takeError()).second == "apc.mask_padding: does not mask the padding of a dim of its operand");
}

TEST_CASE("Gradients, steps, states and new values are cut inside the parts of the ops and weights that they are of") {
  for (const char *name : {"split", "slice", "reshape"}) {
    INFO(name);
    PartsModel model(name, training(RecomputePolicy::Full));
    auto parts = model.partedOps();
    for (const char *op : {"qkv", "qkv.grad", "bias", "bias.grad", "wqkv", "wqkv.momentum", "wqkv.update",
                           "wqkv.grad.square", "output wqkv.updated", "output wqkv.momentum.updated", "bqkv",
                           "bqkv.momentum", "bqkv.update", "output bqkv.updated"}) {
      INFO(op);
      CHECK(parts.count(op) == 1);
    }
  }
  CHECK_THAT(PartsModel("after", training()).ruleOf("qkv.grad").str(),
             Catch::Contains("a b d{16 16 16}, c d{16 16 16} -> a b c"));
  CHECK_THAT(PartsModel("split", training()).ruleOf("split.grad").str(),
             Catch::Contains("d0 d1 d2, d0 d1 d2, d0 d1 d2 -> d0 d1 (d2 w0){16 16 16}"));
  CHECK_THAT(PartsModel("slice", training()).ruleOf("slice_k.grad").str(),
             Catch::Contains("-> d0 d1 (d2 w0){16 16 16}"));
  CHECK_THAT(PartsModel("reshape", training()).ruleOf("apart.grad").str(),
             Catch::Contains("-> i0 i1 (i3 i4 i2){16 16 16}"));
  PartsModel gate("gate", training());
  CHECK_THAT(gate.ruleOf("turn.grad").str(), Catch::Contains("d0 d1{12 12} -> d1{12 12} d0"));
  CHECK_THAT(gate.ruleOf("output wgu.updated").str(), Catch::Contains("d0{12 12} d1 ->"));
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
