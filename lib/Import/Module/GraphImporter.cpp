// Walks graphs: order, liveness, operators, constants.
#include "GraphImporter.h"

#include "NodeImporter.h"
#include "Sequences.h"
#include "Shardings.h"

#include "apc/IR/UnsupportedOperators.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc::onnx {

std::optional<mlir::Value> Scope::find(llvm::StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->parent) {
    auto found = scope->values.find(name);
    if (found != scope->values.end())
      return found->second;
  }
  return std::nullopt;
}

llvm::StringMap<int64_t> opsetVersions(const google::protobuf::RepeatedPtrField<OperatorSetIdProto> &imports) {
  llvm::StringMap<int64_t> versions;
  for (const OperatorSetIdProto &import : imports)
    versions[normalDomain(import.domain())] = import.version();
  return versions;
}

llvm::Expected<const std::vector<int> *> GraphImporter::orderOf(const NodeList &nodes, const Scope &scope) {
  auto known = orders.find(&nodes);
  if (known != orders.end())
    return &known->second;
  GraphScope names{scope.where, {}, [&](llvm::StringRef name) { return scope.parent && scope.parent->find(name); }};
  for (const auto &entry : scope.values)
    names.given.insert(entry.first);
  auto order = sortNodes(nodes, names);
  if (!order)
    return order.takeError();
  for (const std::string &name : order->redefined)
    state.report.notes.push_back(
        llvm::formatv("constant '{0}' is defined more than once; the last definition stands", name));
  return &(orders[&nodes] = std::move(order->nodes));
}

/// The domain of ONNX Runtime's own operators, which some of its tools leave out.
static constexpr llvm::StringLiteral runtimeDomain = "com.microsoft";

/// " (maps)" behind a node whose operator is left out because of its kind.
static std::string kindOf(llvm::StringRef onnxName) {
  llvm::StringRef kind = unsupportedKind(onnxName);
  return kind.empty() ? "" : (" (" + kind + ")").str();
}

std::string GraphImporter::readAs(const NodeProto &node) const {
  auto isKnown = [&](const std::string &name) { return state.operators.find(name) || isComposite(name); };
  std::string own = operatorName(node.domain(), node.op_type());
  if (isKnown(own) || !normalDomain(node.domain()).empty())
    return own;
  std::string ofRuntime = operatorName(runtimeDomain, node.op_type());
  return isKnown(ofRuntime) ? ofRuntime : own;
}

const OperatorEntry *GraphImporter::entryOf(const NodeProto &node) const { return state.operators.find(readAs(node)); }

llvm::SmallVector<llvm::StringRef> GraphImporter::namedValues(const NodeProto &node) const {
  const OperatorEntry *entry = entryOf(node);
  if (!entry || !entry->namesValues)
    return {};
  std::map<llvm::StringRef, const AttributeProto *> sorted;
  for (const AttributeProto &attribute : node.attribute())
    sorted[attribute.name()] = &attribute;
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[name, attribute] : sorted) {
    names.append(attribute->strings().begin(), attribute->strings().end());
    if (attribute->has_s())
      names.push_back(attribute->s());
  }
  return names;
}

std::vector<bool> GraphImporter::findLive(const NodeList &nodes, llvm::ArrayRef<int> order,
                                          llvm::ArrayRef<llvm::StringRef> outputs) {
  llvm::DenseSet<llvm::StringRef> needed(outputs.begin(), outputs.end());
  std::vector<bool> live(static_cast<size_t>(nodes.size()));
  for (int index : llvm::reverse(order)) {
    const NodeProto &node = nodes[index];
    if (llvm::none_of(node.output(), [&](const std::string &output) { return needed.contains(output); }))
      continue;
    live[static_cast<size_t>(index)] = true;
    for (const std::string &input : node.input())
      needed.insert(input);
    for (llvm::StringRef name : namedValues(node))
      needed.insert(name);
    for (const AttributeProto &attribute : node.attribute())
      for (llvm::StringRef name : capturedNames(attribute))
        needed.insert(name);
  }
  return live;
}

