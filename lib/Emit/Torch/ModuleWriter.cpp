// Functions of layers, the parts of `main`, and what stands before and behind them.
#include "ModuleWriter.h"

#include "ModuleNames.h"
#include "RollLoops.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

using Values = llvm::SetVector<mlir::Value>;

/// The text that the names of all ops of a function begin with, up to the last slash or dot: "/h.0/".
std::string scopeOf(mlir::func::FuncOp function) {
  std::optional<std::string> scope;
  for (mlir::Operation &op : function.front())
    if (auto name = op.getAttrOfType<mlir::StringAttr>(opAttribute)) {
      if (!scope)
        scope = name.str();
      size_t same = 0;
      while (same < std::min(scope->size(), name.size()) && (*scope)[same] == name.getValue()[same])
        ++same;
      scope->resize(same);
    }
  if (!scope)
    return "";
  scope->resize(llvm::StringRef(*scope).find_last_of("/.") + 1);
  return *scope;
}

/// True for a function that adds to sums over micro-batches, or that calls one that does.
bool addsToSums(mlir::func::FuncOp function) {
  return function
      .walk([](mlir::Operation *op) {
        return op->hasTrait<Accumulates>() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// A value that every function can name by itself.
bool isNamedAnywhere(mlir::Value value) {
  return value.getDefiningOp() && llvm::isa<ParameterOp, ConstantOp, NoneOp>(value.getDefiningOp());
}

} // namespace

ModuleWriter::ModuleWriter(mlir::ModuleOp program, const TorchFunctions &functions, const Mesh &mesh,
                           const StagePlan *plan)
    : program(program), text(functions, mesh) {
  if (!plan)
    return;
  for (const PlanChoice &choice : plan->choices)
    text.seconds[choice.op] = choice.seconds;
  addCollectiveSeconds(*plan);
}

/// Predictions are of moves and buckets, so that only the ones of a single collective tell its seconds.
void ModuleWriter::addCollectiveSeconds(const StagePlan &plan) {
  llvm::StringMap<std::string> producers;
  for (const PlanSharding &sharding : plan.shardings)
    producers[sharding.value] = sharding.producer;
  auto add = [&](const PlanMove &move, llvm::ArrayRef<std::string> collectives, double seconds) {
    for (const std::string &value : move.values)
      if (collectives.size() == 1)
        text.collectiveSeconds.try_emplace(collectiveKey(producers.lookup(value), collectives.front()), seconds);
  };
  std::set<unsigned> inBuckets;
  for (const PlanBucket &bucket : plan.buckets)
    for (unsigned move : bucket.moves) {
      inBuckets.insert(move);
      add(plan.moves[move], bucket.collectives, bucket.seconds);
    }
  for (auto [index, move] : llvm::enumerate(plan.moves))
    if (!inBuckets.contains(static_cast<unsigned>(index)))
      add(move, move.collectives, move.seconds);
}

void ModuleWriter::writeFunction(llvm::StringRef name, llvm::ArrayRef<std::string> parameters,
                                 llvm::ArrayRef<std::string> lines) {
  body += "\n\n" + wrapLine("def " + name.str() + "(" + llvm::join(parameters, ", ") + "):", 0);
  for (const std::string &line : lines)
    body += wrapLine(line, 4);
}

/// The name that goes from part to part for a value: all tables together, or the value.
static std::string carrierOf(const std::string &name) {
  return llvm::StringRef(name).starts_with("kept.") ? "kept" : name;
}

/// Statements as lines with loops. Tables are made where they do not come from outside.
static std::vector<std::string> linesOf(llvm::ArrayRef<std::string> statements,
                                        llvm::ArrayRef<std::string> given = {}) {
  std::vector<std::string> lines = rollLoops(statements);
  bool hasTables = llvm::any_of(statements, [](llvm::StringRef line) { return line.contains("kept."); });
  if (hasTables && !llvm::is_contained(given, "kept"))
    lines.insert(lines.begin(), "kept = Tables()");
  return lines;
}

/// The name of a function's argument: that of what it stands for in the first call.
std::string ModuleWriter::argumentName(mlir::func::FuncOp function, unsigned index,
                                       llvm::ArrayRef<mlir::func::CallOp> calls) const {
  mlir::Value operand = calls.empty() ? mlir::Value() : mlir::func::CallOp(calls.front())->getOperand(index);
  auto result = llvm::dyn_cast_or_null<mlir::OpResult>(operand);
  // Moved values are called as what is moved.
  while (result && llvm::isa<CollectiveInterface>(result.getOwner()))
    result = llvm::dyn_cast<mlir::OpResult>(result.getOwner()->getOperand(result.getResultNumber()));
  if (!result)
    return "x";
  if (auto parameter = llvm::dyn_cast<ParameterOp>(result.getOwner()))
    return parameter.getName().str();
  if (auto other = llvm::dyn_cast<mlir::func::CallOp>(result.getOwner()))
    if (auto known = text.resultNames.find(other.getCallee()); known != text.resultNames.end())
      return baseOf(known->second[result.getResultNumber()]);
  auto name = result.getOwner()->getAttrOfType<mlir::StringAttr>(opAttribute);
  return name ? name.str() : "x";
}

llvm::Error ModuleWriter::writeLayer(mlir::func::FuncOp function) {
  std::vector<mlir::func::CallOp> calls;
  program.walk([&](mlir::func::CallOp call) {
    if (call.getCallee() == function.getName())
      calls.push_back(call);
  });
  std::string scope = scopeOf(function);
  std::vector<std::string> wanted;
  for (mlir::BlockArgument argument : function.getArguments())
    wanted.push_back(nameInScope(argumentName(function, argument.getArgNumber(), calls), scope));
  std::vector<std::string> parameters = {"rank"};
  if (addsToSums(function)) {
    text.withSums.insert(function.getName());
    parameters.push_back("sums");
  }
  Statements statements(
      text, nameValues(function, scope, wanted, text.resultNames, reservedNames(program, text.functions)), "sums");
  std::optional<LayerWeights> weights = layerWeights(function, calls);
  if (weights)
    parameters.push_back("weights");
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto name = weights ? weights->names.find(argument.getArgNumber()) : std::map<unsigned, std::string>::iterator();
    if (weights && name != weights->names.end())
      statements.setName(argument, "weights[" + pythonString(name->second) + "]");
    else
      parameters.push_back(statements.nameOf(argument));
  }
  if (weights)
    text.layerWeights[function.getName()] = std::move(*weights);
  for (mlir::Operation &op : function.front().without_terminator())
    if (llvm::Error error = statements.add(op))
      return error;
  std::vector<std::string> lines = linesOf(statements.take()), results;
  for (mlir::Value value : function.front().getTerminator()->getOperands())
    results.push_back(statements.nameOf(value));
  lines.push_back("return " + llvm::join(results, ", "));
  text.resultNames[function.getName()] = results;
  writeFunction(function.getName(), parameters, lines);
  return llvm::Error::success();
}

/// True for an op of the backward pass, or a call of a layer of it.
static bool isBackward(mlir::Operation *op, mlir::ModuleOp program) {
  auto call = llvm::dyn_cast<mlir::func::CallOp>(op);
  auto callee = call ? program.lookupSymbol<mlir::func::FuncOp>(call.getCallee()) : mlir::func::FuncOp();
  return callee ? llvm::any_of(callee.front(), [](mlir::Operation &inner) { return inner.hasAttr(tieAttribute); })
                : op->hasAttr(tieAttribute);
}

static bool isUpdate(mlir::Operation *op) {
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  return interface && !interface.getOverwritten().empty();
}

/// The ops of a part that begins with the forward pass, as functions of their own for it, the backward pass and the
/// update, as far as there are such ops.
std::vector<MainPart> ModuleWriter::splitByPass(llvm::ArrayRef<mlir::Operation *> ops) const {
  const auto *backward = llvm::find_if(ops, [&](mlir::Operation *op) { return isBackward(op, program); });
  const auto *update = std::find_if(backward, ops.end(), isUpdate);
  llvm::ArrayRef<llvm::StringLiteral> names = partFunctionNames();
  std::vector<MainPart> parts = {{names[0].str(), false, {ops.begin(), backward}}};
  if (backward != update)
    parts.push_back({names[1].str(), false, {backward, update}});
  if (update != ops.end())
    parts.push_back({names.back().str(), true, {update, ops.end()}});
  return parts;
}

std::vector<MainPart> ModuleWriter::partsOf(mlir::func::FuncOp main) const {
  std::vector<MainPart> parts(1);
  llvm::ArrayRef<llvm::StringLiteral> names = partFunctionNames();
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (!llvm::isa<PartEndOp, MicroBatchEndOp>(op)) {
      parts.back().ops.push_back(&op);
      continue;
    }
    parts.back().name = names[std::min<size_t>(parts.size() - 1, 2)];
    parts.push_back({});
  }
  parts.back().name = names.back().str();
  parts.back().isUpdate = true;
  if (!main.getOps<PartEndOp>().empty())
    return parts;
  std::vector<MainPart> split = splitByPass(parts.front().ops);
  if (parts.size() > 1)
    split.push_back(std::move(parts.back()));
  return split;
}

