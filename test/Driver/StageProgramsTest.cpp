// Stages partitioned on meshes of their own, proven, and run under pipeline schedules.
#include "../ValueOf.h"
#include "StagedSteps.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Driver/StagedProgram.h"
#include "apc/Graph/StageGraph.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Partition/VerifyStageOps.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Schedule/Pipeline/SimulatePipeline.h"

using namespace apc;
using Catch::Contains;

namespace {

/// A step in stages on meshes, under strategies drawn by lot.
struct StagedPlan {
  ImportedStep step;
  CutModule cut;
  std::vector<StagePlan> plans;
  StagedProgram staged;
};

std::vector<Strategy> wholeStrategies(const OpGraph &graph) {
  std::vector<Strategy> strategies;
  for (const GraphOp &op : graph.ops) {
    const FactorRule &rule = graph.rules[op.rule.index()];
    strategies.emplace_back();
    strategies.back().axes.resize(rule.factors.size());
    strategies.back().partialInputs.resize(rule.linear.size());
  }
  return strategies;
}

/// Strategies drawn by lot, but what replaces a parameter comes to rest as the parameter does.
std::vector<Strategy> drawnAtRest(const OpGraph &graph, const Mesh &mesh, uint64_t seed) {
  std::vector<Strategy> strategies = drawStrategies(graph, mesh, seed);
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (op.results.empty() && op.operands.size() == 1 && op.operands.front())
      if (std::optional<ValueId> replaced = graph.value(*op.operands.front()).replaces)
        strategies[index].axes = strategies[graph.value(*replaced).producer.index()].axes;
  return strategies;
}

int64_t mostInFlight(const ActionLists &lists, uint32_t stage) {
  int64_t most = 1;
  for (const LiveCounts &live : valueOf(PipelineSimulator::make(lists)).liveCounts(stage))
    most = std::max<int64_t>(most, live.whole + live.kept);
  return most;
}

/// Without a seed all ops are whole on every rank.
StagedPlan drawnStages(const TinyStep &tiny, llvm::StringRef schedule, const std::string &mesh,
                       std::optional<uint64_t> seed, std::vector<size_t> cuts = {}) {
  StagedPlan drawn;
  drawn.step = importedStep(requestOfStep(tiny));
  const ImportedStep &step = drawn.step;
  uint32_t chunks = schedule == "interleaved" ? 2 : 1;
  auto microBatches = static_cast<uint32_t>(tiny.globalBatch / tiny.microBatch);
  const PipelineSchedule &row = *valueOf(findPipelineSchedule(schedule, chunks));
  ActionLists lists = valueOf(generateActions(row, {2, microBatches, chunks}));
  if (cuts.empty())
    cuts = evenCuts(step.graph, lists.shape.numStages());
  drawn.cut = cutModule(step, cuts);
  const CutModule &cut = drawn.cut;
  Mesh ranks = valueOf(Mesh::parse(mesh));
  Cluster cluster = valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), ranks.numDevices()));
  for (unsigned stage = 0; stage < cut.split.numStages; ++stage) {
    StageGraph own = stageGraph(cut.graph, cut.split, stage, row.splitsBackward);
    OpGraph graph = withInFlight(own, mostInFlight(lists, stage));
    std::vector<Strategy> strategies = seed ? drawnAtRest(graph, ranks, *seed + stage) : wholeStrategies(graph);
    Plan plan = valueOf(planStrategies(graph, cluster, ranks, std::move(strategies)));
    plan.stages.front().firstRank = lists.shape.workerOf(stage) * ranks.numDevices();
    drawn.plans.push_back(std::move(plan.stages.front()));
  }
  drawn.staged = valueOf(buildStages(*cut.module, cut.graph, cut.split, drawn.plans, lists, row.splitsBackward));
  return drawn;
}

void checkDrawn(const TinyStep &tiny, llvm::StringRef schedule, const std::string &mesh, uint64_t seed) {
  INFO(tiny.model << " under " << schedule.str() << " on " << mesh << ", seed " << seed);
  StagedPlan drawn = drawnStages(tiny, schedule, mesh, seed);
  StagedProof proof = valueOf(verifyStages(drawn.staged.modules, drawn.staged.program, drawn.plans));
  CHECK(proof.transfers.numTransfers > 0);
  for (const ProgramProof &stage : proof.stages)
    CHECK(stage.numOps > 0);
  checkRun(drawn.step, drawn.staged.program);
}

