// Modules of stages held against graphs of stages.
#include "../ValueOf.h"
#include "StagedSteps.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Graph/StageGraph.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/StageModule.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/STLExtras.h"

using namespace apc;

namespace {

/// The names of tied ops, a line for each tie.
std::vector<std::string> tiesOf(const OpGraph &graph) {
  std::vector<std::string> ties;
  for (const TiedOps &tie : graph.ties) {
    ties.emplace_back();
    for (OpId op : tie)
      ties.back() += graph.op(op).name + " ";
  }
  return ties;
}

void checkEqual(const OpGraph &found, const OpGraph &expected) {
  REQUIRE(found.ops.size() == expected.ops.size());
  REQUIRE(found.values.size() == expected.values.size());
  for (size_t index = 0; index < found.ops.size(); ++index) {
    const GraphOp &op = found.ops[index], &wanted = expected.ops[index];
    INFO("op " << index << ": " << op.name << ", expected " << wanted.name);
    REQUIRE(op.name == wanted.name);
    CHECK(op.operatorName == wanted.operatorName);
    CHECK(found.ruleOf(OpId(index)) == expected.ruleOf(OpId(index)));
    CHECK(op.operands == wanted.operands);
    CHECK(op.results == wanted.results);
    CHECK(op.atLoad == wanted.atLoad);
    CHECK(op.leadingFactors == wanted.leadingFactors);
    CHECK(op.repeats == wanted.repeats);
    CHECK(op.accumulates == wanted.accumulates);
    CHECK(op.inPass == wanted.inPass);
    CHECK(op.isTransfer == wanted.isTransfer);
  }
  for (size_t index = 0; index < found.values.size(); ++index) {
    const GraphValue &value = found.values[index], &wanted = expected.values[index];
    INFO("value " << index << ": " << value.name << ", expected " << wanted.name);
    CHECK(value.name == wanted.name);
    CHECK(value.shape == wanted.shape);
    CHECK(value.role == wanted.role);
    CHECK(value.producer == wanted.producer);
    CHECK(value.resultIndex == wanted.resultIndex);
    CHECK(value.replaces == wanted.replaces);
  }
  CHECK(tiesOf(found) == tiesOf(expected));
}

/// Ops stand in the parts that the graph gives them, and parts end where they should.
void checkParts(mlir::ModuleOp module, const StageGraph &stage, bool splitsBackward) {
  std::vector<std::string> ends;
  for (mlir::Operation &op : mainOf(module).front())
    if (auto end = llvm::dyn_cast<PartEndOp>(op))
      ends.push_back(end.getPart().str());
    else if (llvm::isa<MicroBatchEndOp>(op))
      ends.emplace_back("micro-batch");
  CHECK(ends == (splitsBackward ? std::vector<std::string>{"forward", "input_gradients", "micro-batch"}
                                : std::vector<std::string>{"forward", "micro-batch"}));
  REQUIRE(stage.parts.size() == stage.graph.ops.size());
  for (size_t op = 0; op < stage.graph.ops.size(); ++op) {
    INFO(stage.graph.ops[op].name);
    for (std::optional<ValueId> operand : stage.graph.ops[op].operands)
      if (operand && !isSource(stage.graph, stage.graph.value(*operand).producer))
        CHECK(stage.parts[stage.graph.value(*operand).producer.index()] <= stage.parts[op]);
  }
}

void checkStages(const ImportedStep &imported, llvm::ArrayRef<size_t> cuts) {
  CutModule step = cutModule(imported, cuts);
  const StageSplit &split = step.split;
  {
    INFO("the whole step");
    REQUIRE(mlir::succeeded(mlir::verify(*step.module)));
    mlir::FailureOr<OpGraph> whole = buildGraph(*step.module);
    REQUIRE(mlir::succeeded(whole));
    checkEqual(*whole, step.graph);
  }
  for (bool splitsBackward : {false, true})
    for (unsigned stage = 0; stage < split.numStages; ++stage) {
      INFO("stage " << stage << " of " << split.numStages << (splitsBackward ? ", backward in two parts" : ""));
      StageGraph expected = stageGraph(step.graph, split, stage, splitsBackward);
      mlir::OwningOpRef<mlir::ModuleOp> module = stageModule(*step.module, step.graph, split, stage, splitsBackward);
      REQUIRE(mlir::succeeded(mlir::verify(*module)));
      mlir::FailureOr<OpGraph> found = buildGraph(*module);
      REQUIRE(mlir::succeeded(found));
      checkEqual(*found, expected.graph);
      checkParts(*module, expected, splitsBackward);
    }
}

void checkModules(const TinyStep &step) {
  INFO(step.model);
  ImportedStep imported = importedStep(requestOfStep(step));
  std::vector<CutPosition> cuts = layerCuts(imported.graph);
  REQUIRE(!cuts.empty());
  checkStages(imported, cuts[cuts.size() / 2].position);
  if (cuts.size() > 1)
    checkStages(imported, {cuts[cuts.size() / 3].position, cuts[cuts.size() / 3 + 1].position});
  size_t numForward = forwardOps(imported.graph).size();
  checkStages(imported, {numForward / 4, numForward / 2 + 1}); // inside of layers
}

} // namespace

TEST_CASE("The module of a stage has the graph of the stage") {
  for (const char *model : tinyModels) {
    checkModules({.model = model});
    checkModules({.model = model, .optimizer = OptimizerChoice::Sgd, .microBatch = 4, .clipNorm = {}});
    checkModules({.model = model, .recompute = RecomputeChoice::Full});
    checkModules({.model = model, .mode = StepMode::Infer});
  }
}

TEST_CASE("The module of a stage of a step in lower precision has the graph of the stage") {
  for (PrecisionChoice precision : {PrecisionChoice::Bf16, PrecisionChoice::Fp16})
    for (const char *model : {"gpt", "t5"})
      checkModules({.model = model, .recompute = RecomputeChoice::Norms, .precision = precision});
}
