// One op after the other.
#include "Statements.h"

#include "ModuleNames.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Opaque.h"
#include "apc/IR/Operator.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace apc {

namespace {

/// True for ops whose predicted time is worth telling.
bool isLong(mlir::Operation &op) {
  auto rule = llvm::cast<OperatorInterface>(op).getRule();
  return mlir::succeeded(rule) && rule->work == Work::Contraction;
}

std::string printOp(mlir::Operation &op) {
  std::string name = opName(&op);
  return op.getName().getStringRef().str() + (name.empty() ? "" : " '" + name + "'");
}

} // namespace

std::string collectiveKey(llvm::StringRef op, llvm::StringRef collective) {
  return (op + " " + collective.take_front(collective.find('}') + 1)).str();
}

Statements::Statements(TorchText &text, llvm::DenseMap<mlir::Value, std::string> names, llvm::StringRef sums)
    : text(text), names(std::move(names)), sums(sums.str()) {
  for (const auto &[value, name] : this->names)
    functionNames.take(name);
}

/// True for an expression that a method can be called on as it stands: `f(a, b)`, not `a + b`.
static bool isPrimary(llvm::StringRef expression) {
  int depth = 0;
  for (char c : expression) {
    depth += llvm::StringRef("([{").contains(c) ? 1 : llvm::StringRef(")]}").contains(c) ? -1 : 0;
    if (depth == 0 && c != ')' && c != ']' && !llvm::isAlnum(c) && c != '_' && c != '.')
      return false;
  }
  return expression.ends_with(")") && !llvm::isDigit(expression.front());
}

void Statements::joinLast(mlir::Operation &op, std::string &expression, std::string &comment) {
  if (op.getNumOperands() == 0 || lines.empty() || !comment.empty())
    return;
  mlir::Value operand = op.getOperand(0);
  std::string name = names.lookup(operand);
  auto [line, remark] = llvm::StringRef(lines.back()).split("  # ");
  llvm::StringRef rest = expression;
  bool isMethod = operand.hasOneUse() && !name.empty() && rest.consume_front(name + ".");
  // An expression may have its operand twice: `x.expand(x.shape)`.
  if (!isMethod || rest.contains(name) || !line.consume_front(name + " = ") || !isPrimary(line))
    return;
  expression = (line + "." + rest).str();
  comment = remark.str();
  lines.pop_back();
}

void Statements::addLine(mlir::Operation &op, std::string expression, std::string comment) {
  joinLast(op, expression, comment);
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  llvm::ArrayRef<unsigned> overwritten = interface ? interface.getOverwritten() : llvm::ArrayRef<unsigned>();
  for (auto [operand, result] : llvm::zip(overwritten, op.getResults()))
    names[result] = names.lookup(op.getOperand(operand));
  if (!overwritten.empty())
    return addUpdate(op, expression);
  std::vector<std::string> left = assignedNames(op);
  std::string line = left.empty() ? expression : llvm::join(left, ", ") + " = " + expression;
  lines.push_back(comment.empty() ? line : line + "  # " + comment);
}

std::vector<std::string> Statements::assignedNames(mlir::Operation &op) {
  std::vector<std::string> left;
  for (mlir::OpResult result : op.getResults()) {
    if (auto target = targets.find(result); target != targets.end())
      names[result] = target->second;
    else if (result.use_empty())
      names[result] = "_";
    left.push_back(names[result]);
  }
  return left;
}

/// All updates that differ in the parameter alone are calls of one function.
void Statements::addUpdate(mlir::Operation &op, const std::string &call) {
  std::string parameter = names.lookup(op.getOperand(0)), gradient = names.lookup(op.getOperand(1));
  llvm::StringRef name = parameter, rest = call;
  if (!name.consume_front("weights[\"") || !name.consume_back("\"]"))
    return lines.push_back(call);
  std::string body;
  while (!rest.empty()) {
    if (rest.consume_front("weights[\"" + name.str() + "\"]")) {
      body += "weights[name]";
    } else if (rest.consume_front("weights[\"" + name.str() + ".")) {
      body += "weights[name + \".";
    } else if (rest.starts_with(", " + gradient + ",") && !body.empty()) {
      rest = rest.drop_front(2 + gradient.size());
      body += ", gradient";
    } else {
      body += rest.front();
      rest = rest.drop_front();
    }
  }
  auto *known = llvm::find_if(updates, [&](const auto &update) { return update.second == body; });
  if (known == updates.end()) {
    updates.emplace_back(functionNames.make(parameterUpdateName), body);
    known = &updates.back();
  }
  lines.push_back(known->first + "(\"" + name.str() + "\", " + gradient + ")");
}