template <typename Op>
llvm::SmallVector<Op> opsOf(const StagedPlan &drawn, unsigned stage) {
  return llvm::to_vector(mainOf(*drawn.staged.program.stages[stage].module).getOps<Op>());
}

std::string faultOfStage(const StagedPlan &drawn, unsigned stage) {
  auto proof = verifyStage(*drawn.staged.modules[stage], drawn.staged.program.stages[stage], drawn.plans[stage]);
  return proof ? "" : takeMessage(proof.takeError()).second;
}

std::string faultOfTransfers(const StagedPlan &drawn) {
  auto proof = verifyTransfers(drawn.staged.program);
  return proof ? "" : takeMessage(proof.takeError()).second;
}

} // namespace

TEST_CASE("Stages on two ranks each compute the step, whatever their strategies") {
  for (const char *model : {"gpt", "t5", "moe", "vit"})
    for (const char *schedule : {"1f1b", "gpipe", "interleaved", "zb-h1"})
      checkDrawn({.model = model, .microBatch = 1}, schedule, "[2]", 7);
}

TEST_CASE("Stages on ranks that cut dims unevenly compute the step") {
  checkDrawn({.model = "gpt", .microBatch = 2}, "1f1b", "[3]", 1);
  checkDrawn({.model = "unet", .microBatch = 2}, "zb-h1", "[2 | 2]", 2);
}

TEST_CASE("Layers of a stage that repeat are one function") {
  TinyStep tiny{.model = "gpt", .optimizer = OptimizerChoice::Sgd, .microBatch = 1, .clipNorm = {}};
  StagedPlan drawn = drawnStages(tiny, "zb-h1", "[2]", std::nullopt, {3}); // both layers are in stage 1
  unsigned numFunctions = 0;
  for (const ProgramProof &stage :
       valueOf(verifyStages(drawn.staged.modules, drawn.staged.program, drawn.plans)).stages)
    numFunctions += stage.numFunctions;
  CHECK(numFunctions > 0);
  checkRun(drawn.step, drawn.staged.program);
}

TEST_CASE("Transfers that do not fit are found") {
  TinyStep tiny{.model = "gpt", .microBatch = 1};
  StagedPlan drawn = drawnStages(tiny, "1f1b", "[2]", 3);
  CHECK(faultOfStage(drawn, 0) == "");
  CHECK(faultOfTransfers(drawn) == "");
  ReceiveOp receive = *llvm::find_if(opsOf<ReceiveOp>(drawn, 1), [](ReceiveOp op) { return !op.isOfStep(); });
  std::string value = receive.getValue().str();
  SendOp send = *llvm::find_if(opsOf<SendOp>(drawn, 0), [&](SendOp op) { return op.getValue() == value; });
  SECTION("a send that is not there") {
    send.erase();
    CHECK(faultOfStage(drawn, 0) == "send '" + value + "' with every micro-batch: the program has no such op");
    CHECK(faultOfTransfers(drawn) == "stage 1 receives '" + value + "', which no stage sends");
  }
  SECTION("a value of another name") {
    send.setValue("other");
    CHECK(faultOfStage(drawn, 0) == "send 'other' with every micro-batch: the model has no such end of a transfer or "
                                    "part left");
    CHECK(faultOfTransfers(drawn) == "stage 1 receives '" + value + "', which no stage sends");
    receive.setValue("third");
    CHECK_THAT(faultOfTransfers(drawn), Contains("stage 0 sends 'other', which no stage receives"));
  }
  SECTION("another shape") {
    mlir::Builder builder(receive.getContext());
    receive->setAttr(shapeAttribute, builder.getDenseI64ArrayAttr({3, 3}));
    CHECK_THAT(faultOfTransfers(drawn), Contains("stage 1 receives '" + value +
                                                 "' as [3, 3] of f32 with every micro-batch, but stage 0 sends ["));
  }
  SECTION("another time") {
    receive.setTime("step");
    CHECK_THAT(faultOfTransfers(drawn), Contains("of f32 once a step, but stage 0 sends ["));
    CHECK_THAT(faultOfStage(drawn, 1), Contains("receive '" + value + "' once a step as input: the model has no such"));
  }
  SECTION("another sharding") {
    MeshAttr mesh = *meshOf(*drawn.staged.program.stages[1].module);
    auto change = [&](mlir::Operation *end) {
      auto known = end->getAttrOfType<ShardingAttr>(shardingAttribute).getValue();
      Sharding other = Sharding::replicated(known.numDims());
      if (known.isReplicated())
        other.dims.back() = {AxisId(0)};
      end->setAttr(shardingAttribute, ShardingAttr::get(end->getContext(), mesh, other));
      return other;
    };
    SECTION("of a receive, whose readers need it as it was") {
      Sharding other = change(receive);
      CHECK_THAT(faultOfStage(drawn, 1), Contains("receive '" + value + "' with every micro-batch as input is ["));
      // With the piece of that sharding, the faults are its readers'.
      TensorShape shape = *shapeOf(receive.getOutput());
      auto whole = receive->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute).asArrayRef();
      shape.dims.assign(whole.begin(), whole.end());
      auto type = llvm::cast<mlir::RankedTensorType>(receive.getType());
      receive.getOutput().setType(type.clone(localShape(shape, other, mesh.getValue()).dims));
      CHECK_THAT(faultOfStage(drawn, 1), Contains("operand 0 is ") || Contains("is no collective of this mesh"));
    }
    SECTION("of a send, which has another piece") {
      change(send);
      CHECK_THAT(faultOfStage(drawn, 0), Contains("send '" + value + "' with every micro-batch is ["));
    }
  }
  SECTION("another part") {
    send->moveBefore(microBatchEndOf(mainOf(*drawn.staged.program.stages[0].module)));
    CHECK(faultOfStage(drawn, 0) ==
          "send '" + value + "' with every micro-batch: stands in another part than in the model");
    // Stage 1 waits in F for a value that stage 0 sends in B, where it waits for stage 1.
    CHECK_THAT(faultOfTransfers(drawn),
               Contains("workers wait for each other: worker 0 at the ") &&
                   Contains("worker 1 at the receive of '" + value + "' of micro-batch 0 in F0 of stage 1"));
  }
}

