// Builds the program of one device, op by op in the order of the model.
#include "OrderOps.h"
#include "OutlineLayers.h"
#include "PlanReader.h"

#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/NumberInputs.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace apc {

namespace {

/// A whole tensor's piece in the program.
struct Piece {
  mlir::Value value;
  Sharding sharding;
};

class Partitioner {
public:
  Partitioner(mlir::func::FuncOp main, const PlanReader &plan)
      : main(main), plan(plan), mesh(plan.getMesh()), meshAttr(MeshAttr::get(main.getContext(), mesh)),
        names(namePlan(main)), builder(main.getContext()) {
    for (const auto &[value, name] : names.values)
      byName[name] = value;
  }

  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> run();

private:
  llvm::Error addArguments(mlir::func::FuncOp function);
  llvm::Error addParameter(ParameterOp parameter);
  llvm::Error addSource(mlir::Operation *source, mlir::Value whole);
  llvm::Error addSend(SendOp send);
  llvm::Error addOp(mlir::Operation *op);
  /// The collectives that the plan has in front of an op, or a result of the program, that is not their first user.
  llvm::Error addEarlyMoves(llvm::StringRef before);
  llvm::Error addResults(mlir::func::FuncOp function);

  /// The piece of `whole` under `wanted`, by the plan's collectives where it is not so already.
  llvm::Expected<mlir::Value> pieceAs(mlir::Value whole, const Sharding &wanted, llvm::StringRef user);
  /// The copy that a move of the plan makes for `user`, from the producer's piece or from the copy of another move.
  llvm::Expected<Piece> copyOf(mlir::Value whole, const PlanMove &move, llvm::StringRef user);
  /// The copies of all moves of a bucket, each step of which is one collective.
  llvm::Error addBucket(const PlanBucket &bucket);
  /// The whole tensor called `name`, whose piece has been made.
  llvm::Expected<mlir::Value> madeValue(llvm::StringRef name, const PlanBucket &bucket);
  /// Constants are whole on every device: their pieces are sliced.
  mlir::Value constantAs(mlir::Value whole, const Sharding &wanted);
  mlir::Value emitCollectives(mlir::Value input, llvm::ArrayRef<Collective> collectives, Sharding from,
                              const TensorShape &shape);
  /// Padding along uneven cuts of reduction factors becomes neutral.
  void maskOperands(LocalOp &local);
  /// An addend is kept on the first device along all axes that the results are summed over.
  void keepAddends(LocalOp &local, mlir::Operation *op);
  mlir::Type pieceType(mlir::Value whole, const Sharding &sharding) const;
  /// The attributes of an argument, result or parameter.
  mlir::NamedAttrList describe(mlir::Value whole, const Sharding &sharding);

