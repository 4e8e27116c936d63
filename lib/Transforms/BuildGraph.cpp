// Reads a module into the planner's plain values.
#include "apc/Transforms/BuildGraph.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Opaque.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/FindParts.h"
#include "apc/IR/Program/Parts.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Support/Error.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"

#include <bit>
#include <map>
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

size_t hashOf(llvm::ArrayRef<RuleTensor> tensors) {
  llvm::hash_code hash(tensors.size());
  for (const RuleTensor &tensor : tensors) {
    hash = llvm::hash_combine(hash, tensor.dims.size(), tensor.elementBits);
    for (const DimFactors &dim : tensor.dims)
      for (FactorId factor : dim)
        hash = llvm::hash_combine(hash, factor.index());
  }
  return hash;
}

size_t hashOf(const FactorRule &rule) {
  llvm::hash_code hash = llvm::hash_combine(hashOf(rule.operands), hashOf(rule.results),
                                            std::bit_cast<uint64_t>(rule.flopsPerPoint), rule.work);
  for (const Factor &factor : rule.factors)
    hash = llvm::hash_combine(hash, factor.size, llvm::StringRef(factor.name));
  return hash;
}

class GraphBuilder {
public:
  explicit GraphBuilder(mlir::func::FuncOp function) : function(function), names(namePlan(function)) {}

  mlir::FailureOr<OpGraph> build();

private:
  RuleId intern(FactorRule rule);
  void addResults(OpId op, mlir::ValueRange results, ValueRole role);
  void addSource(mlir::Value value, ValueRole role);
  mlir::LogicalResult addOp(mlir::Operation *op);
  void addSink(unsigned index);
  void addReceive(ReceiveOp receive);
  void addSend(SendOp send);
  /// Enters an op in the tie that an attribute of the module names, and its factors.
  void tie(OpId op, mlir::StringAttr leader, mlir::ArrayAttr factors);
  void addOverwritten(mlir::Operation *op);
  /// The name of the first op that reads statistics; null where none does.
  mlir::StringAttr readerOf(mlir::Operation *statistics);
  void collectTies();

  mlir::func::FuncOp function;
  PlanNames names;
  OpGraph graph;
  int64_t repeats = 1; ///< of the ops that are being added
  llvm::DenseMap<mlir::Value, ValueId> ids;
  std::unordered_map<size_t, llvm::SmallVector<RuleId, 1>> rulesByHash;
  std::map<std::string, TiedOps> followers;        ///< by the name of the op that leads them
  std::map<std::string, mlir::StringAttr> readers; ///< by the name of an op that takes statistics: the op that leads it
};

RuleId GraphBuilder::intern(FactorRule rule) {
  llvm::SmallVector<RuleId, 1> &candidates = rulesByHash[hashOf(rule)];
  for (RuleId id : candidates)
    if (graph.rules[id.index()] == rule)
      return id;
  candidates.emplace_back(graph.rules.size());
  graph.rules.push_back(std::move(rule));
  return candidates.back();
}

void GraphBuilder::addResults(OpId op, mlir::ValueRange results, ValueRole role) {
  for (auto [index, result] : llvm::enumerate(results)) {
    auto shape = shapeOf(result);
    if (!shape) {
      graph.ops[op.index()].results.emplace_back();
      continue;
    }
    ValueId id(graph.values.size());
    graph.values.push_back({names.values.lookup(result), *shape, role, op, static_cast<unsigned>(index)});
    graph.ops[op.index()].results.emplace_back(id);
    ids[result] = id;
  }
}

void GraphBuilder::addSource(mlir::Value value, ValueRole role) {
  FactorRuleBuilder builder;
  TensorShape shape = *shapeOf(value);
  builder.addResult(builder.addFactors("d", shape.dims), shape.elementBits);
  builder.setWork(Work::View);
  FactorRule rule = builder.take();
  if (mlir::Operation *source = value.getDefiningOp())
    cutInsideParts(source, rule);
  OpId op(graph.ops.size());
  graph.ops.push_back({names.sources.lookup(value),
                       valueRoleName(role).str(),
                       intern(std::move(rule)),
                       formatOf(value.getType()),
                       {},
                       {}});
  addResults(op, value, role);
  if (mlir::Operation *source = value.getDefiningOp())
    tie(op, source->getAttrOfType<mlir::StringAttr>(tieAttribute), {});
}

