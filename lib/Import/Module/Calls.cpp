// Expands nodes that hold further nodes: calls of local functions, and branches whose condition is known.
#include "GraphImporter.h"

#include "apc/Support/Error.h"

namespace apc::onnx {

llvm::Error GraphImporter::importFunction(const FunctionProto &function, const Call &call, Scope &scope) {
  Scope inner;
  inner.where = llvm::formatv("{0}: function '{1}'", state.source, operatorName(function.domain(), function.name()));
  inner.prefix = call.name + "/";
  AttributeBindings bindings = bindAttributes(function, call.attributes);
  inner.bindings = &bindings;
  llvm::StringMap<int64_t> opsets = opsetVersions(function.opset_import());
  if (scope.opsets)
    for (const auto &entry : *scope.opsets)
      opsets.try_emplace(entry.getKey(), entry.getValue());
  inner.opsets = &opsets;
  if (call.node.input_size() > function.input_size())
    return inputError("{0}: node '{1}' passes {2} inputs to function '{3}', which takes {4}", scope.where, call.name,
                      call.node.input_size(), function.name(), function.input_size());
  for (int i = 0; i < function.input_size(); ++i) {
    bool given = i < call.node.input_size() && !call.node.input(i).empty();
    auto value = given ? scope.find(call.node.input(i)).value_or(mlir::Value()) : state.none;
    if (!inner.values.try_emplace(function.input(i), value).second)
      return inputError("{0} has two inputs named '{1}'", inner.where, function.input(i));
  }
  llvm::SmallVector<llvm::StringRef> outputs;
  for (int i = 0; i < std::min(function.output_size(), call.node.output_size()); ++i)
    outputs.push_back(call.node.output(i).empty() ? llvm::StringRef() : llvm::StringRef(function.output(i)));
  if (llvm::Error error = importNodes(function.node(), outputs, inner))
    return error;
  llvm::SmallVector<mlir::Value> results;
  for (llvm::StringRef output : outputs)
    results.push_back(output.empty() ? mlir::Value() : *inner.find(output));
  define(call, results, scope);
  return llvm::Error::success();
}

std::optional<unsigned> decidingInput(mlir::Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1)
      return std::nullopt;
    value = op->getOperand(0);
  }
  return llvm::cast<mlir::BlockArgument>(value).getArgNumber();
}

llvm::Error GraphImporter::importBranch(const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  if (!operands || operands->empty()) {
    leaveUnresolved(call.node, scope);
    return llvm::Error::success();
  }
  mlir::DenseElementsAttr condition = state.findData(operands->front());
  if (!condition || condition.getNumElements() != 1 || !condition.getElementType().isInteger(1)) {
    std::string remark;
    if (auto input = decidingInput(operands->front()))
      remark = " (decided by graph input '" + state.inputNames[*input] + "': say --condition " +
               state.inputNames[*input] + "=true or =false)";
    else
      remark = llvm::formatv(" (condition '{0}' is known at run time only: say --condition {0}=true or =false)",
                             call.node.input(0));
    markUnsupported(call, scope, remark);
    return llvm::Error::success();
  }
  bool isTaken = condition.getValues<bool>()[0];
  const AttributeProto *branch = findAttribute(call.attributes, isTaken ? "then_branch" : "else_branch");
  if (!branch || !branch->has_g())
    return inputError("{0}: node '{1}' has no branch for the condition {2}", scope.where, call.name, isTaken);
  return importBranchGraph(branch->g(), call, scope);
}

llvm::Error GraphImporter::importBranchGraph(const GraphProto &graph, const Call &call, Scope &scope) {
  Scope inner;
  inner.parent = &scope;
  inner.where = llvm::formatv("{0}: graph '{1}' of node '{2}'", state.source, graph.name(), call.name);
  inner.prefix = scope.prefix;
  inner.bindings = scope.bindings;
  inner.opsets = scope.opsets;
  auto given = givenNames(graph, inner.where);
  if (!given)
    return given.takeError();
  if (llvm::Error error = importInitializers(graph, inner))
    return error;
  if (call.node.output_size() > graph.output_size())
    return inputError("{0} has {1} outputs, but its node has {2}", inner.where, graph.output_size(),
                      call.node.output_size());
  auto results = importOutputs(graph, inner);
  if (!results)
    return results.takeError();
  define(call, *results, scope);
  return llvm::Error::success();
}

llvm::Expected<llvm::SmallVector<mlir::Value>> GraphImporter::importOutputs(const GraphProto &graph, Scope &scope) {
  llvm::SmallVector<llvm::StringRef> outputs;
  for (const auto &[index, output] : llvm::enumerate(graph.output())) {
    if (output.name().empty())
      return inputError("{0}: output {1} has no name; each output needs that of a value", scope.where, index);
    outputs.push_back(output.name());
  }
  if (llvm::Error error = importNodes(graph.node(), outputs, scope))
    return error;
  llvm::SmallVector<mlir::Value> results;
  for (llvm::StringRef output : outputs)
    results.push_back(*scope.find(output));
  return results;
}

} // namespace apc::onnx