llvm::Error GraphImporter::importNodes(const NodeList &nodes, llvm::ArrayRef<llvm::StringRef> outputs, Scope &scope) {
  auto order = orderOf(nodes, scope);
  if (!order)
    return order.takeError();
  // Calls inside may add orders and move the map's entries.
  std::vector<int> indices = **order;
  std::vector<bool> live = findLive(nodes, indices, outputs);
  scope.values.reserve(scope.values.size() + static_cast<unsigned>(nodes.size()));
  for (int index : indices) {
    if (scope.done && scope.done->contains(&nodes[index]))
      continue;
    if (!live[static_cast<size_t>(index)]) {
      ++state.report.operators[operatorName(nodes[index].domain(), nodes[index].op_type())];
      continue;
    }
    if (llvm::Error error = importNode(nodes[index], index, scope))
      return error;
  }
  for (llvm::StringRef output : outputs)
    if (!output.empty() && !scope.find(output))
      return inputError("{0}: output '{1}' is defined by no input, initializer or node", scope.where, output);
  return llvm::Error::success();
}

llvm::Error GraphImporter::importInitializers(const GraphProto &graph, Scope &scope) {
  for (const TensorProto &tensor : graph.initializer()) {
    if (scope.values.contains(tensor.name()))
      continue;
    // A file may hold strings that nothing reads.
    if (!elementType(tensor.data_type(), &state.context)) {
      scope.values[tensor.name()] = {};
      std::string remark = llvm::formatv("initializer '{0}' {1}", tensor.name(), refusedType(tensor.data_type()));
      state.report.notes.push_back(remark);
      state.refusedInitializers[tensor.name()] = std::move(remark);
      continue;
    }
    auto value = state.addTensor(tensor, scope.prefix + tensor.name(), /*isWeight=*/true);
    if (!value)
      return value.takeError();
    scope.values[tensor.name()] = *value;
  }
  for (const SparseTensorProto &tensor : graph.sparse_initializer()) {
    auto value = state.addSparse(tensor, scope.prefix + tensor.values().name());
    if (!value)
      return value.takeError();
    scope.values[tensor.values().name()] = *value;
  }
  return llvm::Error::success();
}

llvm::Error GraphImporter::importNode(const NodeProto &node, int index, Scope &scope) {
  Call call{node, state.uniqueName(scope.prefix + nodeName(node, index)), resolveAttributes(node, scope.bindings)};
  if (llvm::Error error = readShardings(node, call.name, state))
    return error;
  if (const FunctionProto *function = state.functions.find(node))
    return importFunction(*function, call, scope);
  std::string onnxName = operatorName(node.domain(), node.op_type());
  ++state.report.operators[onnxName];
  if (const AttributeProto *branch = findAttribute(call.attributes, "then_branch"); branch && branch->has_g())
    return importBranch(call, scope);
  if (const AttributeProto *body = findAttribute(call.attributes, "body"); body && body->has_g()) {
    if (onnxName == "Loop")
      return importLoop(body->g(), call, scope);
    if (onnxName == "SequenceMap")
      return importSequenceMap(body->g(), call, scope);
    if (onnxName == "Scan" && !refusesSequences(call, scope))
      return importScan(body->g(), call, scope);
  }
  if (importSequence(call, scope) || refusesSequences(call, scope))
    return llvm::Error::success();
  if (node.input_size() == 0 && importConstant(call, scope))
    return llvm::Error::success();
  const std::string name = readAs(node);
  const OperatorEntry *entry = state.operators.find(name);
  if (name != onnxName && readElsewhere.insert(onnxName).second)
    state.report.notes.push_back(
        llvm::formatv("operator {0} is none of ONNX's; it is read as that of the domain {1}", onnxName, runtimeDomain));
  // Our operators hold no nodes, so the import of this node would lose its inner graphs.
  auto graph = llvm::find_if(call.attributes, [&](const NamedAttributeProto &each) {
    return each.proto->has_g() && entry && !entry->attributes.contains(each.name);
  });
  if (graph != call.attributes.end())
    markUnsupported(call, scope, (" (with the graph '" + graph->name + "')").str());
  else if (entry)
    importOperator(*entry, call, scope);
  else if (isComposite(name))
    importComposite(call, scope);
  else if (!importOpaque(call, scope))
    markUnsupported(call, scope, kindOf(onnxName));
  return llvm::Error::success();
}

