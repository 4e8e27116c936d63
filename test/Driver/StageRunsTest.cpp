// Stages run under pipeline schedules, one rank each, beside the whole step.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PipelineActions.h"
#include "apc/Graph/StageSplit.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Interpret/DrawTensor.h"
#include "apc/Interpret/Grid.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Transforms/StageModule.h"

#include "llvm/ADT/STLExtras.h"

using namespace apc;
using Catch::Contains;

namespace {

llvm::Expected<Tensor> drawnParameter(ParameterOp parameter) {
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
  if (parameter.getSource() == zerosSource)
    return zeros(type);
  llvm::StringRef name = parameter.getName();
  if (parameter.getSource() == masterSource)
    name.consume_back(masterSuffix);
  return drawTensor(name, type);
}

/// Stages of as many ops of the forward pass each, wherever layers begin.
std::vector<size_t> evenCuts(const OpGraph &graph, unsigned stages) {
  size_t numForward = forwardOps(graph).size();
  std::vector<size_t> cuts;
  for (unsigned stage = 1; stage < stages; ++stage)
    cuts.push_back(numForward * stage / stages);
  return cuts;
}

/// Each stage on a rank of its worker, whole.
Program programOf(const ImportedStep &step, const StageSplit &split, const ActionLists &lists) {
  Program program;
  bool splitsBackward = llvm::any_of(lists.workers, [](const std::vector<Slot> &slots) {
    return llvm::any_of(slots, [](const Slot &slot) {
      return slot.action.kind == ActionKind::WeightGradient ||
             (slot.beside && slot.beside->kind == ActionKind::WeightGradient);
    });
  });
  for (unsigned stage = 0; stage < split.numStages; ++stage)
    program.stages.push_back(
        {stageModule(*step.module, step.graph, split, stage, splitsBackward), lists.shape.workerOf(stage), 1});
  program.workers = valueOf(programActions(lists));
  PlanNames names = namePlan(mainOf(*step.module));
  for (mlir::BlockArgument argument : mainOf(*step.module).getArguments())
    program.inputs.push_back(names.values.lookup(argument));
  program.results = names.outputValues;
  return program;
}

void checkRun(const ImportedStep &step, const Program &program) {
  for (const OutputError &output : valueOf(executeProgram(*step.module, program, drawnParameter))) {
    INFO(output.name << ": error " << output.relative << ", accepted " << output.accepted);
    CHECK(output.agrees());
  }
}

unsigned checkSchedules(const TinyStep &tiny, uint32_t workers) {
  INFO(tiny.model);
  ImportedStep step = importedStep(requestOfStep(tiny));
  auto microBatches = static_cast<uint32_t>(tiny.globalBatch / tiny.microBatch);
  unsigned numRun = 0;
  for (const PipelineSchedule &schedule : allPipelineSchedules())
    for (uint32_t chunks : {1U, 2U}) {
      PipelineCounts counts{workers, microBatches, chunks};
      if (schedule.placement == Placement::Mirrored || chunks < schedule.leastChunks || chunks > schedule.mostChunks ||
          !schedule.accepts(counts))
        continue;
      StageSplit split = valueOf(splitStages(step.graph, evenCuts(step.graph, workers * chunks)));
      INFO(schedule.name.str() << ", " << workers << " workers, " << chunks << " chunks, " << microBatches
                               << " micro-batches");
      checkRun(step, programOf(step, split, valueOf(generateActions(schedule, counts))));
      ++numRun;
    }
  return numRun;
}

} // namespace

TEST_CASE("Stages of the tiny GPT compute the step under every schedule") {
  CHECK(checkSchedules({.model = "gpt", .microBatch = 1, .globalBatch = 4}, 2) >= 10);
  CHECK(checkSchedules({.model = "gpt", .microBatch = 1, .globalBatch = 8}, 2) >= 10);
  CHECK(checkSchedules({.model = "gpt", .microBatch = 1, .globalBatch = 8}, 4) >= 10);
}

TEST_CASE("Stages of tiny models compute the step: skips, shared weights, statistics, recomputation") {
  for (const char *model : tinyModels)
    for (RecomputeChoice recompute : {RecomputeChoice::None, RecomputeChoice::Full})
      for (const char *name : {"1f1b", "zb-h1", "interleaved"}) {
        INFO(model << ", " << name);
        uint32_t chunks = name == std::string("interleaved") ? 2 : 1;
        TinyStep tiny{.model = model, .recompute = recompute, .microBatch = 1, .globalBatch = 4};
        ImportedStep step = importedStep(requestOfStep(tiny));
        StageSplit split = valueOf(splitStages(step.graph, evenCuts(step.graph, 2 * chunks)));
        const PipelineSchedule &schedule = *valueOf(findPipelineSchedule(name, chunks));
        checkRun(step, programOf(step, split, valueOf(generateActions(schedule, {2, 4, chunks}))));
      }
}

TEST_CASE("A step of one micro-batch, and one in lower precision, run in stages") {
  for (const TinyStep &tiny :
       {TinyStep{.model = "gpt", .microBatch = 4}, TinyStep{.model = "t5", .microBatch = 4, .clipNorm = {}},
        TinyStep{.model = "gpt", .optimizer = OptimizerChoice::Momentum, .precision = PrecisionChoice::Fp16},
        TinyStep{.model = "llama", .precision = PrecisionChoice::Bf16, .microBatch = 1}}) {
    INFO(tiny.model);
    ImportedStep step = importedStep(requestOfStep(tiny));
    auto microBatches = static_cast<uint32_t>(tiny.globalBatch / tiny.microBatch);
    StageSplit split = valueOf(splitStages(step.graph, evenCuts(step.graph, 2)));
    for (const char *name : {"1f1b", "gpipe"}) {
      INFO(name);
      const PipelineSchedule &schedule = *valueOf(findPipelineSchedule(name));
      checkRun(step, programOf(step, split, valueOf(generateActions(schedule, {2, microBatches}))));
    }
  }
}
