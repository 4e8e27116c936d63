// Another planner's file as a layout or as pins.
#include "apc/Driver/EvaluateLayoutFile.h"

#include "../Points/StepsAtHand.h"
#include "../ShardingSpecs.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Export/LayoutFile.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

/// The cuts of an op as specs of its node's inputs, which are all operands or those that are no constants.
static NodeSharding specsOf(const OperandCuts &cuts, const GraphOp &op, bool leavesConstantsOut) {
  NodeSharding sharding{cuts.op, {}, "", 0};
  std::vector<unsigned> places;
  for (auto [index, value] : llvm::enumerate(op.operands))
    if (value || !leavesConstantsOut)
      places.push_back(static_cast<unsigned>(index));
  for (auto [number, ways] : llvm::enumerate(cuts.operands)) {
    const unsigned index = number < places.size() ? places[number] : static_cast<unsigned>(number);
    NodeSharding::Tensor tensor{"input " + std::to_string(index), false, index, {}};
    for (auto [dim, count] : llvm::enumerate(ways))
      tensor.ways[static_cast<int64_t>(dim)] = count;
    sharding.tensors.push_back(std::move(tensor));
  }
  return sharding;
}

namespace {

struct FilePins {
  std::vector<Pin> pins;
  std::vector<std::string> unknown; ///< ops that the model lacks
  bool coversModel = false;         ///< all ops of the forward pass are pinned
};

} // namespace

static llvm::Expected<FilePins> pinsOf(const OpGraph &graph, const LayoutFile &file, llvm::StringRef path) {
  llvm::StringMap<OpId> ops;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    ops[op.name] = OpId(index);
  FilePins found;
  size_t numUpdates = 0;
  for (const OperandCuts &cuts : file.ops) {
    auto op = ops.find(cuts.op);
    if (op == ops.end()) {
      found.unknown.push_back(cuts.op);
      continue;
    }
    if (!file.cutsStates && graph.isUpdate(op->second)) { // it follows where parameters rest
      ++numUpdates;
      continue;
    }
    std::string source = path.str() + ", op '" + cuts.op + "'";
    const NodeSharding specs = specsOf(cuts, graph.op(op->second), file.leavesConstantsOut);
    llvm::Expected<Pin> pin = pinOf(graph.ruleOf(op->second), specs, source);
    if (!pin)
      return pin.takeError();
    found.pins.push_back(std::move(*pin));
  }
  size_t numForward = 0;
  for (auto [op, follows] : llvm::zip_equal(graph.ops, graph.followers()))
    numForward += !follows && !op.operands.empty() && !op.results.empty();
  found.coversModel = found.pins.size() + numUpdates >= numForward;
  if (found.pins.empty())
    return inputError("{0}: the model has none of its {1} ops; accepted are the names of the model's nodes", path,
                      file.ops.size());
  return found;
}

static llvm::Expected<Plan> evaluateCuts(PlanRequest request, const LayoutFile &file, llvm::StringRef path,
                                         const PlanningControl &control) {
  if (request.mode == StepMode::Train && request.recompute == RecomputeChoice::Auto)
    request.recompute = RecomputeChoice::None;
  if (request.mode == StepMode::Train && request.zero == ZeroChoice::Auto)
    request.zero = file.cutsStates ? ZeroChoice::Stage1 : ZeroChoice::Stage0;
  llvm::Expected<StepAtHand> step = buildStep(request);
  if (!step)
    return step.takeError();
  llvm::Expected<FilePins> pins = pinsOf(step->graph, file, path);
  if (!pins)
    return pins.takeError();
  request.pins = std::move(pins->pins);
  request.ignoresModelShardings = true;
  request.parallel = pins->coversModel ? ParallelMode::Auto : ParallelMode::Semi;
  llvm::Expected<Plan> plan = searchModel(request, control);
  if (plan && !pins->unknown.empty())
    plan->notes.push_back(llvm::formatv("{0} ops of {1} are none of the model's, the first is '{2}'",
                                        pins->unknown.size(), path, pins->unknown.front()));
  return plan;
}

llvm::Expected<Plan> evaluateLayoutFile(PlanRequest request, llvm::StringRef path, bool isDevicesGiven,
                                        const PlanningControl &control) {
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  llvm::Expected<LayoutFile> file = parseLayoutFile(*text, path);
  if (!file)
    return file.takeError();
  if (!isDevicesGiven && file->devices)
    request.devices = *file->devices;
  if (!request.globalBatch && file->globalBatch)
    request.globalBatch = file->globalBatch;
  return file->layout ? evaluateModel(request, *file->layout, control)
                      : evaluateCuts(std::move(request), *file, path, control);
}

} // namespace apc