TEST_CASE("Stages that do not do the model's work are found") {
  StagedPlan drawn = drawnStages({.model = "gpt", .microBatch = 1}, "1f1b", "[2]", 3);
  auto fault = [&] {
    llvm::Error error = verifyStageOps(*drawn.cut.module, drawn.staged.modules);
    return error ? takeMessage(std::move(error)).second : "";
  };
  CHECK(fault() == "");
  auto main = mainOf(*drawn.staged.modules[1]);
  mlir::Operation *end = microBatchEndOf(main);
  mlir::Operation *sum = *llvm::find_if(llvm::make_pointer_range(main.front()),
                                        [](mlir::Operation *op) { return op->hasTrait<Accumulates>(); });
  std::string name = namePlan(main).ops.lookup(sum);
  SECTION("a sum behind the last micro-batch") {
    sum->moveAfter(end);
    CHECK(fault() == "stage 1: op '" + name + "' runs once a step, in the model with every micro-batch");
    // The proof of the stage alone sees that a sum cannot stand there.
    CHECK_THAT(faultOfStage(drawn, 1), Contains("runs with every micro-batch") || Contains("in part "));
  }
  SECTION("an op of no stage") {
    for (mlir::OpResult result : sum->getResults())
      result.replaceAllUsesWith(sum->getOperand(0));
    sum->erase();
    CHECK(fault() == "no stage runs op '" + name + "' of the model");
  }
  SECTION("an op of two stages") {
    drawn.staged.modules[0] = drawn.staged.modules[1]->clone();
    CHECK_THAT(fault(), Contains("' stands in the stages 0 and 1"));
  }
  SECTION("an op of another model") {
    sum->setLoc(mlir::NameLoc::get(mlir::StringAttr::get(sum->getContext(), "other")));
    CHECK(fault() == "stage 1: the model has no op 'other'");
  }
}