  mlir::func::FuncOp main;
  const PlanReader &plan;
  const Mesh &mesh;
  MeshAttr meshAttr;
  PlanNames names;
  mlir::OpBuilder builder;
  llvm::StringMap<mlir::Value> byName;
  llvm::DenseMap<mlir::Value, Piece> pieces;
  llvm::DenseMap<std::pair<mlir::Value, const PlanMove *>, Piece> copies;
  llvm::DenseMap<mlir::Value, std::map<Sharding, mlir::Value>> constants; ///< their pieces by sharding
};

mlir::Type Partitioner::pieceType(mlir::Value whole, const Sharding &sharding) const {
  auto type = llvm::cast<mlir::RankedTensorType>(whole.getType());
  return mlir::RankedTensorType::get(localShape(*shapeOf(whole), sharding, mesh).dims, type.getElementType());
}

mlir::NamedAttrList Partitioner::describe(mlir::Value whole, const Sharding &sharding) {
  mlir::NamedAttrList attributes;
  attributes.set(shardingAttribute, ShardingAttr::get(meshAttr, sharding));
  attributes.set(shapeAttribute, builder.getDenseI64ArrayAttr(dimsOf(whole)));
  return attributes;
}

mlir::Value Partitioner::emitCollectives(mlir::Value input, llvm::ArrayRef<Collective> collectives, Sharding from,
                                         const TensorShape &shape) {
  for (const Collective &taken : collectives) {
    auto collective = CollectiveAttr::get(meshAttr, {taken.kind, taken.axes, {{from, taken.result, shape.dims}}});
    input = createCollective(builder, input.getLoc(), input, collective)->getResult(0);
    from = taken.result;
  }
  return input;
}

mlir::Value Partitioner::constantAs(mlir::Value whole, const Sharding &wanted) {
  mlir::Value copy = builder.clone(*whole.getDefiningOp())->getResult(0);
  copy.getDefiningOp()->removeAttr(valuesAttribute);
  auto shape = shapeOf(whole);
  if (!shape)
    return copy;
  Sharding current = Sharding::replicated(shape->numDims());
  std::vector<Collective> collectives;
  for (unsigned dim = 0; dim < wanted.numDims(); ++dim) {
    if (wanted.dims[dim].empty())
      continue;
    Collective slice{CollectiveKind::Slice, wanted.dims[dim], 0, dim, current, 0, 0};
    slice.result.dims[dim] = wanted.dims[dim];
    setParts(slice.result.parted, dim, wanted.partsOf(dim));
    current = slice.result;
    collectives.push_back(std::move(slice));
  }
  return emitCollectives(copy, collectives, Sharding::replicated(shape->numDims()), *shape);
}

llvm::Expected<mlir::Value> Partitioner::pieceAs(mlir::Value whole, const Sharding &wanted, llvm::StringRef user) {
  auto known = pieces.find(whole);
  if (known == pieces.end()) {
    mlir::Value &constant = constants[whole][wanted];
    return constant ? constant : constant = constantAs(whole, wanted);
  }
  std::string value = names.values.lookup(whole);
  const PlanMove *move = plan.moveOf(value, wanted.str(mesh), user);
  // A user may go on from the copy of others to what was produced; the piece itself need not live so long.
  if (!move && known->second.sharding == wanted)
    return known->second.value;
  if (!move)
    return inputError("plan: op '{0}' needs value '{1}' as {2}, but it is {3} and no move of the plan takes it there",
                      user, value, wanted.str(mesh), known->second.sharding.str(mesh));
  llvm::Expected<Piece> copy = copyOf(whole, *move, user);
  if (!copy)
    return copy.takeError();
  return copy->value;
}

llvm::Expected<mlir::Value> Partitioner::madeValue(llvm::StringRef name, const PlanBucket &bucket) {
  mlir::Value whole = byName.lookup(name);
  auto parameter = whole ? whole.getDefiningOp<ParameterOp>() : ParameterOp();
  if (parameter && !pieces.contains(whole))
    if (llvm::Error error = addParameter(parameter))
      return error;
  if (!whole || !pieces.contains(whole))
    return inputError("{0}: value '{1}' is not made yet where the first value of the bucket is wanted",
                      plan.placeOf(bucket), name);
  return whole;
}

llvm::Error Partitioner::addBucket(const PlanBucket &bucket) {
  llvm::SmallVector<const PlanMove *> moves = plan.movesOf(bucket);
  llvm::SmallVector<mlir::Value> wholes, inputs;
  std::vector<std::vector<Collective>> steps;
  for (const PlanMove *move : moves) {
    if (!move->source.empty() || move->values.size() != 1)
      return inputError("{0}: the move of value '{1}' starts from another copy", plan.placeOf(bucket),
                        move->values.front());
    auto whole = madeValue(move->values.front(), bucket);
    if (!whole)
      return whole.takeError();
    const Piece &piece = pieces.find(*whole)->second;
    auto collectives = plan.collectivesOf(*move, *shapeOf(*whole), piece.sharding);
    if (!collectives)
      return collectives.takeError();
    wholes.push_back(*whole);
    inputs.push_back(piece.value);
    steps.push_back(std::move(*collectives));
  }
  for (size_t step = 0; step < steps.front().size(); ++step) {
    const Collective &first = steps.front()[step];
    CoalescedCollective together{first.kind, first.axes, {}};
    for (auto [whole, move, own] : llvm::zip_equal(wholes, moves, steps)) {
      bool isLike = own.size() == steps.front().size() && own[step].kind == first.kind && own[step].axes == first.axes;
      if (!isLike || mlir::getElementTypeOrSelf(whole) != mlir::getElementTypeOrSelf(wholes.front()))
        return inputError("{0}: values '{1}' and '{2}' are not taken by the same collectives, or have other elements",
                          plan.placeOf(bucket), moves.front()->values.front(), move->values.front());
      Sharding from = step == 0 ? pieces.find(whole)->second.sharding : own[step - 1].result;
      together.values.push_back({std::move(from), own[step].result, shapeOf(whole)->dims});
    }
    auto op = createCollective(builder, inputs.front().getLoc(), inputs, CollectiveAttr::get(meshAttr, together));
    inputs.assign(op->result_begin(), op->result_end());
  }
  for (auto [whole, move, own, input] : llvm::zip_equal(wholes, moves, steps, inputs))
    copies[{whole, move}] = {input, own.back().result};
  return llvm::Error::success();
}

llvm::Expected<Piece> Partitioner::copyOf(mlir::Value whole, const PlanMove &move, llvm::StringRef user) {
  if (auto known = copies.find({whole, &move}); known != copies.end())
    return known->second;
  if (const PlanBucket *bucket = plan.bucketOf(move)) {
    if (llvm::Error error = addBucket(*bucket))
      return error;
    return copies.find({whole, &move})->second;
  }
  Piece from = pieces.lookup(whole);
  if (!move.source.empty()) {
    std::string value = names.values.lookup(whole);
    const PlanMove *before = plan.moveOf(value, move.source, user);
    if (!before || !before->source.empty())
      return inputError("plan: value '{0}' is brought to {1} for op '{2}' from {3}, to which no move takes it from its "
                        "producer for that op",
                        value, move.target.str(), user, move.source);
    llvm::Expected<Piece> copy = copyOf(whole, *before, user);
    if (!copy)
      return copy.takeError();
    from = *copy;
  }
  TensorShape shape = *shapeOf(whole);
  llvm::Expected<std::vector<Collective>> collectives = plan.collectivesOf(move, shape, from.sharding);
  if (!collectives)
    return collectives.takeError();
  Sharding target = collectives->empty() ? from.sharding : collectives->back().result;
  Piece copy{emitCollectives(from.value, *collectives, from.sharding, shape), std::move(target)};
  copies[{whole, &move}] = copy;
  return copy;
}

void Partitioner::maskOperands(LocalOp &local) {
  for (auto [index, tensor] : llvm::enumerate(local.rule.operands))
    for (auto [dim, factors] : llvm::enumerate(tensor.dims))
      for (FactorId id : factors) {
        bool isMasked = isPadded(local.rule, tensor, static_cast<unsigned>(dim), id, local.strategy, mesh);
        if (!isMasked || tensor.sparse || !local.rule.isReduction(id))
          continue;
        mlir::Value &operand = local.operands[index];
        llvm::ArrayRef<int64_t> parts = partsOf(tensor.parted, static_cast<unsigned>(dim));
        operand =
            MaskPaddingOp::create(builder, operand.getLoc(), operand.getType(), operand, dim,
                                  local.rule.factor(id).size, AxesAttr::get(meshAttr, local.strategy.axes[id.index()]),
                                  CombinerAttr::get(builder.getContext(), local.rule.factor(id).combiner),
                                  parts.empty() ? nullptr : builder.getDenseI64ArrayAttr(parts));
      }
}

void Partitioner::keepAddends(LocalOp &local, mlir::Operation *op) {
  AxisList axes = resultSharding(local.rule, local.strategy, 0).partial;
  if (axes.empty())
    return;
  for (unsigned index : llvm::cast<OperatorInterface>(op).getAddends()) {
    mlir::Value &operand = local.operands[index];
    if (!isAbsent(operand))
      operand =
          KeepOnFirstOp::create(builder, operand.getLoc(), operand.getType(), operand, AxesAttr::get(meshAttr, axes));
  }
}

llvm::Error Partitioner::addArguments(mlir::func::FuncOp function) {
  for (mlir::BlockArgument argument : main.getArguments()) {
    auto sharding = plan.shardingOf(names.values.lookup(argument), *shapeOf(argument));
    if (!sharding)
      return sharding.takeError();
    mlir::NamedAttrList attributes = describe(argument, *sharding);
    attributes.set(nameAttribute, builder.getStringAttr(names.values.lookup(argument)));
    unsigned index = argument.getArgNumber();
    for (llvm::StringRef name : {batchDimAttribute, numberAttribute})
      if (mlir::Attribute value = main.getArgAttr(index, name))
        attributes.set(name, value);
    if (mlir::failed(function.insertArgument(index, pieceType(argument, *sharding),
                                             attributes.getDictionary(builder.getContext()), argument.getLoc())))
      return internalError("argument {0} cannot be added", index);
    pieces[argument] = {function.getArgument(index), *sharding};
  }
  return llvm::Error::success();
}

llvm::Error Partitioner::addParameter(ParameterOp parameter) {
  mlir::Value whole = parameter.getOutput();
  if (pieces.contains(whole))
    return llvm::Error::success(); // a bucket has asked for it before
  return addSource(parameter, whole);
}

/// A copy of the source in which `whole` comes in, with its piece.
llvm::Error Partitioner::addSource(mlir::Operation *source, mlir::Value whole) {
  auto sharding = plan.shardingOf(names.values.lookup(whole), *shapeOf(whole));
  if (!sharding)
    return sharding.takeError();
  mlir::Operation *copy = builder.clone(*source);
  copy->removeAttr(valuesAttribute);
  copy->removeAttr(partsAttribute);
  copy->getResult(0).setType(pieceType(whole, *sharding));
  for (mlir::NamedAttribute attribute : describe(whole, *sharding))
    copy->setAttr(attribute.getName(), attribute.getValue());
  pieces[whole] = {copy->getResult(0), *sharding};
  return llvm::Error::success();
}

llvm::Error Partitioner::addSend(SendOp send) {
  const std::string &name = names.sends.find(send)->second;
  if (llvm::Error error = addEarlyMoves(name))
    return error;
  FactorRule rule = sendRule(send);
  auto strategy = plan.strategyOf(name, rule);
  if (!strategy)
    return strategy.takeError();
  Sharding sharding = operandSharding(rule, *strategy, 0);
  auto piece = pieceAs(send.getInput(), sharding, name);
  if (!piece)
    return piece.takeError();
  auto copy = llvm::cast<SendOp>(builder.clone(*send));
  copy->setOperand(0, *piece);
  copy->removeAttr(partsAttribute);
  for (mlir::NamedAttribute attribute : describe(send.getInput(), sharding))
    copy->setAttr(attribute.getName(), attribute.getValue());
  return llvm::Error::success();
}

llvm::Error Partitioner::addEarlyMoves(llvm::StringRef before) {
  for (const PlanMove *move : plan.movesBefore(before))
    for (const std::string &name : move->values) {
      mlir::Value whole = byName.lookup(name);
      if (!plan.bucketOf(*move) && (!whole || !pieces.contains(whole)))
        return inputError("plan: value '{0}' is brought to {1} in front of op '{2}', where there is no such value yet",
                          name, move->target.str(), before);
      if (llvm::Expected<Piece> copy = copyOf(whole, *move, move->users.front()); !copy)
        return copy.takeError();
    }
  return llvm::Error::success();
}

llvm::Error Partitioner::addOp(mlir::Operation *op) {
  const std::string &name = names.ops.find(op)->second;
  if (llvm::Error error = addEarlyMoves(name))
    return error;
  mlir::FailureOr<FactorRule> rule = plannedRule(op);
  if (mlir::failed(rule))
    return inputError("op '{0}' has no factor rule", name);
  llvm::Expected<Strategy> strategy = plan.strategyOf(name, *rule);
  if (!strategy)
    return strategy.takeError();
  LocalOp local(builder, op, *rule, *strategy, mesh);
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto piece = pieceAs(operand, operandSharding(*rule, *strategy, static_cast<unsigned>(index)), name);
    if (!piece)
      return piece.takeError();
    local.operands[index] = *piece;
  }
  maskOperands(local);
  keepAddends(local, op);
  llvm::cast<OperatorInterface>(op).localize(local);
  local.attributes.erase(valuesAttribute);
  local.attributes.erase(partsAttribute);
  local.attributes.set(opAttribute, builder.getStringAttr(name));
  local.attributes.set(strategyAttribute, StrategyAttr::get(meshAttr, *strategy, *rule));
  mlir::Operation *created = local.create();
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    if (!isAbsent(result))
      pieces[result] = {created->getResult(index), resultSharding(*rule, *strategy, static_cast<unsigned>(index))};
  return llvm::Error::success();
}

