// Pins from the sharding specs that a model holds.
#include "ModelPins.h"

#include "ShardingSpecs.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace apc {

namespace {

std::vector<std::string> notesOn(const std::map<std::pair<std::string, int64_t>, unsigned> &otherDevices,
                                 int64_t devices, unsigned merged, size_t numPins) {
  std::vector<std::string> notes;
  for (const auto &[configuration, count] : otherDevices)
    notes.push_back(llvm::formatv("the model's shardings of {0} nodes for configuration '{1}' are not used: it has {2} "
                                  "devices, the plan {3}",
                                  count, configuration.first, configuration.second, devices)
                        .str());
  if (merged > 0)
    notes.push_back(
        llvm::formatv("the model's shardings of {0} nodes are not used: the nodes are parts of other ops", merged)
            .str());
  if (numPins > 0)
    notes.push_back(llvm::formatv("{0} ops are pinned by the model's own shardings", numPins).str());
  return notes;
}

} // namespace

/// Pins hold on all devices at once: the reason why a node's shardings are none.
static llvm::Error checkIsOnAllDevices(const NodeSharding &sharding, llvm::StringRef source) {
  constexpr llvm::StringLiteral without = "--ignore-model-shardings plans without the model's shardings";
  if (sharding.stage > 0)
    return inputError("{0}: it is in stage {1} of a pipeline: --pipeline decides on stages anew; {2}", source,
                      sharding.stage, without);
  for (const NodeSharding::Tensor &tensor : sharding.tensors)
    if (tensor.numHolders > 0 && tensor.numHolders < sharding.numDevices)
      return inputError("{0}: its sharding spec leaves '{1}' on {2} of {3} devices; a part on each device is accepted; "
                        "{4}",
                        source, tensor.name, tensor.numHolders, sharding.numDevices, without);
  return llvm::Error::success();
}

llvm::Expected<ModelPins> modelPins(const OpGraph &graph, const ImportReport &report, const PlanRequest &request,
                                    int64_t devices) {
  ModelPins model;
  if (request.ignoresModelShardings || report.shardings.empty())
    return model;
  if (request.parallel == ParallelMode::Data) {
    model.notes.push_back("the model's own shardings are not used: --parallel data cuts the batch and nothing else");
    return model;
  }
  std::map<llvm::StringRef, OpId> ops;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    ops.try_emplace(op.name, OpId(index));
  std::set<std::string> pinned;
  std::map<std::pair<std::string, int64_t>, unsigned> otherDevices;
  unsigned merged = 0;
  for (const NodeSharding &sharding : report.shardings) {
    auto op = ops.find(sharding.node);
    if (sharding.numDevices != devices)
      ++otherDevices[{sharding.configuration, sharding.numDevices}];
    else if (op == ops.end())
      ++merged;
    else if (pinned.insert(sharding.node).second) {
      std::string source = llvm::formatv("{0}, node '{1}'", request.modelPath, sharding.node).str();
      if (llvm::Error error = checkIsOnAllDevices(sharding, source))
        return error;
      llvm::Expected<Pin> pin = pinOf(graph.ruleOf(op->second), sharding, source);
      if (!pin)
        return pin.takeError();
      model.pins.push_back(std::move(*pin));
    }
  }
  model.notes = notesOn(otherDevices, devices, merged, model.pins.size());
  return model;
}

} // namespace apc
