// Reads NodeProto.device_configurations: the specification's section "Multi-device" (docs/IR.md).
#include "Shardings.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

namespace apc::onnx {

namespace {

constexpr int64_t mostParts = int64_t(1) << 20;

/// The tensor of a spec by its place among the node's inputs and outputs.
std::optional<NodeSharding::Tensor> findTensor(const NodeProto &node, const std::string &name) {
  NodeSharding::Tensor tensor;
  tensor.name = name;
  for (bool isOutput : {true, false}) {
    const auto &names = isOutput ? node.output() : node.input();
    if (auto found = llvm::find(names, name); found != names.end()) {
      tensor.isOutput = isOutput;
      tensor.index = static_cast<unsigned>(found - names.begin());
      return tensor;
    }
  }
  return std::nullopt;
}

/// Counts the devices that hold parts: one for each part, or a group whose members hold the same; each device once.
llvm::Error readDevices(const ShardingSpecProto &spec, NodeSharding::Tensor &tensor, const std::string &where) {
  if (spec.device_size() == 0)
    return llvm::Error::success();
  int64_t parts = 1;
  for (auto [dim, ways] : tensor.ways)
    parts *= ways;
  if (spec.device_size() != parts)
    return inputError("{0} lists {1} devices of '{2}' for {3} parts; one for each part is accepted", where,
                      spec.device_size(), tensor.name, parts);
  std::map<int64_t, std::vector<int64_t>> groups;
  for (const IntIntListEntryProto &entry : spec.index_to_device_group_map())
    groups[entry.key()].assign(entry.value().begin(), entry.value().end());
  std::set<int64_t> held;
  for (int64_t device : spec.device()) {
    auto group = groups.find(device);
    if (device < 0 && group == groups.end())
      return inputError("{0} names the group {1} of devices of '{2}', which its map has not", where, device,
                        tensor.name);
    for (int64_t member : group == groups.end() ? std::vector<int64_t>{device} : group->second)
      if (member < 0 || !held.insert(member).second)
        return inputError("{0} gives device {1} two parts of '{2}'; one is accepted", where, member, tensor.name);
  }
  tensor.numHolders = static_cast<int64_t>(held.size());
  tensor.lastHolder = held.empty() ? -1 : *held.rbegin();
  return llvm::Error::success();
}

llvm::Error readTensor(const NodeProto &node, llvm::StringRef name, const ShardingSpecProto &spec,
                       llvm::StringRef source, NodeSharding &sharding) {
  std::optional<NodeSharding::Tensor> tensor = findTensor(node, spec.tensor_name());
  if (!tensor)
    return inputError("{0}: node '{1}': its sharding spec names the tensor '{2}'; one of its inputs and outputs is "
                      "accepted",
                      source, name, spec.tensor_name());
  for (const ShardedDimProto &dim : spec.sharded_dim()) {
    int64_t ways = 1;
    for (const SimpleShardedDimProto &part : dim.simple_sharding()) {
      if (part.num_shards() < 1 || part.num_shards() > mostParts || ways > mostParts)
        return inputError(
            "{0}: node '{1}': its sharding spec cuts dim {2} of '{3}' in {4} parts; 1 to {5} are accepted", source,
            name, dim.axis(), spec.tensor_name(), part.num_shards(), mostParts);
      ways *= part.num_shards();
    }
    tensor->ways[dim.axis()] = ways;
  }
  std::string where = llvm::formatv("{0}: node '{1}': its sharding spec", source, name);
  if (llvm::Error error = readDevices(spec, *tensor, where))
    return error;
  sharding.tensors.push_back(std::move(*tensor));
  return llvm::Error::success();
}

} // namespace

llvm::Error readShardings(const NodeProto &node, llvm::StringRef name, ImportState &state) {
  for (const NodeDeviceConfigurationProto &configuration : node.device_configurations()) {
    NodeSharding sharding{name.str(), {}, configuration.configuration_id(), 0, configuration.pipeline_stage()};
    for (const ShardingSpecProto &spec : configuration.sharding_spec())
      if (llvm::Error error = readTensor(node, name, spec, state.source, sharding))
        return error;
    if (!sharding.tensors.empty())
      state.report.shardings.push_back(std::move(sharding));
  }
  return llvm::Error::success();
}

llvm::Error bindConfigurations(const ModelProto &model, ImportState &state) {
  llvm::StringMap<int64_t> devices;
  for (const DeviceConfigurationProto &configuration : model.configuration())
    devices[configuration.name()] = configuration.num_devices();
  for (NodeSharding &sharding : state.report.shardings) {
    auto found = devices.find(sharding.configuration);
    if (found == devices.end())
      return inputError(
          "{0}: node '{1}' has a sharding for the configuration '{2}', which the model does not define; it "
          "defines {3}",
          state.source, sharding.node, sharding.configuration,
          devices.empty() ? "none" : llvm::join(devices.keys(), ", "));
    sharding.numDevices = found->second;
    for (const NodeSharding::Tensor &tensor : sharding.tensors)
      if (tensor.lastHolder >= sharding.numDevices)
        return inputError("{0}: node '{1}': its sharding spec gives '{2}' to device {3}; 0 to {4} are those of "
                          "configuration '{5}'",
                          state.source, sharding.node, tensor.name, tensor.lastHolder, sharding.numDevices - 1,
                          sharding.configuration);
  }
  return llvm::Error::success();
}

} // namespace apc::onnx