/// The values that the ops behind part `index` read, and that are there once it has run.
static Values keptBehind(llvm::ArrayRef<MainPart> parts, size_t index, mlir::func::FuncOp main) {
  llvm::DenseSet<mlir::Operation *> later;
  Values kept;
  for (const MainPart &part : parts.drop_front(index + 1))
    later.insert(part.ops.begin(), part.ops.end());
  auto read = [&](mlir::Value value) {
    bool isThere = !value.getDefiningOp() || !later.contains(value.getDefiningOp());
    if (isThere && !isNamedAnywhere(value))
      kept.insert(value);
  };
  for (const MainPart &part : parts.drop_front(index + 1))
    for (mlir::Operation *op : part.ops)
      for (mlir::Value operand : op->getOperands())
        read(operand);
  for (mlir::Value value : main.front().getTerminator()->getOperands())
    read(value);
  return kept;
}

/// Results of `main` that replace parameters are assigned where they are made, unless the old one is read afterwards.
static bool isReadBehind(llvm::StringRef parameter, mlir::Operation *op) {
  for (mlir::Operation *next = op->getNextNode(); next; next = next->getNextNode())
    for (mlir::Value operand : next->getOperands())
      if (auto source = operand.getDefiningOp<ParameterOp>())
        if (source.getName() == parameter)
          return true;
  return false;
}