void GraphBuilder::addSink(unsigned index) {
  mlir::Value value = function.front().getTerminator()->getOperand(index);
  std::optional<ValueId> operand;
  if (auto id = ids.find(value); id != ids.end())
    operand = id->second;
  OpId sink(graph.ops.size());
  graph.ops.push_back(
      {names.outputs[index], "output", intern(outputRule(function, index)), formatOf(value.getType()), {operand}, {}});
  tie(sink, function.getResultAttrOfType<mlir::StringAttr>(index, tieAttribute), {});
}

void GraphBuilder::addReceive(ReceiveOp receive) {
  addSource(receive.getOutput(), parseValueRole(receive.getRole()).value_or(ValueRole::Input));
  graph.ops.back().isTransfer = true;
}

void GraphBuilder::addSend(SendOp send) {
  GraphOp sink{names.sends.lookup(send), "output", intern(sendRule(send)), formatOf(send.getInput().getType()), {}, {}};
  sink.operands.emplace_back(ids.lookup(send.getInput()));
  sink.repeats = send.isOfStep() ? 1 : repeats;
  sink.isTransfer = true;
  graph.ops.push_back(std::move(sink));
}

void GraphBuilder::tie(OpId op, mlir::StringAttr leader, mlir::ArrayAttr factors) {
  if (!leader || graph.op(op).name == leader.getValue())
    return;
  if (auto reader = readers.find(leader.str()); reader != readers.end())
    leader = reader->second; // a copy of statistics
  followers[leader.str()].push_back(op);
  if (factors)
    for (auto name : factors.getAsRange<mlir::StringAttr>())
      graph.ops[op.index()].leadingFactors.push_back(name.str());
}

/// The results of an op that take the place of what it reads.
void GraphBuilder::addOverwritten(mlir::Operation *op) {
  for (auto [index, operand] : llvm::enumerate(llvm::cast<OperatorInterface>(op).getOverwritten())) {
    auto result = ids.find(op->getResult(static_cast<unsigned>(index))), before = ids.find(op->getOperand(operand));
    if (result != ids.end() && before != ids.end())
      graph.values[result->second.index()].replaces = before->second;
  }
}

mlir::StringAttr GraphBuilder::readerOf(mlir::Operation *statistics) {
  mlir::Operation *first = nullptr;
  for (mlir::Operation *user : statistics->getUsers())
    if (names.ops.contains(user) && (!first || user->isBeforeInBlock(first)))
      first = user;
  return first ? mlir::StringAttr::get(function.getContext(), names.ops.lookup(first)) : mlir::StringAttr();
}

void GraphBuilder::collectTies() {
  std::map<OpId, TiedOps> byLeader;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (auto found = followers.find(op.name); found != followers.end()) {
      TiedOps &ops = byLeader[OpId(index)];
      ops.push_back(OpId(index));
      llvm::append_range(ops, found->second);
    }
  for (auto &[leader, ops] : byLeader)
    graph.ties.push_back(std::move(ops));
}

mlir::LogicalResult GraphBuilder::addOp(mlir::Operation *op) {
  mlir::FailureOr<FactorRule> rule = plannedRule(op);
  if (mlir::failed(rule))
    return mlir::failure();
  GraphOp node;
  node.repeats = repeats;
  node.accumulates = op->hasTrait<Accumulates>();
  node.name = names.ops.lookup(op);
  node.operatorName = operatorNameOf(op).str();
  node.format = formatOf(op);
  node.rule = intern(std::move(*rule));
  for (mlir::Value operand : op->getOperands()) {
    auto id = ids.find(operand);
    node.operands.push_back(id == ids.end() ? std::nullopt : std::optional<ValueId>(id->second));
  }
  OpId id(graph.ops.size());
  graph.ops.push_back(std::move(node));
  auto role = op->getAttrOfType<mlir::StringAttr>(roleAttribute);
  addResults(id, op->getResults(),
             role ? parseValueRole(role.getValue()).value_or(ValueRole::Activation) : ValueRole::Activation);
  auto leader = op->getAttrOfType<mlir::StringAttr>(tieAttribute);
  graph.ops[id.index()].inPass = op->hasAttr(passAttribute);
  if (!leader && op->hasAttr(passAttribute))
    leader = readers[graph.op(id).name] = readerOf(op);
  tie(id, leader, op->getAttrOfType<mlir::ArrayAttr>(factorsAttribute));
  addOverwritten(op);
  return mlir::success();
}

