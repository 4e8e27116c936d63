// Collectives, masks and ops of the model, each held against the facts known of its operands.
#include "OpVerifier.h"

#include "LocalFormCheck.h"

#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

std::string nameOf(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(opAttribute);
  auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  std::string kind = op->getName().getStringRef().str();
  return name ? kind + " '" + name.str() + "'" : location ? kind + " at '" + location.getName().str() + "'" : kind;
}

/// The likeness of `op` and an op of the model that reads the same values: attributes first, then constants, as the
/// form on pieces may change constants that are sizes.
unsigned likeness(mlir::Operation *op, mlir::Operation *candidate) {
  unsigned score = meaningOf(candidate) == meaningOf(op) ? 1 + candidate->getNumOperands() : 0;
  for (auto [a, b] : llvm::zip(op->getOperands(), candidate->getOperands()))
    score += constantOf(a) && constantOf(a) == constantOf(b);
  return score;
}

} // namespace

OpVerifier::OpVerifier(MeshAttr mesh, const PlanNames &names, const ValueNumbering &model, mlir::func::FuncOp main)
    : meshAttr(mesh), mesh(mesh.getValue()), names(names), model(model) {
  for (mlir::Operation &op : main.front()) {
    parts[&op] = numParts - 1;
    numParts += isPartEnd(&op);
  }
}

const Abstract *OpVerifier::find(mlir::Value value) const {
  auto found = state.find(value);
  return found == state.end() ? nullptr : &found->second;
}

/// Every member of a group sees the same group: all of them meet at the collective.
llvm::Error OpVerifier::checkGroups(mlir::Operation *op, const AxisList &axes) {
  if (!checkedGroups.insert(axes).second)
    return llvm::Error::success();
  constexpr int64_t maxRanks = 4096;
  for (int64_t rank = 0; rank < std::min(mesh.numDevices(), maxRanks); ++rank) {
    std::vector<int64_t> group = mesh.group(rank, axes);
    if (!llvm::is_contained(group, rank) || mesh.group(group.front(), axes) != group)
      return noPlanError("{0}: rank {1} and rank {2} do not agree on their group", nameOf(op), rank, group.front());
  }
  return llvm::Error::success();
}

std::optional<Abstract> OpVerifier::abstractOf(mlir::Value value) const {
  if (const Abstract *abstract = find(value))
    return *abstract;
  mlir::DenseElementsAttr constant = constantOf(value);
  if (!constant)
    return std::nullopt;
  return Abstract{{}, Sharding::replicated(static_cast<unsigned>(constant.getType().getRank())), {}, {}, constant};
}

/// One value of a collective.
llvm::Error OpVerifier::addMoved(CollectiveInterface op, unsigned index) {
  const CoalescedCollective::Value &value = op.getCollective().getValue().values[index];
  std::optional<Abstract> known = abstractOf(op->getOperand(index));
  if (!known)
    return noPlanError("{0}: reads a value that is no piece of the model's", nameOf(op));
  const Abstract &before = *known;
  if (before.isModified())
    return noPlanError("{0}: moves a value that has been masked for one op", nameOf(op));
  if (!(before.sharding == value.from))
    return noPlanError("{0}: starts from {1}, but the value is {2}", nameOf(op), value.from.str(mesh),
                       before.sharding.str(mesh));
  if (before.dims() != llvm::ArrayRef<int64_t>(value.dims))
    return noPlanError("{0}: the whole tensor is {1}, not {2}", nameOf(op), printDims(before.dims()),
                       printDims(value.dims));
  state[op->getResult(index)] = {before.whole, value.to, {}, {}, before.constant};
  return llvm::Error::success();
}

llvm::Error OpVerifier::addCollective(CollectiveInterface op) {
  if (mlir::failed(verifyCollective(op)))
    return noPlanError("{0}: is no collective of this mesh", nameOf(op));
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (llvm::Error error = addMoved(op, index))
      return error;
  bool isSlice = op.getCollective().getValue().kind == CollectiveKind::Slice;
  ++(isSlice ? proof.numSlices : proof.numCollectives);
  return checkGroups(op, op.getCollective().getValue().axes);
}