/// The entry of `weights` that a result of `main` replaces, "" for other results.
static std::string replacedBy(mlir::func::FuncOp main, unsigned result) {
  auto name = main.getResultAttrOfType<mlir::StringAttr>(result, replacesAttribute);
  return name ? "weights[" + pythonString(name.getValue()) + "]" : "";
}

/// The last lines of `main`: parameters that are not written where they are made, and the other results by name.
static std::vector<std::string> endOfMain(mlir::func::FuncOp main, Statements &statements) {
  std::vector<std::string> lines, results;
  for (mlir::OpOperand &operand : main.front().getTerminator()->getOpOperands()) {
    std::string name = statements.nameOf(operand.get()), replaced = replacedBy(main, operand.getOperandNumber());
    auto own = main.getResultAttrOfType<mlir::StringAttr>(operand.getOperandNumber(), nameAttribute);
    if (replaced.empty())
      results.push_back(pythonString(own.getValue()) + ": " + name);
    else if (name != replaced)
      lines.push_back(replaced + " = " + name);
  }
  lines.push_back("return {" + llvm::join(results, ", ") + "}");
  return lines;
}

/// The names that go from a part to the next; tables go together.
static std::vector<std::string> carriersOf(const Values &kept, Statements &statements) {
  std::vector<std::string> carriers;
  for (mlir::Value value : kept)
    if (std::string name = carrierOf(statements.nameOf(value)); !llvm::is_contained(carriers, name))
      carriers.push_back(name);
  return carriers;
}

std::vector<std::string> ModuleWriter::argumentsOfMain(mlir::func::FuncOp main) const {
  std::vector<std::string> wanted;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto name = main.getArgAttrOfType<mlir::StringAttr>(index, nameAttribute);
    wanted.push_back(pythonName(name ? name.getValue() : "x"));
  }
  return wanted;
}

llvm::Error ModuleWriter::writeMain(mlir::func::FuncOp main) {
  std::vector<std::string> parameters = {"rank", "weights"};
  const size_t numShared = parameters.size();
  Statements statements(
      text, nameValues(main, "", argumentsOfMain(main), text.resultNames, reservedNames(program, text.functions)),
      "rank.sums");
  for (mlir::BlockArgument argument : main.getArguments())
    if (mlir::Type element = getElementTypeOrSelf(argument.getType()); torchType(element).empty())
      return inputError("input '{0}': PyTorch has no tensors of {1}", argumentsOfMain(main)[argument.getArgNumber()],
                        element);
  for (mlir::BlockArgument argument : main.getArguments())
    parameters.push_back(argument.use_empty() ? "_" + std::to_string(argument.getArgNumber())
                                              : statements.nameOf(argument));
  for (mlir::OpOperand &operand : main.front().getTerminator()->getOpOperands()) {
    auto name = main.getResultAttrOfType<mlir::StringAttr>(operand.getOperandNumber(), replacesAttribute);
    mlir::Operation *op = operand.get().getDefiningOp();
    if (name && op && !isReadBehind(name.getValue(), op))
      statements.assign(operand.get(), replacedBy(main, operand.getOperandNumber()));
  }
  std::vector<MainPart> parts = partsOf(main);
  for (auto [index, part] : llvm::enumerate(parts)) {
    for (mlir::Operation *op : part.ops)
      if (llvm::Error error = statements.add(*op))
        return error;
    std::vector<std::string> lines = linesOf(statements.take(), parameters), carriers;
    if (index + 1 == parts.size()) {
      llvm::append_range(lines, endOfMain(main, statements));
    } else {
      carriers = carriersOf(keptBehind(parts, index, main), statements);
      lines.push_back(carriers.empty() ? "return ()"
                                       : "return " + llvm::join(carriers, ", ") + (carriers.size() == 1 ? "," : ""));
    }
    std::vector<std::string> functions = statements.takeFunctions();
    lines.insert(lines.begin(), functions.begin(), functions.end());
    writeFunction(part.name, parameters, lines);
    (part.isUpdate ? updateNames : partNames).push_back(part.name);
    parameters.resize(numShared);
    llvm::append_range(parameters, carriers);
  }
  return llvm::Error::success();
}

