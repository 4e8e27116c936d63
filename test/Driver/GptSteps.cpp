// Steps from text, layouts of them, and what a layer keeps.
#include "GptSteps.h"

#include "../ValueOf.h"
#include "Samples.h"

#include "apc/IR/Apc.h"
#include "apc/Transforms/BuildGraph.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <set>

namespace apc {

GptStep::GptStep(const GptSizes &sizes, const StepOf &how) {
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(gptText(sizes), &context);
  REQUIRE(module);
  if (how.isFused)
    recognizeComposites(*module);
  TrainingOptions options;
  options.loss = "sum:y";
  options.recompute = how.recompute;
  options.precision = how.precision;
  options.microBatches = how.microBatches;
  step.emplace(valueOf(buildTrainingStep(*module, options)));
  graph = valueOf(graphOfModel(*step->module, "gpt"));
}

OpGraph graphOf(const GptSizes &sizes, const StepOf &how) { return std::move(GptStep(sizes, how).graph); }

PlanRequest trainingOn(int64_t devices, const std::string &cluster) {
  PlanRequest request;
  request.devices = devices;
  request.cluster = cluster;
  return request;
}

int64_t stateBytes(const OpGraph &graph, const ParallelDegrees &layout) {
  PlanRequest request = trainingOn(layout.numDevices());
  request.fusionBytes = 0; // buffers of buckets are no states
  Plan plan = valueOf(evaluateLayout(graph, request, valueOf(readTarget(request)), layout, {}));
  return plan.memory[MemoryCategory::Parameters] + plan.memory[MemoryCategory::Gradients] +
         plan.memory[MemoryCategory::Optimizer];
}

/// Values of the backward pass: gradients, and what is made again.
static bool isOfBackward(llvm::StringRef name) { return name.contains(".grad") || name.contains(".recomputed"); }

int64_t keptBytes(const OpGraph &graph, llvm::function_ref<int64_t(size_t)> bytesOf) {
  std::vector<bool> kept = graph.keptForBackward();
  std::vector<ValueId> storages = graph.storages();
  std::set<ValueId> counted;
  int64_t sum = 0;
  for (size_t value = 0; value < graph.values.size(); ++value)
    if (const GraphValue &held = graph.value(storages[value]); kept[value] && held.role == ValueRole::Activation &&
                                                               !isOfBackward(held.name) &&
                                                               counted.insert(storages[value]).second)
      sum += bytesOf(storages[value].index());
  return sum;
}

/// Products are cut by columns and rows in turn; nothing is cut on one device.
static std::vector<Pin> pinsOn(int64_t ways, bool isCut) {
  std::vector<Pin> pins;
  std::string text = std::to_string(ways);
  if (ways > 1)
    for (const std::string &pin : {"_(query|key|value|up)$: n=" + text, "_(out|down)$: k=" + text,
                                   "_(norm1|norm2)$: " + (isCut ? "d1=" + text : "replicated"),
                                   "_(joined|end|out_drawn|down_drawn)$: " + (isCut ? "b1=" + text : "replicated")})
      pins.push_back(valueOf(parsePin(pin, "--pin")));
  return pins;
}

LayerBytes layerBytesOn(int64_t ways, GptSizes sizes, const StepOf &how, bool isCut) {
  LayerBytes bytes[2];
  for (int64_t more : {0, 1}) {
    sizes.layers = 2 + more;
    OpGraph graph = graphOf(sizes, how);
    PlanRequest request = trainingOn(ways);
    request.pins = pinsOn(ways, isCut);
    request.memoryLimitBytes = int64_t(1) << 50; // a whole layer of some papers is larger than a device
    Plan plan = valueOf(planGraph(graph, request, valueOf(readTarget(request)), {}, {}));
    const std::vector<PlanSharding> &shardings = stageOf(plan).shardings;
    bytes[more].planned = plan.memory[MemoryCategory::Activations];
    bytes[more].kept = keptBytes(graph, [&](size_t value) {
      TensorShape local = graph.values[value].shape;
      local.dims.assign(shardings[value].localShape.begin(), shardings[value].localShape.end());
      return local.bytes();
    });
  }
  return {bytes[1].kept - bytes[0].kept, bytes[1].planned - bytes[0].planned};
}

double keptPerLayerOn(int64_t ways, const GptSizes &sizes, const StepOf &how, bool isCut) {
  return double(layerBytesOn(ways, sizes, how, isCut).kept) / double(sizes.batch * sizes.length * sizes.hidden);
}

} // namespace apc
