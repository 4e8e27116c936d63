// Layers and parts of `main`, op by op through the lowerings of the operators.
#include "FunctionWriter.h"
#include "PrintHloModule.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Operator.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace apc {

namespace {

std::string printOp(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(opAttribute);
  return op->getName().getStringRef().str() + (name ? " '" + name.str() + "'" : "");
}

bool isWrittenWhereUsed(mlir::Value value) {
  return value.getDefiningOp() && llvm::isa<ConstantOp, NoneOp>(value.getDefiningOp());
}

/// Writes one module of StableHLO.
class HloModuleWriter {
public:
  HloModuleWriter(mlir::ModuleOp program, const Mesh &mesh)
      : program(program), mesh(mesh), builder(program.getContext()) {
    module = mlir::ModuleOp::create(program.getLoc());
    (*module)->setAttr("mhlo.num_partitions", builder.getI32IntegerAttr(1));
    (*module)->setAttr("mhlo.num_replicas", builder.getI32IntegerAttr(static_cast<int32_t>(mesh.numDevices())));
  }

  llvm::Expected<HloProgram> write(const HloPart &part, llvm::ArrayRef<HloPart> later, mlir::func::FuncOp main,
                                   bool isLast, size_t firstSum);
  /// The sums over micro-batches that an op adds to.
  std::vector<mlir::Type> sumsOf(mlir::Operation *op);

private:
  llvm::Error writeLayer(mlir::func::FuncOp layer);
  llvm::Error writeOps(llvm::ArrayRef<mlir::Operation *> ops, HloWriter &h);
  llvm::Error writeOp(mlir::Operation *op, HloWriter &h);
  llvm::Error writeCall(mlir::func::CallOp call, HloWriter &h);
  void addArguments(const HloPart &part, HloProgram &written, llvm::SetVector<mlir::Value> &arguments) const;

  mlir::ModuleOp program;
  Mesh mesh;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringMap<bool> layers;           ///< that are written
  std::vector<mlir::Value> sums, newSums; ///< of the function that is written: those that come in, and what they become
};

std::vector<mlir::Type> HloModuleWriter::sumsOf(mlir::Operation *op) {
  if (op->hasTrait<Accumulates>())
    return {op->getResult(0).getType()};
  std::vector<mlir::Type> types;
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
    for (mlir::Operation &inner : program.lookupSymbol<mlir::func::FuncOp>(call.getCallee()).front())
      llvm::append_range(types, sumsOf(&inner));
  return types;
}

llvm::Error HloModuleWriter::writeCall(mlir::func::CallOp call, HloWriter &h) {
  std::vector<mlir::Value> operands;
  for (mlir::Value operand : call.getOperands())
    operands.push_back(h(operand).value);
  std::vector<mlir::Type> added = sumsOf(call), results(call.getResultTypes().begin(), call.getResultTypes().end());
  for (size_t i = 0; i < added.size(); ++i)
    operands.push_back(sums[newSums.size() + i]);
  llvm::append_range(results, added);
  auto written = mlir::func::CallOp::create(builder, call.getLoc(), call.getCallee(), results, operands);
  for (auto [old, now] : llvm::zip(call.getResults(), written.getResults()))
    h.set(old, {now, &h});
  llvm::append_range(newSums, written.getResults().take_back(added.size()));
  return llvm::Error::success();
}

llvm::Error HloModuleWriter::writeOp(mlir::Operation *op, HloWriter &h) {
  if (llvm::isa<ParameterOp, ConstantOp, NoneOp, SendOp, ReceiveOp, PartEndOp, MicroBatchEndOp>(op))
    return llvm::Error::success();
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
    return writeCall(call, h);
  if (op->hasTrait<Accumulates>()) {
    Hlo total{sums[newSums.size()], &h};
    mlir::Type element = getElementTypeOrSelf(op->getResult(0).getType());
    for (mlir::Value operand : op->getOperands())
      total = total + hlo::convert(h(operand), element);
    newSums.push_back(total.value);
    h.set(op->getResult(0), total);
    return llvm::Error::success();
  }
  const HloLowering *lowering = findHloLowering(op);
  if (!lowering)
    return inputError("{0}: operator '{1}' has no form in StableHLO yet", printOp(op), op->getName().stripDialect());
  HloList results = lowering->write(op, h);
  if (std::string refusal = h.takeRefusal(); !refusal.empty())
    return inputError("{0}: operator '{1}' has no form in StableHLO yet with {2}", printOp(op),
                      op->getName().stripDialect(), refusal);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (isAbsent(result) || (result.use_empty() && (index >= results.size() || !results[index])))
      continue;
    if (index >= results.size() || !results[index] || results[index].value.getType() != result.getType())
      return internalError("{0}: result {1} in StableHLO is not {2}", printOp(op), index, result.getType());
    h.set(result, results[index]);
  }
  return llvm::Error::success();
}

llvm::Error HloModuleWriter::writeOps(llvm::ArrayRef<mlir::Operation *> ops, HloWriter &h) {
  for (mlir::Operation *op : ops)
    if (llvm::Error error = writeOp(op, h))
      return error;
  return llvm::Error::success();
}