std::string ModuleWriter::printHead(llvm::StringRef title) const {
  std::string head = "\"\"\"" + title.str() + "\"\"\"\n";
  bool usesMath = llvm::StringRef(body).contains("math."), usesFiles = !largeConstants().empty();
  head += std::string(usesMath ? "import math\n" : "") + (usesFiles ? "from pathlib import Path\n" : "") +
          (usesMath || usesFiles ? "\n" : "");
  for (const char *module : {"torch", "torch.nn.functional as F"})
    if (llvm::StringRef(body).contains(llvm::StringRef(module).contains("as F") ? "F." : "torch.") ||
        !text.constants.empty())
      head += std::string("import ") + module + "\n";
  head += "\n";
  if (!text.used.empty())
    head += "import ops\n";
  std::vector<std::string> used;
  for (llvm::StringRef name : collectiveNames())
    if (llvm::StringRef(body).contains((" " + name + "(rank").str()))
      used.push_back(name.str());
  if (llvm::StringRef(body).contains("Tables()"))
    used.insert(used.begin(), "Tables");
  if (!used.empty())
    head += "from collectives import " + llvm::join(used, ", ") + "\n";
  if (!largeConstants().empty())
    head += "from loading import read_tensors\n";
  std::vector<std::string> axes, groups;
  for (const MeshAxis &axis : text.mesh.getAxes())
    axes.push_back(pythonString(axis.name) + ": " + std::to_string(axis.size));
  for (const AxisList &group : text.groups) {
    std::vector<int64_t> numbers;
    std::string names;
    for (AxisId axis : group)
      names += pythonString(text.mesh.axis(axis).name) + ", ";
    groups.push_back("(" + (group.size() == 1 ? names.substr(0, names.size() - 1) : names.substr(0, names.size() - 2)) +
                     ")");
  }
  head += "\n" + wrapLine("MESH = {" + llvm::join(axes, ", ") + "}", 0);
  head += wrapLine("GROUPS = [" + llvm::join(groups, ", ") + "]  # of ranks that exchange data: axes of the mesh", 0);
  return head;
}

std::string ModuleWriter::printConstants() const {
  std::string lines;
  for (const auto &[name, value] : text.constants)
    if (std::optional<std::string> tensor = pythonTensor(value))
      lines += wrapLine("\"" + name + "\": " + *tensor + ",", 8);
  if (!largeConstants().empty())
    lines += "        **read_tensors(Path(__file__).with_name(\"constants.safetensors\"), device),\n";
  std::string definition = "\n\ndef make_constants(device):\n    return {";
  return definition + (lines.empty() ? "" : "\n" + lines + "    ") + "}\n";
}

std::vector<std::pair<std::string, mlir::DenseElementsAttr>> ModuleWriter::largeConstants() const {
  std::vector<std::pair<std::string, mlir::DenseElementsAttr>> large;
  llvm::copy_if(text.constants, std::back_inserter(large),
                [](const auto &constant) { return !pythonTensor(constant.second); });
  return large;
}

llvm::Expected<std::string> ModuleWriter::write(llvm::StringRef title) {
  for (auto function : program.getOps<mlir::func::FuncOp>())
    if (!function.isExternal() && function.getName() != "main")
      if (llvm::Error error = writeLayer(function))
        return error;
  if (llvm::Error error = writeMain(mainOf(program)))
    return error;
  std::string head = printHead(title);
  std::vector<std::string> inputs;
  PlanNames names = namePlan(mainOf(program)); // no two are alike, as in the manifest
  for (mlir::BlockArgument argument : mainOf(program).getArguments())
    if (mainOf(program).getArgAttr(argument.getArgNumber(), nameAttribute))
      inputs.push_back(pythonString(names.values.lookup(argument)));
  std::string tail = "\n\n" + wrapLine("INPUTS = [" + llvm::join(inputs, ", ") + "]", 0) + "PARTS = [" +
                     llvm::join(partNames, ", ") +
                     "]  # of a micro-batch\nUPDATE = " + (updateNames.empty() ? "None" : updateNames.front()) + "\n";
  return head + printConstants() + body + tail;
}

} // namespace apc
