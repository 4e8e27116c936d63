// Writes the graph of a stage with the ops of the whole module.
#include "apc/Transforms/StageModule.h"

#include "apc/Graph/StageGraph.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/Parts.h"
#include "apc/IR/Program/PlanNames.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace apc {

namespace {

class StageWriter {
public:
  StageWriter(mlir::func::FuncOp main, const OpGraph &whole, const StageSplit &split, unsigned stage,
              bool splitsBackward)
      : main(main), whole(whole), splitsBackward(splitsBackward), own(stageGraph(whole, split, stage, splitsBackward)),
        names(namePlan(main)), builder(main.getContext()), values(own.values.size()), leaders(own.graph.ops.size()) {
    readWhole();
    for (const StageTransfer &transfer : split.transfers)
      times[transfer.value] = transfer.time;
    for (const TiedOps &tie : own.graph.ties)
      for (OpId op : tie)
        leaders[op.index()] = tie.front();
  }

  mlir::OwningOpRef<mlir::ModuleOp> write();

private:
  /// The values and ops of `main` by the numbers that the whole graph has for them.
  void readWhole();
  mlir::Value wholeValue(ValueId value) {
    const GraphValue &known = whole.value(value);
    mlir::Operation *op = opsOfWhole[known.producer.index()];
    return op ? op->getResult(known.resultIndex) : mlir::Value(main.getArgument(known.producer.index()));
  }

  void addArgument(OpId id);
  void addSource(OpId id);
  void addSend(OpId id);
  void addOp(OpId id);
  void addResult(OpId id);
  /// Ends the parts before `part`.
  void enter(StagePart part);
  unsigned positionOf(StagePart part) const {
    return part == StagePart::WeightGradients && !splitsBackward ? unsigned(StagePart::InputGradients) : unsigned(part);
  }
  /// The copy of `operand`, a constant or an absent value of the whole module.
  mlir::Value constantHere(mlir::Value operand);
  void setTie(mlir::Operation *op, OpId id);
  mlir::Location location(OpId id) { return mlir::NameLoc::get(builder.getStringAttr(own.graph.op(id).name)); }
  llvm::StringRef timeOf(ValueId value) const {
    return times.at(own.values[value.index()]) == TransferTime::Step ? "step" : "micro_batch";
  }
  /// Marks the dims of an end of a transfer that are cut inside parts.
  void markEnd(mlir::Operation *op, const RuleTensor &tensor) {
    for (unsigned dim = 0; dim < tensor.dims.size(); ++dim)
      if (llvm::ArrayRef<int64_t> parts = partsOf(tensor.parted, dim); !parts.empty())
        markParts(op, "d" + std::to_string(dim), parts);
  }

  mlir::func::FuncOp main;
  const OpGraph &whole;
  bool splitsBackward;
  StageGraph own;
  PlanNames names;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  std::vector<mlir::Operation *> opsOfWhole; ///< by op of the whole graph; null for arguments and results
  std::vector<mlir::Value> values;           ///< by value of the stage
  std::vector<std::optional<OpId>> leaders;  ///< by op of the stage
  std::map<ValueId, TransferTime> times;     ///< by value of the whole graph
  llvm::DenseMap<mlir::Value, mlir::Value> constants;
  unsigned numEnded = 0; ///< parts
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttributes;
};

void StageWriter::readWhole() {
  opsOfWhole.resize(main.getNumArguments());
  for (mlir::Operation &op : main.front().without_terminator())
    if (!llvm::isa<ConstantOp, NoneOp>(op) && !isPartEnd(&op))
      opsOfWhole.push_back(&op);
  opsOfWhole.resize(opsOfWhole.size() + main.getNumResults());
  assert(opsOfWhole.size() == whole.ops.size() && "the graph is that of the module");
}

void StageWriter::addArgument(OpId id) {
  ValueId value = *own.graph.op(id).results.front();
  auto argument = llvm::cast<mlir::BlockArgument>(wholeValue(own.values[value.index()]));
  mlir::NamedAttrList attributes(main.getArgAttrDict(argument.getArgNumber()));
  attributes.set(nameAttribute, builder.getStringAttr(names.values.lookup(argument)));
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, argument.getType(), attributes.getDictionary(builder.getContext()),
                                argument.getLoc());
  values[value.index()] = function.getArgument(index);
}

void StageWriter::addSource(OpId id) {
  const GraphOp &source = own.graph.op(id);
  ValueId value = *source.results.front();
  mlir::Value origin = wholeValue(own.values[value.index()]);
  mlir::Operation *op = nullptr;
  if (source.isTransfer) {
    op = ReceiveOp::create(builder, location(id), origin.getType(), own.graph.value(value).name, timeOf(value),
                           valueRoleName(own.graph.value(value).role));
    markEnd(op, own.graph.ruleOf(id).results.front());
  } else {
    op = builder.clone(*origin.getDefiningOp());
    setTie(op, id);
  }
  values[value.index()] = op->getResult(0);
}

