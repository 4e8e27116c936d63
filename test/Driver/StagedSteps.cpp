// Programs of stages, and their runs.
#include "StagedSteps.h"

#include "../ValueOf.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PipelineActions.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Interpret/DrawTensor.h"
#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Transforms/StageModule.h"
#include "apc/Transforms/SumByStage.h"

namespace apc {

std::vector<size_t> evenCuts(const OpGraph &graph, unsigned stages) {
  size_t numForward = forwardOps(graph).size();
  std::vector<size_t> cuts;
  for (unsigned stage = 1; stage < stages; ++stage)
    cuts.push_back(numForward * stage / stages);
  return cuts;
}

CutModule cutModule(const ImportedStep &step, llvm::ArrayRef<size_t> cuts) {
  SplitStep own = valueOf(splitStep(step.graph, cuts));
  return {sumByStage(*step.module, step.graph, own.sums), std::move(own.graph), std::move(own.split)};
}

Program wholeStages(const CutModule &step, const ActionLists &lists, bool splitsBackward) {
  Program program;
  program.workers = valueOf(programActions(lists));
  PlanNames names = namePlan(mainOf(*step.module));
  for (mlir::BlockArgument argument : mainOf(*step.module).getArguments())
    program.inputs.push_back(names.values.lookup(argument));
  program.results = names.outputValues;
  for (unsigned stage = 0; stage < step.split.numStages; ++stage)
    program.stages.push_back(
        {stageModule(*step.module, step.graph, step.split, stage, splitsBackward), lists.shape.workerOf(stage), 1});
  return program;
}

static llvm::Expected<Tensor> drawnParameter(ParameterOp parameter) {
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
  if (auto shape = parameter->getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute))
    type = mlir::RankedTensorType::get(shape.asArrayRef(), type.getElementType());
  if (parameter.getSource() == zerosSource)
    return zeros(type);
  llvm::StringRef name = parameter.getName();
  if (parameter.getSource() == masterSource)
    name.consume_back(masterSuffix);
  return drawTensor(name, type);
}

void checkRun(const ImportedStep &step, const Program &program) {
  for (const OutputError &output : valueOf(executeProgram(*step.module, program, drawnParameter))) {
    INFO(output.name << ": error " << output.relative << ", accepted " << output.accepted);
    CHECK(output.agrees());
  }
}

} // namespace apc