mlir::FailureOr<OpGraph> GraphBuilder::build() {
  repeats = microBatchesOf(function);
  graph.copies = copiesOf(function);
  for (mlir::BlockArgument argument : function.getArguments())
    addSource(argument, ValueRole::Input);
  for (mlir::Operation &op : function.front().without_terminator()) {
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
      addSource(parameter.getOutput(),
                isOptimizerState(parameter.getSource()) ? ValueRole::OptimizerState : ValueRole::Parameter);
    else if (auto receive = llvm::dyn_cast<ReceiveOp>(op))
      addReceive(receive);
    else if (auto send = llvm::dyn_cast<SendOp>(op))
      addSend(send);
    else if (llvm::isa<MicroBatchEndOp>(op))
      repeats = 1;
    else if (!llvm::isa<ConstantOp, NoneOp, PartEndOp>(op) && mlir::failed(addOp(&op)))
      return mlir::failure();
  }
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    addSink(index);
  collectTies();
  for (auto [op, atLoad] : llvm::zip_equal(graph.ops, graph.opsAtLoad()))
    op.atLoad = atLoad;
  return std::move(graph);
}

} // namespace

mlir::FailureOr<OpGraph> buildGraph(mlir::ModuleOp module) {
  auto function = mainOf(module);
  if (!function)
    return module.emitError("has no function 'main' to plan"), mlir::failure();
  return GraphBuilder(function).build();
}

namespace {

/// The readers of each op by name, in order.
using Readers = std::vector<std::pair<std::string, std::vector<std::string>>>;

Readers readersOf(mlir::ModuleOp module) {
  Readers readers;
  mlir::func::FuncOp function = mainOf(module);
  if (!function)
    return readers;
  PlanNames names = namePlan(function);
  for (mlir::Operation &op : function.front().without_terminator())
    if (auto name = names.ops.find(&op); name != names.ops.end()) {
      readers.emplace_back(name->second, std::vector<std::string>());
      for (mlir::Operation *user : op.getUsers())
        if (auto reader = names.ops.find(user); reader != names.ops.end())
          readers.back().second.push_back(reader->second);
    }
  return readers;
}

/// `graph` with each op that was there before, and is gone, named by the op that now does its work: the first of its
/// readers, or of theirs, that is left.
OpGraph withMerged(OpGraph graph, const Readers &before) {
  llvm::DenseMap<llvm::StringRef, size_t> positions;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    positions.try_emplace(op.name, index);
  if (llvm::all_of(before, [&](const auto &entry) { return positions.contains(entry.first); }))
    return graph;
  std::map<llvm::StringRef, llvm::StringRef> doneBy;
  for (const auto &[name, readers] : llvm::reverse(before)) {
    if (positions.contains(name))
      doneBy[name] = name;
    else if (auto left = llvm::find_if(readers, [&](const std::string &reader) { return doneBy.count(reader); });
             left != readers.end())
      doneBy[name] = doneBy[*left];
  }
  for (const auto &[name, readers] : before)
    if (auto by = doneBy.find(name); by != doneBy.end() && by->second != name)
      graph.ops[positions[by->second]].merged.push_back(name);
  return graph;
}

} // namespace

llvm::Expected<OpGraph> graphOfModel(mlir::ModuleOp module, llvm::StringRef source) {
  Readers before = readersOf(module);
  recognizeComposites(module);
  findParts(module);
  DiagnosticCapture diagnostics(module.getContext());
  mlir::FailureOr<OpGraph> graph = buildGraph(module);
  if (mlir::failed(graph))
    return inputError("{0}: {1}", source, diagnostics.take());
  if (graph->ops.empty())
    return inputError("{0}: the model computes nothing", source);
  return withMerged(std::move(*graph), before);
}

} // namespace apc
