// Reads a module into the planner's plain values.
#include "apc/Transforms/BuildGraph.h"

#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <unordered_map>

namespace apc {

namespace {

NumberFormat formatOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  mlir::Type element = tensor ? tensor.getElementType() : type;
  if (element.isF64())
    return NumberFormat::F64;
  if (element.isF32())
    return NumberFormat::F32;
  if (element.isBF16())
    return NumberFormat::BF16;
  if (element.isF16())
    return NumberFormat::F16;
  if (auto number = llvm::dyn_cast<mlir::FloatType>(element))
    return number.getWidth() == 8 ? NumberFormat::F8 : NumberFormat::F4;
  if (element.isInteger(8))
    return NumberFormat::I8;
  return element.isInteger(4) ? NumberFormat::I4 : NumberFormat::Other;
}

/// The format an op computes in: that of its first floating tensor, or of its first tensor.
NumberFormat formatOf(mlir::Operation *op) {
  NumberFormat first = NumberFormat::Other;
  for (mlir::Value value :
       llvm::concat<mlir::Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults()))) {
    NumberFormat format = formatOf(value.getType());
    if (format != NumberFormat::Other && format != NumberFormat::I8 && format != NumberFormat::I4)
      return format;
    if (first == NumberFormat::Other)
      first = format;
  }
  return first;
}

class GraphBuilder {
public:
  mlir::FailureOr<OpGraph> build(mlir::func::FuncOp function);

private:
  std::string uniqueName(llvm::StringRef name);
  RuleId intern(FactorRule rule);
  /// Adds the values of an op's results under `names`.
  void addResults(OpId op, mlir::ValueRange results, mlir::ArrayAttr names, ValueRole role);
  void addSource(mlir::Value value, llvm::StringRef name, ValueRole role);
  mlir::LogicalResult addOp(mlir::Operation *op);
  /// A constant is whole on every device and never partial, so a linear group that needs it partial cannot be: partial
  /// x + constant would add the constant once for each device.
  void dropGroupsOfConstants(FactorRule &rule, mlir::Operation *op) const;
  void addSink(mlir::Value value, llvm::StringRef name);

  OpGraph graph;
  llvm::DenseMap<mlir::Value, ValueId> ids;
  llvm::StringMap<unsigned> taken;
  std::unordered_map<std::string, RuleId> rules;
};

std::string GraphBuilder::uniqueName(llvm::StringRef name) {
  unsigned count = ++taken[name];
  return count == 1 ? name.str() : uniqueName((name + "#" + llvm::Twine(count)).str());
}

RuleId GraphBuilder::intern(FactorRule rule) {
  // The text leaves out what two equal texts may still differ in: kind of work and element sizes.
  std::string key = rule.str() + "|" + std::to_string(static_cast<int>(rule.work));
  for (const auto *tensors : {&rule.operands})
    for (const RuleTensor &tensor : *tensors)
      key += "," + std::to_string(tensor.elementBits) + (tensor.sparse ? "s" : "");
  for (const RuleTensor &tensor : rule.results)
    key += ";" + std::to_string(tensor.elementBits);
  auto [entry, isNew] = rules.try_emplace(std::move(key), RuleId(graph.rules.size()));
  if (isNew)
    graph.rules.push_back(std::move(rule));
  return entry->second;
}

void GraphBuilder::addResults(OpId op, mlir::ValueRange results, mlir::ArrayAttr names, ValueRole role) {
  for (auto [index, result] : llvm::enumerate(results)) {
    auto shape = shapeOf(result);
    if (!shape) {
      graph.ops[op.index()].results.emplace_back();
      continue;
    }
    ValueId id(graph.values.size());
    std::string name = names && index < names.size() ? llvm::cast<mlir::StringAttr>(names[index]).str() : "";
    if (name.empty())
      name = graph.ops[op.index()].name + (results.size() == 1 ? "" : ":" + std::to_string(index));
    graph.values.push_back({std::move(name), *shape, role, op, static_cast<unsigned>(index)});
    graph.ops[op.index()].results.emplace_back(id);
    ids[result] = id;
  }
}

