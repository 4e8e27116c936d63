// Nodes of operators that nobody knows: planned by the types that the file declares for their results.
#include "GraphImporter.h"

#include "apc/IR/Ops/Opaque/Opaque.h"
#include "apc/Support/Error.h"

#include "mlir/IR/TypeUtilities.h"

namespace apc::onnx {

namespace {

bool hasGraph(const NodeProto &node) {
  return llvm::any_of(node.attribute(),
                      [](const AttributeProto &attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
}

} // namespace

/// The type that the file, or --dim, declares for result `index`; `none` where the node leaves the result out. With a
/// factor rule dims need no declaration, and the element type is that of the first operand where none is declared.
mlir::Type GraphImporter::declaredType(const Call &call, const Scope &scope, int index,
                                       llvm::ArrayRef<mlir::Value> operands, bool hasRule) {
  const std::string &output = call.node.output(index);
  if (output.empty())
    return state.builder.getNoneType();
  std::string value = scope.prefix + output;
  auto declared = state.declaredTypes.find(value);
  mlir::Type element =
      declared == state.declaredTypes.end() ? nullptr : elementType(declared->second->elem_type(), &state.context);
  auto dims = state.declaredDims(value);
  if (!element && (hasRule || dims) && !operands.empty() && !isAbsent(operands.front()))
    element = mlir::getElementTypeOrSelf(operands.front());
  if (!element || (!dims && !hasRule) || (dims && !countElements(*dims)))
    return {};
  return mlir::RankedTensorType::get(dims.value_or(llvm::SmallVector<int64_t, 4>()), element);
}

llvm::Error GraphImporter::applyRule(const Call &call, const Scope &scope, mlir::Operation *op) {
  llvm::SmallVector<mlir::Type, 2> types;
  auto opaque = llvm::cast<OperatorInterface>(op);
  if (mlir::failed(opaque.inferTypes(types)))
    return inputError("{0}: node '{1}' ({2}): {3}", state.source, call.name, call.node.op_type(),
                      state.takeDiagnostic());
  for (auto [index, type] : llvm::enumerate(types)) {
    auto dims = state.declaredDims(scope.prefix + call.node.output(static_cast<int>(index)));
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (tensor && !countElements(tensor.getShape()))
      return inputError("{0}: node '{1}' ({2}): the factor rule of --operator gives '{3}' 2^60 or more elements",
                        state.source, call.name, call.node.op_type(), call.node.output(static_cast<int>(index)));
    if (tensor && dims && tensor.getShape() != llvm::ArrayRef(*dims))
      return inputError("{0}: node '{1}' ({2}): the factor rule of --operator gives '{3}' the dims [{4:$[, ]}], the "
                        "file declares [{5:$[, ]}]",
                        state.source, call.name, call.node.op_type(), call.node.output(static_cast<int>(index)),
                        llvm::make_range(tensor.getShape().begin(), tensor.getShape().end()),
                        llvm::make_range(dims->begin(), dims->end()));
    op->getResult(static_cast<unsigned>(index)).setType(type);
  }
  if (mlir::failed(opaque.getRule()))
    return inputError("{0}: node '{1}' ({2}): {3}", state.source, call.name, call.node.op_type(),
                      state.takeDiagnostic());
  return llvm::Error::success();
}

mlir::Operation *GraphImporter::makeOpaque(const Call &call, const Scope &scope, llvm::ArrayRef<mlir::Value> operands,
                                           llvm::ArrayRef<mlir::Type> types, const OperatorRule *rule) {
  mlir::OperationState opState(state.nameLocation(call.name), OpaqueOp::getOperationName());
  opState.addOperands(operands);
  opState.addTypes(types);
  auto text = [&](llvm::StringRef given) { return state.builder.getStringAttr(given); };
  opState.addAttribute("operator_name", text(operatorName(call.node.domain(), call.node.op_type())));
  if (rule) {
    opState.addAttribute("factor_rule", text(rule->rule));
    opState.addAttribute("flops_per_point", state.builder.getF64FloatAttr(rule->flopsPerPoint));
  }
  for (const NamedAttributeProto &attribute : call.attributes) {
    // Attributes are kept for people who read the module.
    if (auto converted = convertAttribute(*attribute.proto, attribute.name, &state.context))
      opState.attributes.set(("onnx." + attribute.name).str(), *converted);
    else
      llvm::consumeError(converted.takeError());
  }
  std::vector<std::string> names;
  for (const std::string &output : call.node.output())
    names.push_back(output.empty() ? "" : scope.prefix + output);
  opState.addAttribute(valuesAttribute, state.builder.getStrArrayAttr(llvm::to_vector_of<llvm::StringRef>(names)));
  return state.builder.create(opState);
}

bool GraphImporter::importOpaque(const Call &call, Scope &scope) {
  std::string onnxName = operatorName(call.node.domain(), call.node.op_type());
  auto given = state.options.operators.find(onnxName);
  const OperatorRule *rule = given == state.options.operators.end() ? nullptr : &given->second;
  if ((state.options.strict && !rule) || hasGraph(call.node))
    return false;
  auto operands = operandsOf(call.node, scope);
  llvm::SmallVector<mlir::Type, 2> types;
  for (int i = 0; i < call.node.output_size(); ++i)
    types.push_back(
        declaredType(call, scope, i, operands ? *operands : llvm::ArrayRef<mlir::Value>(), rule != nullptr));
  if (llvm::is_contained(types, mlir::Type())) {
    state.lacksTypes = true;
    return false;
  }
  if (!operands)
    return leaveUnresolved(call.node, scope), true;
  // An operator without operands is no source, which would be there from the start: it reads nothing.
  if (operands->empty() && !rule)
    operands->push_back(state.none);
  mlir::Operation *op = makeOpaque(call, scope, *operands, types, rule);
  llvm::Error error = rule ? applyRule(call, scope, op) : llvm::Error::success();
  if (error) {
    op->erase();
    state.fail(std::move(error));
    return leaveUnresolved(call.node, scope), true;
  }
  state.report.opaque[onnxName].push_back(call.name);
  define(call, llvm::SmallVector<mlir::Value>(op->getResults()), scope);
  return true;
}

void noteOpaque(ImportState &state) {
  for (const auto &[name, nodes] : state.report.opaque) {
    std::string where = nodes.size() == 1 ? "node '" + nodes.front() + "'"
                                          : llvm::formatv("{0} nodes, the first is '{1}'", nodes.size(), nodes.front());
    if (auto rule = state.options.operators.find(name); rule != state.options.operators.end())
      state.report.notes.push_back(llvm::formatv("operator {0} ({1}) is not known; it is cut by its factor rule '{2}'",
                                                 name, where, rule->second.rule));
    else
      state.report.notes.push_back(
          llvm::formatv("operator {0} ({1}) is not known; it is planned whole on every device and costs the bytes of "
                        "its inputs and outputs; --operator gives it a factor rule, --strict refuses it",
                        name, where));
  }
  for (const auto &[name, rule] : state.options.operators)
    if (!state.report.opaque.contains(name))
      state.report.notes.push_back(
          llvm::formatv("--operator {0}: the model has no operator of this name that is not known", name));
}

} // namespace apc::onnx