std::optional<llvm::SmallVector<mlir::Value>> GraphImporter::operandsOf(const NodeProto &node,
                                                                        const Scope &scope) const {
  llvm::SmallVector<mlir::Value> operands;
  for (const std::string &input : node.input()) {
    mlir::Value value = input.empty() ? state.none : scope.find(input).value_or(mlir::Value());
    if (!value)
      return std::nullopt;
    operands.push_back(value);
  }
  return operands;
}

void GraphImporter::importOperator(const OperatorEntry &entry, const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  if (!operands)
    return leaveUnresolved(call.node, scope);
  for (llvm::StringRef name : namedValues(call.node)) {
    std::optional<mlir::Value> value = scope.find(name);
    if (!value)
      state.fail(inputError("{0}: node '{1}' ({2}): no value '{3}' stands before the node that names it", state.source,
                            call.name, call.node.op_type(), name));
    if (!value || !*value)
      return leaveUnresolved(call.node, scope);
    operands->push_back(*value);
  }
  int64_t version = 1;
  if (scope.opsets)
    version = scope.opsets->lookup(normalDomain(call.node.domain()));
  NodeToImport node{call.node, entry, call.name, scope.prefix, call.attributes, std::move(*operands), version};
  auto results = onnx::importNode(state, node);
  if (results)
    return define(call, *results, scope);
  state.fail(results.takeError());
  leaveUnresolved(call.node, scope);
}

bool GraphImporter::importSequence(const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  SequenceNode node{call.node, call.name, scope.prefix, call.attributes,
                    operands.value_or(llvm::SmallVector<mlir::Value>())};
  if (!isSequenceNode(node))
    return false;
  if (!operands)
    return leaveUnresolved(call.node, scope), true;
  std::string remark;
  auto result = importSequenceNode(state, node, remark);
  if (!result) {
    state.fail(result.takeError());
    leaveUnresolved(call.node, scope);
  } else if (!*result) {
    markUnsupported(call, scope, remark);
  } else {
    define(call, *result, scope);
  }
  return true;
}

bool GraphImporter::refusesSequences(const Call &call, Scope &scope) {
  llvm::SmallVector<llvm::StringRef> names = namedValues(call.node);
  names.append(call.node.input().begin(), call.node.input().end());
  for (llvm::StringRef name : names) {
    mlir::Value value = scope.find(name).value_or(mlir::Value());
    if (!value || !isSequence(value))
      continue;
    state.fail(inputError("{0}: node '{1}' ({2}): input '{3}' is a sequence; the operator takes tensors, which "
                          "SequenceAt and ConcatFromSequence make of sequences",
                          state.source, call.name, call.node.op_type(), name));
    return leaveUnresolved(call.node, scope), true;
  }
  return false;
}

void GraphImporter::define(const Call &call, llvm::ArrayRef<mlir::Value> results, Scope &scope) {
  for (int i = 0; i < call.node.output_size(); ++i)
    if (!call.node.output(i).empty())
      scope.values[call.node.output(i)] =
          conditioned(static_cast<size_t>(i) < results.size() ? results[static_cast<size_t>(i)] : mlir::Value(),
                      call.node.output(i), scope);
}