llvm::Error Partitioner::addResults(mlir::func::FuncOp function) {
  llvm::SmallVector<mlir::Value> results;
  mlir::Operation *end = main.front().getTerminator();
  for (auto [index, whole] : llvm::enumerate(end->getOperands())) {
    if (llvm::Error error = addEarlyMoves(names.outputs[index]))
      return error;
    FactorRule rule = outputRule(main, static_cast<unsigned>(index));
    auto strategy = plan.strategyOf(names.outputs[index], rule);
    if (!strategy)
      return strategy.takeError();
    Sharding sharding = operandSharding(rule, *strategy, 0);
    auto piece = pieceAs(whole, sharding, names.outputs[index]);
    if (!piece)
      return piece.takeError();
    results.push_back(*piece);
    mlir::NamedAttrList attributes = describe(whole, sharding);
    attributes.set(nameAttribute, builder.getStringAttr(names.outputValues[index]));
    if (mlir::Attribute replaced = main.getResultAttr(static_cast<unsigned>(index), replacesAttribute))
      attributes.set(replacesAttribute, replaced);
    if (mlir::failed(function.insertResult(static_cast<unsigned>(index), piece->getType(),
                                           attributes.getDictionary(builder.getContext()))))
      return internalError("result {0} cannot be added", index);
  }
  mlir::func::ReturnOp::create(builder, end->getLoc(), results);
  return llvm::Error::success();
}

