// Nodes of operators that ops of the dialect stand for together.
#include "../Onnx/Attributes.h"
#include "GraphImporter.h"

#include "apc/Support/Error.h"

namespace apc::onnx {

llvm::Expected<CompositeNode> GraphImporter::readComposite(const Call &call, llvm::ArrayRef<mlir::Value> operands) {
  CompositeNode node{readAs(call.node), call.name, {operands.begin(), operands.end()}, {}, 1};
  while (!node.operands.empty() && isAbsent(node.operands.back()))
    node.operands.pop_back();
  for (int i = 0; i < call.node.output_size(); ++i)
    if (!call.node.output(i).empty())
      node.numResults = static_cast<size_t>(i) + 1;
  for (const NamedAttributeProto &attribute : call.attributes) {
    auto converted = convertAttribute(state.withData(*attribute.proto), ("attribute '" + attribute.name + "'").str(),
                                      &state.context);
    if (!converted)
      return converted.takeError();
    node.attributes.set(attribute.name, *converted);
  }
  return node;
}

void GraphImporter::importComposite(const Call &call, Scope &scope) {
  auto operands = operandsOf(call.node, scope);
  if (!operands)
    return leaveUnresolved(call.node, scope);
  mlir::Operation *before = &state.body->back();
  auto node = readComposite(call, *operands);
  auto results = node ? createComposite(state.builder, *node) : llvm::Expected<CompositeResults>(node.takeError());
  if (!results) {
    state.fail(inputError("{0}: node '{1}' ({2}): {3}", state.source, call.name, call.node.op_type(),
                          takeMessage(results.takeError()).second));
    return leaveUnresolved(call.node, scope);
  }
  for (mlir::Operation *op = before->getNextNode(); op; op = op->getNextNode())
    if (llvm::isa<ConstantOp>(op) && op->hasAttr(valuesAttribute)) // of the node's attributes
      state.storedConstants.insert(op);
  for (const std::string &attribute : results->unknownAttributes)
    state.noteUnknownAttribute(attribute, call.node, call.name);
  for (int i = 0; i < call.node.output_size(); ++i)
    if (!call.node.output(i).empty())
      results->values[static_cast<size_t>(i)].getDefiningOp()->setAttr(
          valuesAttribute, state.builder.getStrArrayAttr({scope.prefix + call.node.output(i)}));
  define(call, results->values, scope);
}

} // namespace apc::onnx