mlir::Value GraphImporter::conditioned(mlir::Value value, llvm::StringRef name, const Scope &scope) {
  const std::map<std::string, bool> &conditions = state.options.conditions;
  if (conditions.empty())
    return value;
  auto condition = conditions.find(scope.prefix + name.str());
  if (condition == conditions.end())
    condition = conditions.find(name.str());
  if (condition == conditions.end() || !value || isAbsent(value))
    return value;
  state.usedConditions.insert(condition->first);
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (type && type.getElementType().isInteger(1) && type.getNumElements() == 1)
    return state.addConstant(mlir::DenseElementsAttr::get(type, condition->second), scope.prefix + name.str());
  state.fail(inputError("{0}: --condition {1}: the value is no single bool", state.source, condition->first));
  return value;
}

void GraphImporter::leaveUnresolved(const NodeProto &node, Scope &scope) {
  for (const std::string &input : node.input())
    if (state.firstRefused.empty())
      state.firstRefused = state.refusedInitializers.lookup(input);
  for (const std::string &output : node.output()) {
    if (output.empty())
      continue;
    scope.values[output] = {};
    state.report.unresolved.push_back(scope.prefix + output);
  }
}

void GraphImporter::markUnsupported(const Call &call, Scope &scope, llvm::StringRef remark) {
  std::string onnxName = operatorName(call.node.domain(), call.node.op_type());
  state.report.unsupported[onnxName].push_back(call.name + remark.str());
  leaveUnresolved(call.node, scope);
}

/// A node without operands that is nothing but a value: one of the attributes value, value_int, value_ints,
/// value_float, value_floats, sparse_value. False when it has none of them.
bool GraphImporter::importConstant(const Call &call, Scope &scope) {
  auto isValue = [](const NamedAttributeProto &attribute) {
    return attribute.name == "sparse_value" || attribute.name == "value" ||
           (attribute.name.starts_with("value_") && !attribute.name.starts_with("value_string"));
  };
  if (call.node.output_size() != 1 || llvm::none_of(call.attributes, isValue))
    return false;
  auto value = constantValue(call, scope.prefix + call.node.output(0));
  if (value) {
    define(call, *value, scope);
  } else {
    state.fail(value.takeError());
    leaveUnresolved(call.node, scope);
  }
  return true;
}

llvm::Expected<mlir::Value> GraphImporter::constantValue(const Call &call, llvm::StringRef name) {
  if (const AttributeProto *sparse = findAttribute(call.attributes, "sparse_value"))
    return state.addSparse(sparse->sparse_tensor(), name);
  if (const AttributeProto *value = findAttribute(call.attributes, "value")) {
    if (value->has_sparse_tensor())
      return state.addSparse(value->sparse_tensor(), name);
    if (!value->has_t())
      return inputError("{0}: node '{1}' ({2}): attribute 'value' is {3}; a tensor is needed", state.source, call.name,
                        call.node.op_type(), describeAttribute(*value));
    return state.addTensor(value->t(), name, /*isWeight=*/false);
  }
  const AttributeProto &list = *llvm::find_if(call.attributes, [](const NamedAttributeProto &attribute) {
                                  return attribute.name.starts_with("value_");
                                })->proto;
  // A single int is 0-D here, unlike the attributes that became operands.
  mlir::DenseElementsAttr value = attributeKind(list) == 2
                                      ? Tensor{{}, state.builder.getI64Type(), {list.i()}, {}}.toAttribute()
                                      : attributeAsOperand(list, {}, &state.context);
  if (!value)
    return inputError("{0}: node '{1}' ({2}): attribute '{3}' must hold numbers", state.source, call.name,
                      call.node.op_type(), list.name());
  if (value.getNumElements() > state.options.maxConstantElements)
    return state.addParameter(llvm::cast<mlir::RankedTensorType>(value.getType()), name, "initializer");
  return state.addStoredConstant(value, name);
}

} // namespace apc::onnx
