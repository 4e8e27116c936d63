// Reads NodeProto.device_configurations: the specification's section "Multi-device" (docs/IR.md).
#include "Shardings.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc::onnx {

namespace {

constexpr int64_t mostParts = int64_t(1) << 20;

/// The tensor of a spec by its place among the node's inputs and outputs.
std::optional<NodeSharding::Tensor> findTensor(const NodeProto &node, const std::string &name) {
  for (int index = 0; index < node.output_size(); ++index)
    if (node.output(index) == name)
      return NodeSharding::Tensor{name, true, static_cast<unsigned>(index), {}};
  for (int index = 0; index < node.input_size(); ++index)
    if (node.input(index) == name)
      return NodeSharding::Tensor{name, false, static_cast<unsigned>(index), {}};
  return std::nullopt;
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
  sharding.tensors.push_back(std::move(*tensor));
  return llvm::Error::success();
}

} // namespace

llvm::Error readShardings(const NodeProto &node, llvm::StringRef name, ImportState &state) {
  for (const NodeDeviceConfigurationProto &configuration : node.device_configurations()) {
    NodeSharding sharding{name.str(), {}, configuration.configuration_id(), 0};
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
  }
  return llvm::Error::success();
}

} // namespace apc::onnx
