// Plans of the models in models/, for tests.
#include "Samples.h"

#include "../ValueOf.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

namespace apc {

PlanRequest requestOf(const Sample &sample) {
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.modelPath = std::string(APC_MODELS) + "/" + sample.model;
  request.devices = sample.devices;
  request.cluster = sample.cluster;
  request.dims = sample.dims;
  return request;
}

PlanningControl controlOf(const Sample &sample) {
  PlanningControl control;
  control.numThreads = sample.threads;
  return control;
}

Plan planOf(const Sample &sample) {
  llvm::Expected<Plan> plan = planModel(requestOf(sample), controlOf(sample));
  if (plan)
    return std::move(*plan);
  FAIL(sample.model << ": " << takeMessage(plan.takeError()).second);
  return {};
}

std::string refusal(const PlanRequest &request, llvm::StringRef layout) {
  llvm::Expected<Plan> plan = evaluateModel(request, valueOf(parseParallelDegrees(layout, "--layout")), controlOf());
  REQUIRE(!plan);
  auto [fault, message] = takeMessage(plan.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

const StagePlan &stageOf(const Plan &plan) {
  REQUIRE(plan.stages.size() == 1);
  return plan.stages.front();
}

std::vector<std::string> innerAxes(const Plan &plan) {
  unsigned innermost = 0;
  for (const PlanAxis &axis : stageOf(plan).mesh.axes)
    innermost = std::max(innermost, axis.levelIndex);
  std::vector<std::string> names;
  for (const PlanAxis &axis : stageOf(plan).mesh.axes)
    if (axis.levelIndex == innermost)
      names.push_back(axis.name);
  return names;
}

void checkSound(const Plan &plan) {
  CHECK(plan.memory.total() <= plan.memoryLimitBytes);
  CHECK(plan.lowerBoundSeconds <= plan.stepSeconds);
  CHECK(plan.stepSeconds > 0);
  REQUIRE(plan.references.size() >= 3);
  for (const Reference &reference : plan.references) {
    INFO(reference.name);
    if (reference.feasible)
      CHECK(plan.stepSeconds <= *reference.stepSeconds);
    else
      CHECK(!reference.reason.empty());
  }
}

void checkTinyGptStep(llvm::StringRef layout, llvm::function_ref<void(PlanRequest &)> change) {
  INFO(layout.str());
  auto data = valueOf(ModelData::open(std::string(APC_MODELS) + "/tiny/gpt/model.onnx"));
  ParallelDegrees degrees = valueOf(parseParallelDegrees(layout, "--layout"));
  PlanRequest request = requestOf({"tiny/gpt/model.onnx", degrees.numDevices(), "cpu-local"});
  request.mode = StepMode::Train;
  request.loss = "cross-entropy";
  request.optimizer = OptimizerChoice::Momentum;
  change(request);
  PlannedProgram built = valueOf(buildProgram(valueOf(evaluateModel(request, degrees, controlOf()))));
  for (const OutputError &error :
       valueOf(executeProgram(*built.original, built.program, parametersOf(data, &built.folded)))) {
    INFO(error.name);
    CHECK(error.agrees());
  }
}

} // namespace apc
