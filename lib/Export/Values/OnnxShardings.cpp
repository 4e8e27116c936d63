// The model itself with the plan's shardings in it: ONNX IR 11's device configurations (docs/IR.md, "Multi-device").
#include "../BoundOps.h"
#include "../Targets.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "OnnxModel.pb.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <map>

namespace apc {

namespace {

using namespace onnx;

constexpr llvm::StringLiteral configuration = "apc";
constexpr int64_t firstVersion = 11; ///< of ONNX's IR that has device configurations

/// The ranks of a stage that hold each piece of a tensor, pieces numbered in the order of the dims, the first
/// outermost.
std::vector<std::vector<int64_t>> holdersOf(const Sharding &sharding, const Mesh &mesh, int64_t firstRank) {
  AxisList axes;
  for (const AxisList &own : sharding.dims)
    llvm::append_range(axes, own);
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(mesh.size(axes)));
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank)
    holders[static_cast<size_t>(mesh.indexInGroup(rank, axes))].push_back(firstRank + rank);
  return holders;
}

/// A tensor of a node as one spec; tensors that are whole have no cut dim, and all devices as one group.
void fillSpec(const Sharding &sharding, const TensorShape &shape, const Mesh &mesh, int64_t firstRank,
              ShardingSpecProto &spec) {
  for (auto [piece, ranks] : llvm::enumerate(holdersOf(sharding, mesh, firstRank))) {
    if (ranks.size() == 1) {
      spec.add_device(ranks.front());
      continue;
    }
    int64_t group = -1 - static_cast<int64_t>(piece);
    spec.add_device(group);
    IntIntListEntryProto &entry = *spec.add_index_to_device_group_map();
    entry.set_key(group);
    for (int64_t rank : ranks)
      entry.add_value(rank);
  }
  for (auto [dim, axes] : llvm::enumerate(sharding.dims)) {
    if (axes.empty())
      continue;
    ShardedDimProto &cut = *spec.add_sharded_dim();
    cut.set_axis(static_cast<int64_t>(dim));
    SimpleShardedDimProto &part = *cut.add_simple_sharding();
    part.set_dim_value(shape.dims[dim]);
    part.set_num_shards(mesh.size(axes));
  }
}

/// Writes the strategies of ops into the nodes that they were made of.
class NodeAnnotator {
public:
  NodeAnnotator(const ExportSource &source, const BoundPlan &bound) : source(source), bound(bound) {
    for (const BoundOp &own : bound.ops) {
      const GraphOp &op = source.graph.op(own.op);
      byName[op.name] = &own;
      if (!op.results.empty() && op.results[0])
        byResult[source.graph.value(*op.results[0]).name] = &own;
    }
  }

  void annotate(NodeProto &node) {
    const BoundOp *op = find(node);
    if (!op) {
      ++numWithout;
      return;
    }
    NodeDeviceConfigurationProto &own = *node.add_device_configurations();
    own.set_configuration_id(configuration.str());
    if (source.plan.pipeline)
      own.set_pipeline_stage(static_cast<int32_t>(op->stage));
    annotateTensors(*op, node, own);
  }

  std::vector<std::string> takeUnsaid() const {
    std::vector<std::string> unsaid = reasons.take();
    if (numWithout > 0)
      unsaid.push_back(llvm::formatv(
          "{0} nodes have no sharding: they are constants, parts of other ops, or made no op", numWithout));
    return unsaid;
  }

private:
  /// Nodes without a name are known by what they give.
  const BoundOp *find(const NodeProto &node) const {
    if (!node.name().empty())
      return byName.lookup(node.name());
    return node.output_size() > 0 ? byResult.lookup(node.output(0)) : nullptr;
  }