llvm::Error HloModuleWriter::writeLayer(mlir::func::FuncOp layer) {
  if (std::exchange(layers[layer.getName()], true))
    return llvm::Error::success();
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::Type> added;
  for (mlir::Operation &op : layer.front().without_terminator()) {
    ops.push_back(&op);
    llvm::append_range(added, sumsOf(&op));
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      if (llvm::Error error = writeLayer(program.lookupSymbol<mlir::func::FuncOp>(call.getCallee())))
        return error;
  }
  std::vector<mlir::Type> arguments(layer.getArgumentTypes()), results(layer.getResultTypes());
  llvm::append_range(arguments, added);
  llvm::append_range(results, added);
  builder.setInsertionPointToEnd(module->getBody());
  auto function =
      mlir::func::FuncOp::create(builder, layer.getLoc(), layer.getName(), builder.getFunctionType(arguments, results));
  function.setPrivate();
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  HloWriter h(builder, layer.getLoc(), mesh);
  for (auto [old, now] : llvm::zip(layer.getArguments(), body->getArguments()))
    h.set(old, {now, &h});
  llvm::ArrayRef<mlir::BlockArgument> own = body->getArguments();
  sums.assign(own.take_back(added.size()).begin(), own.take_back(added.size()).end());
  newSums.clear();
  if (llvm::Error error = writeOps(ops, h))
    return error;
  std::vector<mlir::Value> returned;
  for (mlir::Value value : layer.front().getTerminator()->getOperands())
    returned.push_back(h(value).value);
  llvm::append_range(returned, newSums);
  mlir::func::ReturnOp::create(builder, layer.getLoc(), returned);
  return llvm::Error::success();
}

/// The name of a value that goes from part to part.
std::string keptName(mlir::Value value) {
  auto *op = value.getDefiningOp();
  std::string name = "argument";
  size_t place = 0;
  if (op) {
    for (mlir::Operation &other : *op->getBlock()) {
      if (&other == op)
        break;
      ++place;
    }
    name = std::to_string(place) + "." + std::to_string(llvm::cast<mlir::OpResult>(value).getResultNumber());
  }
  return name;
}

void HloModuleWriter::addArguments(const HloPart &part, HloProgram &written,
                                   llvm::SetVector<mlir::Value> &arguments) const {
  llvm::DenseSet<mlir::Operation *> own(part.ops.begin(), part.ops.end());
  auto add = [&](mlir::Value value, const char *kind, const std::string &name) {
    if (arguments.insert(value))
      written.arguments.push_back({kind, name, value.getType()});
  };
  for (mlir::Operation *op : part.ops) {
    if (auto receive = llvm::dyn_cast<ReceiveOp>(op))
      add(receive.getOutput(), "received", receive.getValue().str());
    for (mlir::Value operand : op->getOperands()) {
      mlir::Operation *source = operand.getDefiningOp();
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand)) {
        auto main = llvm::cast<mlir::func::FuncOp>(op->getParentOp());
        auto name = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), nameAttribute);
        add(operand, "input", name ? name.str() : std::to_string(argument.getArgNumber()));
      } else if (auto parameter = llvm::dyn_cast<ParameterOp>(source)) {
        add(operand, "parameter", parameter.getName().str());
      } else if (!own.contains(source) && !isWrittenWhereUsed(operand)) {
        add(operand, "kept", keptName(operand));
      }
    }
  }
}

/// The results of a part but for sums: what later parts read, what other stages receive, and results of `main`.
std::vector<std::pair<mlir::Value, HloValue>> resultsOf(const HloPart &part, llvm::ArrayRef<HloPart> later,
                                                        mlir::func::FuncOp main, bool isLast) {
  std::vector<std::pair<mlir::Value, HloValue>> results;
  llvm::DenseSet<mlir::Operation *> own(part.ops.begin(), part.ops.end());
  llvm::SetVector<mlir::Value> kept;
  for (const HloPart &other : later)
    for (mlir::Operation *op : other.ops)
      for (mlir::Value operand : op->getOperands())
        if (operand.getDefiningOp() && own.contains(operand.getDefiningOp()) && !isWrittenWhereUsed(operand) &&
            !operand.getDefiningOp<ParameterOp>())
          kept.insert(operand);
  for (mlir::Value value : kept)
    results.push_back({value, {"kept", keptName(value), value.getType()}});
  for (mlir::Operation *op : part.ops)
    if (auto send = llvm::dyn_cast<SendOp>(op))
      results.push_back({send.getInput(), {"sent", send.getValue().str(), send.getInput().getType()}});
  for (mlir::OpOperand &operand : main.front().getTerminator()->getOpOperands()) {
    mlir::Operation *source = operand.get().getDefiningOp();
    bool isAnywhere = !source || llvm::isa<ParameterOp, ConstantOp>(source);
    if (isAnywhere ? !isLast : !own.contains(source))
      continue;
    unsigned index = operand.getOperandNumber();
    auto replaced = main.getResultAttrOfType<mlir::StringAttr>(index, replacesAttribute),
         name = main.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute);
    std::string own = replaced ? replaced.str() : name ? name.str() : std::to_string(index);
    results.push_back({operand.get(), {replaced ? "parameter" : "output", own, operand.get().getType()}});
  }
  return results;
}