/// Masks and kept addends are pieces of the value that they read; offsets follow from the rank alone.
llvm::Error OpVerifier::addRankOp(mlir::Operation *op) {
  if (op->getNumOperands() == 0)
    return llvm::Error::success();
  ++proof.numMasks;
  std::optional<Abstract> known = abstractOf(op->getOperand(0));
  if (!known)
    return noPlanError("{0}: reads a value that is no piece of the model's", nameOf(op));
  Abstract abstract = *known;
  if (auto mask = llvm::dyn_cast<MaskPaddingOp>(op)) {
    uint64_t dim = mask.getDim();
    if (mask.getAxes().getMesh() != meshAttr || dim >= abstract.sharding.numDims() ||
        abstract.sharding.dims[dim] != mask.getAxes().getValue() ||
        abstract.dims()[dim] != static_cast<int64_t>(mask.getSize()) ||
        abstract.sharding.partsOf(static_cast<unsigned>(dim)) != mask.getParts().value_or(llvm::ArrayRef<int64_t>()))
      return noPlanError("{0}: does not mask the padding of a dim of its operand", nameOf(op));
    abstract.maskedDims[static_cast<unsigned>(dim)] = mask.getCombiner().getValue();
  } else if (auto keep = llvm::dyn_cast<KeepOnFirstOp>(op)) {
    if (keep.getAxes().getMesh() != meshAttr)
      return noPlanError("{0}: is for another mesh", nameOf(op));
    abstract.keptAxes = keep.getAxes().getValue();
  }
  state[op->getResult(0)] = abstract;
  return llvm::Error::success();
}

llvm::Expected<OpVerifier::Candidates> OpVerifier::findOriginals(mlir::Operation *op) const {
  // Behind the operands that the operator has in models stand offsets of pieces.
  auto interface = llvm::cast<OperatorInterface>(op);
  size_t numRead = interface.hasVariadicOperands() ? op->getNumOperands() : interface.getNumDeclaredOperands();
  std::vector<unsigned> read;
  for (mlir::Value operand : op->getOperands().take_front(numRead)) {
    const Abstract *abstract = find(operand);
    read.push_back(abstract ? model.classOf(abstract->whole) : 0);
  }
  Candidates candidates(model.readers(op->getName().getStringRef(), read));
  llvm::erase_if(candidates,
                 [&](mlir::Operation *candidate) { return candidate->getNumResults() != op->getNumResults(); });
  if (candidates.empty())
    return noPlanError("{0}: no op of the model reads these values", nameOf(op));
  llvm::erase_if(candidates, [&](mlir::Operation *candidate) { return !isInPart(candidate); });
  if (candidates.empty())
    return noPlanError("{0}: runs {1}, unlike the op of the model that reads these values", nameOf(op),
                       part + 1 >= numParts ? "once, behind the last micro-batch"
                       : numParts == 2      ? "with every micro-batch"
                                            : llvm::formatv("in part {0} of a micro-batch", part + 1).str());
  // In a function that stands for many layers, the name is that of the first.
  auto named = op->getAttrOfType<mlir::StringAttr>(opAttribute);
  for (mlir::Operation *candidate : candidates)
    if (named && names.ops.lookup(candidate) == named.getValue())
      return Candidates{candidate};
  llvm::stable_sort(candidates,
                    [&](mlir::Operation *a, mlir::Operation *b) { return likeness(op, a) > likeness(op, b); });
  return candidates;
}

llvm::Error OpVerifier::checkPadding(mlir::Operation *op, unsigned index, const Abstract &abstract,
                                     const FactorRule &rule, const Strategy &strategy) const {
  for (auto [dim, factors] : llvm::enumerate(rule.operands[index].dims))
    for (FactorId id : factors) {
      const RuleTensor &tensor = rule.operands[index];
      if (!isPadded(rule, tensor, static_cast<unsigned>(dim), id, strategy, mesh) || !rule.isReduction(id) ||
          tensor.sparse)
        continue;
      auto masked = abstract.maskedDims.find(static_cast<unsigned>(dim));
      Combiner combiner = rule.factor(id).combiner;
      if (masked == abstract.maskedDims.end() || masked->second != combiner)
        return noPlanError("{0}: operand {1} has padding in dim {2}, over which the op reduces, and it is not masked "
                           "for '{3}'",
                           nameOf(op), index, dim, combinerName(combiner));
    }
  return llvm::Error::success();
}