std::vector<std::string> Statements::takeFunctions() {
  std::vector<std::string> text;
  for (const auto &[name, body] : updates) {
    text.push_back("def " + name + "(name, gradient):");
    text.push_back("    " + body);
    text.push_back("");
  }
  updates.clear();
  return text;
}

void Statements::addConstant(ConstantOp op) {
  auto value = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  if (!value)
    return;
  std::string &name = text.nameOfConstant[value];
  if (name.empty()) {
    name = llvm::formatv("{0}_{1}", value.getElementType().isInteger(1) ? "mask" : "constant", text.constants.size());
    text.constants.push_back({name, value});
  }
  names[op.getOutput()] = "rank.constants[\"" + name + "\"]";
}

void Statements::addCall(mlir::func::CallOp op) {
  std::vector<std::string> arguments = {"rank"}, left;
  unsigned number = numCalls[op.getCallee()]++;
  if (text.withSums.contains(op.getCallee()))
    arguments.push_back(sums + ".within(\"" + op.getCallee().str() + "." + std::to_string(number) + "\")");
  auto layer = text.layerWeights.find(op.getCallee());
  if (layer != text.layerWeights.end())
    arguments.push_back("weights.within(" + pythonString(layer->second.scopeOf(op)) + ")");
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    if (layer == text.layerWeights.end() || !layer->second.names.contains(static_cast<unsigned>(index)))
      arguments.push_back(tensorText(operand));
  for (mlir::OpResult result : op.getResults()) {
    if (result.use_empty())
      names[result] = "_";
    left.push_back(names[result]);
  }
  lines.push_back(llvm::join(left, ", ") + " = " + op.getCallee().str() + "(" + llvm::join(arguments, ", ") + ")");
}

/// A constant becomes one of the program's when it is first used as a tensor.
std::string Statements::tensorText(mlir::Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>(); constant && !names.count(value))
    addConstant(constant);
  return names.lookup(value);
}

std::string Statements::operandText(mlir::Value value, llvm::StringRef annotation) {
  if (isAbsent(value))
    return "None";
  mlir::DenseElementsAttr constant = constantOf(value);
  if (annotation == "ints" && constant) {
    if (auto numbers = constantInts(value))
      return pythonList(*numbers);
  }
  if (annotation == "number" && constant && constant.getNumElements() == 1 && constant.getType().getRank() == 0) {
    auto element = *constant.getValues<mlir::Attribute>().begin();
    return pythonValue(element);
  }
  return tensorText(value);
}

std::string Statements::argumentOf(mlir::Operation &op, const TorchParameter &parameter, std::string &missing) {
  auto interface = llvm::cast<OperatorInterface>(op);
  unsigned declared = interface.getNumDeclaredOperands();
  bool isVariadic = interface.hasVariadicOperands();
  if (parameter.name == "dims")
    return pythonTuple(dimsOf(op.getResult(0)));
  if (parameter.name == "dtype")
    return torchType(getElementTypeOrSelf(op.getResult(0).getType()));
  if (parameter.name == "is_float")
    return llvm::isa<mlir::FloatType>(getElementTypeOrSelf(op.getResult(0).getType())) ? "True" : "False";
  if (parameter.name == "rank")
    return "rank";
  if (parameter.name == "count" && isVariadic)
    return std::to_string(op.getNumOperands() - declared + 1);
  if (parameter.name == "wanted") {
    auto texts = llvm::map_range(op.getResults(), [](mlir::Value value) { return isAbsent(value) ? "False" : "True"; });
    return "[" + llvm::join(texts, ", ") + "]";
  }
  auto listFrom = [&](unsigned first) {
    auto rest = op.getOperands().drop_front(std::min(first, op.getNumOperands()));
    auto texts = llvm::map_range(rest, [&](mlir::Value value) { return operandText(value, parameter.annotation); });
    return "[" + llvm::join(texts, ", ") + "]";
  };
  if (parameter.name == "offsets" && !isVariadic)
    return listFrom(declared);
  for (unsigned index = 0; index < declared; ++index)
    if (interface.getArgumentNames()[index] == parameter.name) {
      if (isVariadic && index + 1 == declared)
        return listFrom(index);
      return index < op.getNumOperands() ? operandText(op.getOperand(index), parameter.annotation) : "None";
    }
  mlir::DictionaryAttr attributes = op.getAttrDictionary();
  if (mlir::Attribute attribute = attributes.get(parameter.name))
    return pythonValue(attribute);
  bool isDeclared = llvm::is_contained(interface.getArgumentNames(), parameter.name) ||
                    llvm::is_contained(op.getName().getAttributeNames(), parameter.name);
  if (!isDeclared)
    missing = parameter.name;
  return "None";
}