void StageWriter::addSend(OpId id) {
  ValueId value = *own.graph.op(id).operands.front();
  auto send = SendOp::create(builder, location(id), values[value.index()], own.graph.value(value).name, timeOf(value));
  markEnd(send, own.graph.ruleOf(id).operands.front());
}

mlir::Value StageWriter::constantHere(mlir::Value operand) {
  mlir::Value &here = constants[operand];
  if (!here)
    here = isPlanConstant(operand) ? mlir::Value(builder.clone(*operand.getDefiningOp())->getResult(0))
                                   : mlir::Value(NoneOp::create(builder, operand.getLoc()));
  return here;
}

void StageWriter::setTie(mlir::Operation *op, OpId id) {
  if (!op->hasAttr(tieAttribute))
    return;
  std::optional<OpId> leader = leaders[id.index()];
  if (!leader || *leader == id) {
    op->removeAttr(tieAttribute);
    op->removeAttr(factorsAttribute);
    return;
  }
  op->setAttr(tieAttribute, builder.getStringAttr(own.graph.op(*leader).name));
  op->removeAttr(factorsAttribute);
  const std::vector<std::string> &factors = own.graph.op(id).leadingFactors;
  if (!factors.empty())
    op->setAttr(factorsAttribute, builder.getStrArrayAttr(llvm::to_vector_of<llvm::StringRef>(factors)));
}

void StageWriter::addOp(OpId id) {
  mlir::Operation *origin = opsOfWhole[own.ops[id.index()]->index()];
  llvm::SmallVector<mlir::Value> operands;
  for (auto [operand, value] : llvm::zip_equal(origin->getOperands(), own.graph.op(id).operands))
    operands.push_back(value ? values[value->index()] : constantHere(operand));
  mlir::Operation *op = builder.clone(*origin);
  op->setOperands(operands);
  op->setLoc(location(id));
  setTie(op, id);
  llvm::SmallVector<llvm::StringRef> resultNames;
  for (auto [result, before, value] :
       llvm::zip_equal(op->getResults(), origin->getResults(), own.graph.op(id).results)) {
    resultNames.push_back(value ? llvm::StringRef(own.graph.value(*value).name) : llvm::StringRef());
    if (value)
      values[value->index()] = result;
  }
  op->setAttr(valuesAttribute, builder.getStrArrayAttr(resultNames));
}

void StageWriter::addResult(OpId id) {
  const GraphOp &sink = own.graph.op(id);
  unsigned index = unsigned(own.ops[id.index()]->index() - (whole.ops.size() - main.getNumResults()));
  mlir::NamedAttrList attributes(main.getResultAttrDict(index));
  attributes.set(nameAttribute, builder.getStringAttr(names.outputValues[index]));
  std::optional<OpId> leader = leaders[id.index()];
  if (attributes.get(tieAttribute) && leader && *leader != id)
    attributes.set(tieAttribute, builder.getStringAttr(own.graph.op(*leader).name));
  resultAttributes.push_back(attributes.getDictionary(builder.getContext()));
  results.push_back(sink.operands.front() ? values[sink.operands.front()->index()]
                                          : constantHere(main.front().getTerminator()->getOperand(index)));
}

void StageWriter::enter(StagePart part) {
  for (; numEnded < positionOf(part); ++numEnded) {
    if (numEnded == unsigned(StagePart::Forward))
      PartEndOp::create(builder, main.getLoc(), "forward");
    else if (numEnded == unsigned(StagePart::WeightGradients))
      MicroBatchEndOp::create(builder, main.getLoc(), microBatchesOf(main), copiesOf(main));
    else if (splitsBackward)
      PartEndOp::create(builder, main.getLoc(), "input_gradients");
  }
}

mlir::OwningOpRef<mlir::ModuleOp> StageWriter::write() {
  auto whole = main->getParentOfType<mlir::ModuleOp>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(whole.getLoc());
  (*module)->setAttrs(whole->getAttrDictionary());
  builder.setInsertionPointToEnd(module->getBody());
  function = mlir::func::FuncOp::create(builder, main.getLoc(), "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (size_t index = 0; index < own.graph.ops.size(); ++index) {
    const GraphOp &op = own.graph.ops[index];
    OpId id(index);
    bool isResult = op.results.empty() && !op.isTransfer;
    bool isArgument = op.operatorName == valueRoleName(ValueRole::Input) && !op.isTransfer && op.operands.empty();
    if (!isArgument)
      enter(isResult ? StagePart::Update : own.parts[index]);
    if (isArgument)
      addArgument(id);
    else if (isResult)
      addResult(id);
    else if (op.results.empty())
      addSend(id);
    else if (op.isTransfer || isSource(own.graph, id))
      addSource(id);
    else
      addOp(id);
  }
  enter(StagePart::Update);
  mlir::func::ReturnOp::create(builder, main.front().getTerminator()->getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultAttributes);
  return module;
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> stageModule(mlir::ModuleOp module, const OpGraph &graph, const StageSplit &split,
                                              unsigned stage, bool splitsBackward) {
  return StageWriter(mainOf(module), graph, split, stage, splitsBackward).write();
}

} // namespace apc