TEST_CASE("Lists that stages cannot run are found") {
  StagedPlan drawn = drawnStages({.model = "gpt", .microBatch = 1}, "1f1b", "[2]", 3);
  std::vector<std::vector<ProgramAction>> &workers = drawn.staged.program.workers;
  SECTION("a circle") {
    // F0 F1 B0 ... | F0 B0 ...: the second worker begins with F1, whose value the first sends behind B0.
    workers[0] = {workers[0][0], {ProgramPart::Backward, 0, 0}, {ProgramPart::Forward, 0, 1}};
    workers[1] = {{ProgramPart::Forward, 1, 1}, {ProgramPart::Backward, 1, 1}};
    for (int64_t rest : {0, 1, 2, 3}) {
      if (rest > 1)
        workers[0].push_back({ProgramPart::Forward, 0, rest});
      if (rest > 0)
        workers[0].push_back({ProgramPart::Backward, 0, rest});
      if (rest != 1) {
        workers[1].push_back({ProgramPart::Forward, 1, rest});
        workers[1].push_back({ProgramPart::Backward, 1, rest});
      }
    }
    CHECK_THAT(faultOfTransfers(drawn),
               Contains("workers wait for each other: worker 0 at the receive of '") &&
                   Contains("' of micro-batch 0 in B0 of stage 0, worker 1 at the receive of '") &&
                   Contains("' of micro-batch 1 in F1 of stage 1"));
  }
  SECTION("a swapped pair") {
    std::swap(workers[1][2], workers[1][3]); // F0 B0 B1 F1
    CHECK(faultOfTransfers(drawn) ==
          "worker 1: B1 of stage 1: the stage has 2 parts for a micro-batch, 0 of which have been run");
  }
  SECTION("an action that stands twice") {
    workers[1].push_back(workers[1].back());
    CHECK(faultOfTransfers(drawn) ==
          "worker 1: B3 of stage 1: the stage has 2 parts for a micro-batch, 2 of which have been run");
  }
  SECTION("a micro-batch that the step does not have") {
    workers[1].push_back({ProgramPart::Forward, 1, 4});
    workers[1].push_back({ProgramPart::Backward, 1, 4});
    CHECK(faultOfTransfers(drawn) == "worker 1: stage 1: its list runs 5 micro-batches to their end, the stage has 4");
  }
  SECTION("an action that is not there") {
    workers[0].pop_back();
    CHECK(faultOfTransfers(drawn) == "worker 0: stage 0: its list runs 3 micro-batches to their end, the stage has 4");
  }
  SECTION("halves of a backward pass in one part") {
    workers[0].back().part = ProgramPart::InputGradient;
    CHECK(faultOfTransfers(drawn) ==
          "worker 0: I3 of stage 0: the stage has 2 parts for a micro-batch, 1 of which have been run");
  }
  SECTION("a stage of two workers") {
    workers[1].push_back(workers[0].front());
    CHECK(faultOfTransfers(drawn) == "F0 of stage 0 is in the list of worker 1, but the stage is another worker's");
  }
  SECTION("ranks of two workers") {
    drawn.staged.program.stages[1].firstRank = 1;
    CHECK(faultOfTransfers(drawn) == "stages 0 and 1 are two workers', but share ranks");
  }
}

TEST_CASE("The proof says which schedules need sends that do not wait") {
  for (auto [schedule, waits] : {std::pair("gpipe", false), {"1f1b", true}, {"zb-h1", true}, {"interleaved", true}}) {
    INFO(schedule);
    StagedPlan drawn = drawnStages({.model = "vit", .microBatch = 1, .clipNorm = {}}, schedule, "[2]", 3);
    TransferProof proof = valueOf(verifyTransfers(drawn.staged.program));
    INFO(proof.rendezvousDeadlock);
    CHECK(proof.rendezvousDeadlock.empty() != waits);
  }
}

TEST_CASE("A plan of another number of stages is refused, and a fault names its stage") {
  StagedPlan drawn = drawnStages({.model = "vit", .microBatch = 1, .clipNorm = {}}, "1f1b", "[2]", 3);
  auto build = [&](uint32_t workers) {
    ActionLists lists = valueOf(generateActions(*valueOf(findPipelineSchedule("1f1b")), {workers, 4}));
    auto staged = buildStages(*drawn.cut.module, drawn.cut.graph, drawn.cut.split, drawn.plans, lists, false);
    return staged ? "" : takeMessage(staged.takeError()).second;
  };
  CHECK(build(2) == "");
  CHECK(build(3) == "the step is cut into 2 stages, the plan has 2 and its schedule 3");
  drawn.plans[1].choices.clear();
  CHECK_THAT(build(2), Contains("stage 1: plan: no choice for op '"));
  drawn.plans[1].memory = {};
  auto [fault, message] =
      takeMessage(verifyStages(drawn.staged.modules, drawn.staged.program, drawn.plans).takeError());
  CHECK(fault == Fault::NoPlan);
  CHECK_THAT(message, Contains("stage 1: the program needs "));
}