/// Equal constants become one, at the start; those that `localize` replaced go.
void unifyConstants(mlir::func::FuncOp function) {
  llvm::DenseMap<mlir::Attribute, ConstantOp> known;
  mlir::Operation *last = nullptr;
  for (ConstantOp constant : llvm::make_early_inc_range(function.getOps<ConstantOp>())) {
    auto [entry, isNew] = known.try_emplace(constant.getValueAttr(), constant);
    if (constant.use_empty() || !isNew) {
      if (isNew)
        known.erase(entry);
      else
        constant.replaceAllUsesWith(entry->second.getOutput());
      constant.erase();
      continue;
    }
    if (last)
      constant->moveAfter(last);
    else
      constant->moveBefore(&function.front(), function.front().begin());
    last = constant;
  }
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> Partitioner::run() {
  mlir::OwningOpRef<mlir::ModuleOp> program = mlir::ModuleOp::create(main.getLoc());
  (*program)->setAttr(meshAttribute, meshAttr);
  builder.setInsertionPointToEnd(program->getBody());
  auto function = mlir::func::FuncOp::create(builder, main.getLoc(), "main", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (llvm::Error error = addArguments(function))
    return error;
  llvm::Expected<std::vector<mlir::Operation *>> ordered = orderOps(main, names, plan);
  if (!ordered)
    return ordered.takeError();
  for (mlir::Operation *op : *ordered) {
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op)) {
      if (llvm::Error error = addParameter(parameter))
        return error;
    } else if (names.ops.contains(op)) {
      if (llvm::Error error = addOp(op))
        return error;
    } else if (auto receive = llvm::dyn_cast<ReceiveOp>(op)) {
      if (llvm::Error error = addSource(receive, receive.getOutput()))
        return error;
    } else if (auto send = llvm::dyn_cast<SendOp>(op)) {
      if (llvm::Error error = addSend(send))
        return error;
    } else if (isPartEnd(op)) {
      builder.clone(*op);
    }
  }
  if (llvm::Error error = addResults(function))
    return error;
  unifyConstants(function);
  return program;
}

} // namespace

llvm::Expected<StageProgram> partitionStage(mlir::ModuleOp module, const StagePlan &plan, int64_t mostDevices) {
  auto main = mainOf(module);
  if (!main)
    return inputError("the module has no function 'main' to partition");
  llvm::Expected<Mesh> mesh = plan.mesh.bind(mostDevices);
  if (!mesh)
    return mesh.takeError();
  DiagnosticCapture diagnostics(module.getContext());
  PlanReader reader(plan, *mesh);
  auto program = Partitioner(main, reader).run();
  if (!program)
    return program.takeError();
  outlineLayers(**program);
  if (mlir::failed(mlir::verify(**program)))
    return internalError("the program of one device does not verify: {0}", diagnostics.take());
  return StageProgram{std::move(*program), plan.firstRank, mesh->numDevices()};
}

llvm::Expected<Program> partition(mlir::ModuleOp module, const Plan &plan) {
  llvm::Expected<StageProgram> stage = partitionStage(module, plan.stages.front(), plan.request.devices);
  if (!stage)
    return stage.takeError();
  Program program;
  program.stages.push_back(std::move(*stage));
  return program;
}

} // namespace apc