llvm::Error OpVerifier::checkOperand(mlir::Operation *op, unsigned index, mlir::Value whole, const FactorRule &rule,
                                     const Strategy &strategy) const {
  if (isAbsent(whole) && isAbsent(op->getOperand(index)))
    return llvm::Error::success();
  std::optional<Abstract> known = abstractOf(op->getOperand(index));
  bool isRight = known && (isPlanConstant(whole) ? known->constant && known->constant == constantOf(whole)
                                                 : known->whole != nullptr);
  if (!isRight)
    return noPlanError("{0}: operand {1} is not a piece of the value that the model's op reads", nameOf(op), index);
  const Abstract &abstract = *known;
  Sharding wanted = operandSharding(rule, strategy, index);
  if (!(abstract.sharding == wanted))
    return noPlanError("{0}: operand {1} is {2}, but strategy '{3}' needs {4}", nameOf(op), index,
                       abstract.sharding.str(mesh), strategy.str(rule, mesh), wanted.str(mesh));
  if (llvm::Error error = checkPadding(op, index, abstract, rule, strategy))
    return error;
  AxisList summed = resultSharding(rule, strategy, 0).partial;
  bool isAddend = llvm::is_contained(llvm::cast<OperatorInterface>(op).getAddends(), index);
  if (isAddend ? abstract.keptAxes != summed : !abstract.keptAxes.empty())
    return noPlanError("{0}: operand {1} is added once to a sum over devices, so it must be zero on all but one of "
                       "them, and no other operand may be",
                       nameOf(op), index);
  return llvm::Error::success();
}

llvm::Error OpVerifier::addOp(mlir::Operation *op) {
  auto named = op->getAttrOfType<StrategyAttr>(strategyAttribute);
  if (!named)
    return noPlanError("{0}: has no attribute '{1}'", nameOf(op), strategyAttribute);
  if (named.getMesh() != meshAttr)
    return noPlanError("{0}: its strategy is for another mesh", nameOf(op));
  auto candidates = findOriginals(op);
  if (!candidates)
    return candidates.takeError();
  if (op->hasTrait<Accumulates>() && numParts > 1 && part + 1 == numParts)
    return noPlanError("{0}: adds up over micro-batches, but runs once, behind the last of them", nameOf(op));
  llvm::Error first = addPieceOf(candidates->front(), op, named);
  for (mlir::Operation *candidate : llvm::drop_begin(*candidates)) {
    if (!first)
      break;
    if (llvm::Error error = addPieceOf(candidate, op, named)) {
      llvm::consumeError(std::move(error));
      continue;
    }
    llvm::consumeError(std::move(first));
    return llvm::Error::success();
  }
  return first;
}

llvm::Error OpVerifier::addPieceOf(mlir::Operation *candidate, mlir::Operation *op, StrategyAttr named) {
  mlir::FailureOr<FactorRule> rule = plannedRule(candidate);
  if (mlir::failed(rule))
    return noPlanError("{0}: has no rule", nameOf(op));
  llvm::Expected<Strategy> strategy = named.strategyFor(*rule);
  if (!strategy)
    return noPlanError("{0}: {1}", nameOf(op), takeMessage(strategy.takeError()).second);
  auto made = checkLocalForm(op, candidate, *rule, *strategy, mesh);
  if (!made)
    return noPlanError("{0}: {1}", nameOf(op), takeMessage(made.takeError()).second);
  for (auto [index, whole] : llvm::enumerate(candidate->getOperands())) {
    unsigned operand = static_cast<unsigned>(index);
    if (made->test(operand))
      continue;
    if (llvm::Error error = checkOperand(op, operand, whole, *rule, *strategy))
      return error;
  }
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    mlir::Value whole = candidate->getResult(static_cast<unsigned>(index));
    auto shape = shapeOf(whole);
    if (!shape)
      continue;
    Sharding sharding = resultSharding(*rule, *strategy, static_cast<unsigned>(index));
    TensorShape local = localShape(*shape, sharding, mesh);
    if (shapeOf(result)->dims != local.dims)
      return noPlanError("{0}: result {1} is {2}; a piece under {3} is {4}", nameOf(op), index,
                         printDims(shapeOf(result)->dims), sharding.str(mesh), printDims(local.dims));
    state[result] = {whole, sharding, {}, {}, {}};
  }
  ++proof.numOps;
  return llvm::Error::success();
}

llvm::Error OpVerifier::prove(mlir::Operation *op) {
  if (auto collective = llvm::dyn_cast<CollectiveInterface>(op))
    return addCollective(collective);
  if (llvm::isa<RankInterface>(op))
    return addRankOp(op);
  if (llvm::isa<OperatorInterface>(op))
    return addOp(op);
  return noPlanError("{0}: does not belong in a program", nameOf(op));
}

} // namespace apc