void GraphBuilder::addSource(mlir::Value value, llvm::StringRef name, ValueRole role) {
  FactorRuleBuilder builder;
  TensorShape shape = *shapeOf(value);
  builder.addResult(builder.addFactors("d", shape.dims), shape.elementBits);
  builder.setWork(Work::View);
  OpId op(graph.ops.size());
  graph.ops.push_back(
      {uniqueName(name), valueRoleName(role).str(), intern(builder.take()), formatOf(value.getType()), {}, {}});
  mlir::Builder attributes(value.getContext());
  addResults(op, value, attributes.getStrArrayAttr({name}), role);
}

void GraphBuilder::addSink(mlir::Value value, llvm::StringRef name) {
  FactorRuleBuilder builder;
  TensorShape shape = *shapeOf(value);
  builder.addOperand(builder.addFactors("d", shape.dims), shape.elementBits);
  builder.setWork(Work::View);
  std::optional<ValueId> operand;
  if (auto id = ids.find(value); id != ids.end())
    operand = id->second;
  std::string unique = uniqueName(("output " + name).str());
  graph.ops.push_back({unique, "output", intern(builder.take()), formatOf(value.getType()), {operand}, {}});
}

void GraphBuilder::dropGroupsOfConstants(FactorRule &rule, mlir::Operation *op) const {
  llvm::erase_if(rule.linear, [&](const llvm::SmallVector<unsigned, 2> &group) {
    return llvm::any_of(group, [&](unsigned operand) { return !ids.contains(op->getOperand(operand)); });
  });
}

mlir::LogicalResult GraphBuilder::addOp(mlir::Operation *op) {
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  if (!interface)
    return op->emitOpError("has no factor rule, so it cannot be planned");
  mlir::FailureOr<FactorRule> rule = interface.getRule();
  if (mlir::failed(rule))
    return mlir::failure();
  dropGroupsOfConstants(*rule, op);
  GraphOp node;
  auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  node.name = uniqueName(name ? name.getName().strref() : op->getName().stripDialect());
  node.operatorName = op->getName().stripDialect().str();
  node.format = formatOf(op);
  node.rule = intern(std::move(*rule));
  for (mlir::Value operand : op->getOperands()) {
    auto id = ids.find(operand);
    node.operands.push_back(id == ids.end() ? std::nullopt : std::optional<ValueId>(id->second));
  }
  OpId id(graph.ops.size());
  graph.ops.push_back(std::move(node));
  addResults(id, op->getResults(), op->getAttrOfType<mlir::ArrayAttr>("apc.values"), ValueRole::Activation);
  return mlir::success();
}

mlir::FailureOr<OpGraph> GraphBuilder::build(mlir::func::FuncOp function) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "apc.name");
    addSource(argument, name ? name.str() : "input" + std::to_string(argument.getArgNumber()), ValueRole::Input);
  }
  for (mlir::Operation &op : function.front().without_terminator()) {
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
      addSource(parameter.getOutput(), parameter.getName(), ValueRole::Parameter);
    else if (!llvm::isa<ConstantOp, NoneOp>(op) && mlir::failed(addOp(&op)))
      return mlir::failure();
  }
  for (mlir::OpOperand &result : function.front().getTerminator()->getOpOperands()) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(result.getOperandNumber(), "apc.name");
    addSink(result.get(), name ? name.str() : std::to_string(result.getOperandNumber()));
  }
  return graph;
}

} // namespace

mlir::FailureOr<OpGraph> buildGraph(mlir::ModuleOp module) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!function || function.isExternal())
    return module.emitError("has no function 'main' to plan"), mlir::failure();
  return GraphBuilder().build(function);
}

} // namespace apc