  void annotateTensors(const BoundOp &own, const NodeProto &node, NodeDeviceConfigurationProto &configured) {
    const GraphOp &op = source.graph.op(own.op);
    const FactorRule &rule = source.graph.ruleOf(own.op);
    llvm::StringSet<> said;
    auto add = [&](const RuleTensor &tensor, std::optional<ValueId> value, const std::string &name, Sharding sharding) {
      if (tensor.absent || !value || tensor.dims.empty() || !isNamed(*value, name) || !said.insert(name).second)
        return;
      ShardingSpecProto &spec = *configured.add_sharding_spec();
      spec.set_tensor_name(name);
      addReasons(op.name, sharding);
      fillSpec(sharding, source.graph.value(*value).shape, bound.meshes[own.stage],
               source.plan.stages[own.stage].firstRank, spec);
    };
    for (unsigned index = 0; index < rule.results.size() && index < unsigned(node.output_size()); ++index)
      add(rule.results[index], op.results[index], node.output(int(index)), resultSharding(rule, own.strategy, index));
    for (unsigned index = 0; index < rule.operands.size() && index < unsigned(node.input_size()); ++index)
      add(rule.operands[index], op.operands[index], node.input(int(index)), operandSharding(rule, own.strategy, index));
  }

  /// The op's tensor is the node's: an op may take another in its place, as one that was transposed when the model was
  /// read.
  bool isNamed(ValueId value, llvm::StringRef name) const {
    if (source.graph.value(value).name == name)
      return true;
    std::optional<ValueId> parameter = parameterOf(source.graph, value);
    return parameter && source.graph.value(*parameter).name == name &&
           source.graph.value(*parameter).shape.dims == source.graph.value(value).shape.dims;
  }

  void addReasons(const std::string &op, const Sharding &sharding) {
    if (sharding.isPartial())
      reasons.add(op, "a tensor is in parts that have yet to be combined: IR 11 has cut tensors alone");
    if (!sharding.parted.empty())
      reasons.add(op, "a dim is cut inside of its parts: IR 11 cuts a dim as one run");
  }

  const ExportSource &source;
  const BoundPlan &bound;
  llvm::StringMap<const BoundOp *> byName, byResult;
  GroupedReasons reasons;
  unsigned numWithout = 0;
};

/// The parts of a plan that nodes do not carry.
std::vector<std::string> unsaidOf(const Plan &plan, const ModelProto &model) {
  std::vector<std::string> unsaid;
  if (plan.training)
    unsaid.push_back("the loss, gradients, storage and updates: the model is the forward pass");
  if (plan.training && plan.training->recompute != "none")
    unsaid.push_back("recompute " + plan.training->recompute + ": nodes do not say it");
  if (plan.pipeline)
    unsaid.push_back("schedule " + plan.pipeline->schedule + ": nodes say stages alone");
  for (const TensorProto &tensor : model.graph().initializer())
    for (const StringStringEntryProto &entry : tensor.external_data())
      if (entry.key() == "location") {
        unsaid.push_back("weights: they stay in files such as '" + entry.value() +
                         "', which are looked for beside the model that is written");
        return unsaid;
      }
  return unsaid;
}

llvm::Expected<ModelProto> readModel(const std::string &path) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  ModelProto model;
  if (!model.ParseFromString(*bytes))
    return inputError("{0}: is not ONNX's binary form; a model below 2 GiB, its weights beside it where they are "
                      "more, is accepted",
                      path);
  if (model.configuration_size() > 0)
    return inputError("{0}: carries device configurations already; a model without them is accepted", path);
  return model;
}

} // namespace

llvm::Expected<Exported> writeOnnx(const ExportSource &source, const ParallelDegrees &) {
  llvm::Expected<BoundPlan> bound = boundPlan(source);
  if (!bound)
    return bound.takeError();
  llvm::Expected<ModelProto> model = readModel(source.plan.request.modelPath);
  if (!model)
    return model.takeError();
  model->set_ir_version(std::max<int64_t>(firstVersion, model->ir_version()));
  DeviceConfigurationProto &devices = *model->add_configuration();
  devices.set_name(configuration.str());
  devices.set_num_devices(static_cast<int32_t>(source.plan.numRanks()));
  NodeAnnotator annotator(source, *bound);
  for (NodeProto &node : *model->mutable_graph()->mutable_node())
    annotator.annotate(node);
  Exported exported{{{llvm::sys::path::filename(source.plan.request.modelPath).str(), model->SerializeAsString()}}, {}};
  exported.unsaid = unsaidOf(source.plan, *model);
  llvm::append_range(exported.unsaid, annotator.takeUnsaid());
  return exported;
}

} // namespace apc