/// Sums over micro-batches are of the result's type: shorter terms are cast before they are added.
void Statements::addSum(mlir::Operation &op) {
  std::vector<std::string> terms;
  mlir::Type element = getElementTypeOrSelf(op.getResult(0).getType());
  for (mlir::Value operand : op.getOperands()) {
    bool isOther = getElementTypeOrSelf(operand.getType()) != element;
    terms.push_back(tensorText(operand) + (isOther ? ".to(" + torchType(element) + ")" : ""));
  }
  std::string name = names.lookup(op.getResult(0)); // of its own: sums live until the update
  addLine(op, sums + ".add(" + pythonString(name) + ", " + llvm::join(terms, " + ") + ")");
}

/// The strategy and the predicted time: "b0:data n:model, 1.31 ms".
std::string Statements::commentOn(mlir::Operation &op) const {
  llvm::SmallVector<std::string, 2> texts;
  if (auto strategy = op.getAttrOfType<StrategyAttr>(strategyAttribute); strategy && strategy.str() != "replicated")
    texts.push_back(strategy.str());
  if (auto seconds = text.seconds.find(opName(&op)); seconds != text.seconds.end())
    texts.push_back(formatSeconds(seconds->second));
  return llvm::join(texts, ", ");
}

llvm::Error Statements::addOperator(mlir::Operation &op) {
  if (op.hasTrait<Accumulates>())
    return addSum(op), llvm::Error::success();
  const TorchFunction *function = text.functions.find(op.getName().stripDialect());
  if (llvm::StringRef unknown = opaqueName(&op); !unknown.empty())
    return inputError(
        "{0}: nobody knows what {1} computes, so no program that runs can be written; the formats mlir and "
        "shard-mlir name it in their programs",
        printOp(op), unknown);
  if (!function)
    return inputError("{0}: operator '{1}' has no function in PyTorch yet", printOp(op), op.getName().stripDialect());
  for (auto types : {mlir::TypeRange(op.getOperandTypes()), mlir::TypeRange(op.getResultTypes())})
    for (mlir::Type type : types)
      if (!llvm::isa<mlir::NoneType>(type) && torchType(getElementTypeOrSelf(type)).empty())
        return inputError("{0}: PyTorch has no tensors of {1}", printOp(op), getElementTypeOrSelf(type));
  llvm::StringMap<std::string> byName;
  std::vector<std::string> arguments;
  std::string missing;
  bool isAttribute = false;
  unsigned declared = llvm::cast<OperatorInterface>(op).getNumDeclaredOperands();
  auto operandNames = llvm::cast<OperatorInterface>(op).getArgumentNames().take_front(declared);
  for (const TorchParameter &parameter : function->parameters) {
    std::string argument = argumentOf(op, parameter, missing);
    isAttribute |= !llvm::is_contained(operandNames, parameter.name);
    if (parameter.standard.empty() || parameter.standard != argument)
      arguments.push_back(isAttribute ? parameter.name + "=" + argument : argument);
    byName[parameter.name] = std::move(argument);
  }
  if (!missing.empty())
    return internalError("{0}: function '{1}' has a parameter '{2}' that the operator has not", printOp(op),
                         function->name, missing);
  std::string comment = isLong(op) ? commentOn(op) : "";
  if (std::optional<std::string> expression = expressionFor(*function, byName)) {
    addLine(op, text.functions.callThroughModule(*expression, text.used), comment);
    return llvm::Error::success();
  }
  text.used.insert(function->name);
  addLine(op, "ops." + function->name + "(" + llvm::join(arguments, ", ") + ")", comment);
  return llvm::Error::success();
}

llvm::Error Statements::add(mlir::Operation &op) {
  if (auto parameter = llvm::dyn_cast<ParameterOp>(op)) {
    names[parameter.getOutput()] = "weights[" + pythonString(parameter.getName()) + "]";
    return llvm::Error::success();
  }
  if (llvm::isa<ConstantOp, NoneOp>(op))
    return llvm::Error::success();
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
    return addCall(call), llvm::Error::success();
  if (auto collective = llvm::dyn_cast<CollectiveInterface>(op))
    return addCollective(collective);
  if (llvm::isa<RankInterface>(op))
    return addOnRank(op);
  if (llvm::isa<OperatorInterface>(op))
    return addOperator(op);
  if (auto send = llvm::dyn_cast<SendOp>(op)) {
    std::string value = pythonString(send.getValue()) + ", " + tensorText(send.getInput());
    return addLine(op, "rank.send(" + value + (send.isOfStep() ? ", once=True)" : ")")), llvm::Error::success();
  }
  if (auto receive = llvm::dyn_cast<ReceiveOp>(op)) {
    std::string value = pythonString(receive.getValue());
    return addLine(op, "rank.receive(" + value + (receive.isOfStep() ? ", once=True)" : ")")), llvm::Error::success();
  }
  return inputError("{0} has no form in PyTorch yet", printOp(op));
}

} // namespace apc