llvm::Expected<HloProgram> HloModuleWriter::write(const HloPart &part, llvm::ArrayRef<HloPart> later,
                                                  mlir::func::FuncOp main, bool isLast, size_t firstSum) {
  HloProgram written{part.name, "", {}, {}};
  llvm::SetVector<mlir::Value> arguments;
  addArguments(part, written, arguments);
  auto results = resultsOf(part, later, main, isLast);
  // A result may be an argument of the step, or a tensor that the rank holds.
  for (auto &[value, described] : results)
    if (auto parameter = value.getDefiningOp<ParameterOp>(); parameter && arguments.insert(value))
      written.arguments.push_back({"parameter", parameter.getName().str(), value.getType()});
  std::vector<mlir::Type> added;
  for (mlir::Operation *op : part.ops) {
    llvm::append_range(added, sumsOf(op));
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      if (llvm::Error error = writeLayer(program.lookupSymbol<mlir::func::FuncOp>(call.getCallee())))
        return error;
  }
  std::vector<HloValue> sumValues;
  for (auto [index, type] : llvm::enumerate(added))
    sumValues.push_back({"sum", std::to_string(firstSum + index), type});
  llvm::append_range(written.arguments, sumValues);
  std::vector<mlir::Type> types, resultTypes;
  for (const HloValue &argument : written.arguments)
    types.push_back(argument.type);
  for (auto &[value, described] : results)
    written.results.push_back(described);
  llvm::append_range(written.results, sumValues);
  for (const HloValue &result : written.results)
    resultTypes.push_back(result.type);
  builder.setInsertionPointToEnd(module->getBody());
  auto function =
      mlir::func::FuncOp::create(builder, main.getLoc(), "main", builder.getFunctionType(types, resultTypes));
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  HloWriter h(builder, main.getLoc(), mesh);
  for (auto [value, argument] : llvm::zip(arguments, body->getArguments()))
    h.set(value, {argument, &h});
  llvm::ArrayRef<mlir::BlockArgument> own = body->getArguments();
  sums.assign(own.take_back(added.size()).begin(), own.take_back(added.size()).end());
  newSums.clear();
  if (llvm::Error error = writeOps(part.ops, h))
    return error;
  std::vector<mlir::Value> returned;
  for (auto &[value, described] : results)
    returned.push_back(h(value).value);
  llvm::append_range(returned, newSums);
  mlir::func::ReturnOp::create(builder, main.getLoc(), returned);
  written.text = printHloModule(*module);
  return written;
}

/// Begins a part of the update at each value that comes behind one that goes: updates of stages wait for one another.
void splitUpdate(std::vector<HloPart> &parts) {
  HloPart whole = std::exchange(parts.back(), {"update", {}});
  size_t number = 1;
  bool hasSent = false;
  for (mlir::Operation *op : whole.ops) {
    hasSent |= llvm::isa<SendOp>(op);
    if (llvm::isa<ReceiveOp>(op) && std::exchange(hasSent, false))
      parts.push_back({"update_" + std::to_string(++number), {}});
    parts.back().ops.push_back(op);
  }
}

} // namespace

std::vector<HloPart> hloPartsOf(mlir::func::FuncOp main) {
  std::vector<HloPart> parts(1);
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (auto end = llvm::dyn_cast<PartEndOp>(op))
      parts.back().name = end.getPart().str();
    else if (llvm::isa<MicroBatchEndOp>(op))
      parts.back().name = parts.size() == 1 ? "micro_batch" : parts.size() == 2 ? "backward" : "weight_gradients";
    else {
      parts.back().ops.push_back(&op);
      continue;
    }
    parts.emplace_back();
  }
  bool hasUpdate = parts.size() > 1;
  parts.back().name = hasUpdate ? "update" : "step";
  if (hasUpdate)
    splitUpdate(parts);
  return parts;
}

llvm::Expected<std::vector<HloProgram>> writeHloPrograms(mlir::ModuleOp program, const Mesh &mesh) {
  mlir::func::FuncOp main = mainOf(program);
  std::vector<HloPart> parts = hloPartsOf(main);
  std::vector<HloProgram> programs;
  size_t numSums = 0;
  for (auto [index, part] : llvm::enumerate(parts)) {
    HloModuleWriter writer(program, mesh);
    auto later = llvm::ArrayRef<HloPart>(parts).drop_front(index + 1);
    auto written = writer.write(part, later, main, index + 1 == parts.size(), numSums);
    if (!written)
      return written.takeError();
    for (mlir::Operation *op : part.ops)
      numSums += writer.sumsOf(op).size();
    if (!written->results.empty())
      programs.push_back(std::move(*written));
  }
  return programs;
}

} // namespace apc
