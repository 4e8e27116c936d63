// Abstract interpretation of programs: values of the model and their shardings instead of numbers.
#include "apc/Partition/VerifyProgram.h"

#include "apc/Partition/Partition.h"

#include "DeclaredForm.h"
#include "ExpandCalls.h"
#include "ModelClasses.h"
#include "ProgramMemory.h"

#include "apc/IR/Layout.h"
#include "apc/IR/Ops/Spmd.h"
#include "apc/IR/PlanNames.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// What is known of a value of the program.
struct Abstract {
  mlir::Value whole; ///< of the model; null for constants and what depends on the rank alone
  Sharding sharding;
  std::map<unsigned, std::string> maskedDims; ///< dims whose padding is neutral for a combiner
  AxisList keptAxes;                          ///< zero but on the first device along these
  mlir::DenseElementsAttr constant;           ///< the whole constant that this is a piece of

  llvm::ArrayRef<int64_t> dims() const { return whole ? dimsOf(whole) : constant.getType().getShape(); }
  bool isModified() const { return !maskedDims.empty() || !keptAxes.empty(); }
};

class Verifier {
public:
  Verifier(mlir::func::FuncOp original, const Mesh &mesh)
      : original(original), mesh(mesh), names(namePlan(original)), model(original) {
    for (auto &[value, name] : names.values)
      byName[name].push_back(value);
  }

  llvm::Error run(mlir::func::FuncOp program);
  ProgramProof proof;

private:
  llvm::Error addArguments(mlir::func::FuncOp program);
  llvm::Error addParameter(ParameterOp op);
  llvm::Error addStep(mlir::Operation *op);
  llvm::Error addRankOp(mlir::Operation *op);
  llvm::Error addOp(mlir::Operation *op);
  llvm::Error checkResults(mlir::func::FuncOp program);

  llvm::Error checkGroups(mlir::Operation *op, const AxisList &axes);
  llvm::Error checkOperand(mlir::Operation *op, unsigned index, mlir::Value whole, const FactorRule &rule,
                           const Strategy &strategy) const;
  llvm::Error checkPadding(mlir::Operation *op, unsigned index, const Abstract &abstract, const FactorRule &rule,
                           const Strategy &strategy) const;
  /// What is known of a value; constants are whole on every device.
  std::optional<Abstract> abstractOf(mlir::Value value) const;
  /// The op of the model that reads what `op` reads.
  llvm::Expected<mlir::Operation *> findOriginal(mlir::Operation *op) const;
  /// The tensor called `name` that is an argument or parameter of the model.
  mlir::Value source(llvm::StringRef name) const;
  llvm::Expected<Abstract> described(mlir::DictionaryAttr attributes, mlir::Value whole, mlir::Type type,
                                     llvm::StringRef what) const;

  mlir::func::FuncOp original;
  const Mesh &mesh;
  PlanNames names;
  ModelClasses model;
  llvm::StringMap<llvm::SmallVector<mlir::Value, 1>> byName;
  llvm::DenseMap<mlir::Value, Abstract> state;
  std::set<AxisList> checkedGroups;
};

std::string nameOf(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>("apc.op");
  auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  std::string kind = op->getName().getStringRef().str();
  return name ? kind + " '" + name.str() + "'" : location ? kind + " at '" + location.getName().str() + "'" : kind;
}

mlir::Value Verifier::source(llvm::StringRef name) const {
  auto found = byName.find(name);
  if (found != byName.end())
    for (mlir::Value value : found->second)
      if (names.sources.contains(value))
        return value;
  return {};
}

/// The abstract value that attributes claim for an argument, result or parameter, checked against the piece's type.
llvm::Expected<Abstract> Verifier::described(mlir::DictionaryAttr attributes, mlir::Value whole, mlir::Type type,
                                             llvm::StringRef what) const {
  auto text = attributes ? attributes.getAs<mlir::StringAttr>(shardingAttribute) : mlir::StringAttr();
  if (!text)
    return noPlanError("{0} has no attribute '{1}'", what, shardingAttribute);
  llvm::Expected<Sharding> sharding = Sharding::parse(text.getValue(), mesh);
  if (!sharding)
    return sharding.takeError();
  TensorShape shape = *shapeOf(whole);
  if (llvm::Error error = check(*sharding, shape, mesh))
    return error;
  auto piece = shapeOf(type);
  TensorShape local = localShape(shape, *sharding, mesh);
  if (!piece || piece->dims != local.dims)
    return noPlanError("{0} is {1}; a piece of {2} under {3} is {4}", what, piece ? printDims(piece->dims) : "absent",
                       printDims(shape.dims), sharding->str(mesh), printDims(local.dims));
  return Abstract{whole, *sharding, {}, {}, {}};
}

llvm::Error Verifier::addArguments(mlir::func::FuncOp program) {
  for (mlir::BlockArgument argument : program.getArguments()) {
    mlir::DictionaryAttr attributes = program.getArgAttrDict(argument.getArgNumber());
    auto name = attributes ? attributes.getAs<mlir::StringAttr>("apc.name") : mlir::StringAttr();
    mlir::Value whole = name ? source(name.getValue()) : mlir::Value();
    if (!whole)
      return noPlanError("argument {0} of the program is no input of the model", argument.getArgNumber());
    auto abstract = described(attributes, whole, argument.getType(), "argument '" + name.str() + "'");
    if (!abstract)
      return abstract.takeError();
    state[argument] = *abstract;
  }
  return llvm::Error::success();
}

llvm::Error Verifier::addParameter(ParameterOp op) {
  mlir::Value whole = source(op.getName());
  if (!whole)
    return noPlanError("the model has no parameter '{0}'", op.getName());
  auto abstract =
      described(op->getAttrDictionary(), whole, op.getOutput().getType(), "parameter '" + op.getName().str() + "'");
  if (!abstract)
    return abstract.takeError();
  state[op.getOutput()] = *abstract;
  return llvm::Error::success();
}

/// How much an op of the model that reads the same values looks like `op`: attributes first, then constants, of which
/// the form on pieces may change those that say sizes.
static unsigned likeness(mlir::Operation *op, mlir::Operation *candidate) {
  unsigned score = meaningOf(candidate) == meaningOf(op) ? 1 + candidate->getNumOperands() : 0;
  for (auto [a, b] : llvm::zip(op->getOperands(), candidate->getOperands()))
    score += constantOf(a) && constantOf(a) == constantOf(b);
  return score;
}

/// Every member of a group sees the same group, so that all meet at the collective.
llvm::Error Verifier::checkGroups(mlir::Operation *op, const AxisList &axes) {
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

std::optional<Abstract> Verifier::abstractOf(mlir::Value value) const {
  auto known = state.find(value);
  if (known != state.end())
    return known->second;
  mlir::DenseElementsAttr constant = constantOf(value);
  if (!constant)
    return std::nullopt;
  return Abstract{{}, Sharding::replicated(static_cast<unsigned>(constant.getType().getRank())), {}, {}, constant};
}

llvm::Error Verifier::addStep(mlir::Operation *op) {
  auto step = readStep(op, mesh);
  if (mlir::failed(step) || mlir::failed(verifyStep(op, step->kind)))
    return noPlanError("{0}: is no step of this mesh", nameOf(op));
  std::optional<Abstract> known = abstractOf(op->getOperand(0));
  if (!known)
    return noPlanError("{0}: reads a value that is no piece of the model's", nameOf(op));
  const Abstract &before = *known;
  if (before.isModified())
    return noPlanError("{0}: moves a value that has been masked for one op", nameOf(op));
  if (!(before.sharding == step->from))
    return noPlanError("{0}: starts from {1}, but the value is {2}", nameOf(op), step->from.str(mesh),
                       before.sharding.str(mesh));
  if (before.dims() != llvm::ArrayRef<int64_t>(step->shape.dims))
    return noPlanError("{0}: the whole tensor is {1}, not {2}", nameOf(op), printDims(before.dims()),
                       printDims(step->shape.dims));
  if (llvm::Error error = checkGroups(op, step->axes))
    return error;
  state[op->getResult(0)] = {before.whole, step->to, {}, {}, before.constant};
  ++proof.numSteps;
  return llvm::Error::success();
}

/// Masks and kept addends leave a value what it is; offsets depend on the rank alone.
llvm::Error Verifier::addRankOp(mlir::Operation *op) {
  ++proof.numMasks;
  if (op->getNumOperands() == 0) {
    --proof.numMasks;
    return llvm::Error::success();
  }
  std::optional<Abstract> known = abstractOf(op->getOperand(0));
  if (!known)
    return noPlanError("{0}: reads a value that is no piece of the model's", nameOf(op));
  Abstract abstract = *known;
  if (auto mask = llvm::dyn_cast<MaskPaddingOp>(op)) {
    auto axes = readAxes(op, mask.getAxes(), mesh);
    uint64_t dim = mask.getDim();
    if (mlir::failed(axes) || dim >= abstract.sharding.numDims() || abstract.sharding.dims[dim] != *axes ||
        abstract.dims()[dim] != static_cast<int64_t>(mask.getSize()))
      return noPlanError("{0}: does not mask the padding of a dim of its operand", nameOf(op));
    abstract.maskedDims[static_cast<unsigned>(dim)] = mask.getCombiner().str();
  } else if (auto keep = llvm::dyn_cast<KeepOnFirstOp>(op)) {
    auto axes = readAxes(op, keep.getAxes(), mesh);
    if (mlir::failed(axes))
      return noPlanError("{0}: names an axis that is not there", nameOf(op));
    abstract.keptAxes = *axes;
  }
  state[op->getResult(0)] = abstract;
  return llvm::Error::success();
}

llvm::Expected<mlir::Operation *> Verifier::findOriginal(mlir::Operation *op) const {
  std::vector<unsigned> read;
  for (mlir::Value operand : op->getOperands()) {
    auto known = state.find(operand);
    read.push_back(known == state.end() ? 0 : model.classOf(known->second.whole));
  }
  // What the form on pieces reads beside, offsets and constants, comes last.
  llvm::StringRef kind = op->getName().getStringRef();
  llvm::SmallVector<mlir::Operation *> candidates(model.readers(kind, read));
  bool isShard = candidates.empty() && kind.consume_back("_shard");
  for (; isShard && candidates.empty() && !read.empty() && read.back() == 0; read.pop_back())
    llvm::append_range(candidates, model.readers(kind, llvm::ArrayRef(read).drop_back()));
  llvm::erase_if(candidates,
                 [&](mlir::Operation *candidate) { return candidate->getNumResults() != op->getNumResults(); });
  if (candidates.empty())
    return noPlanError("{0}: no op of the model reads what it reads", nameOf(op));
  // In a function that stands for many layers, the name is that of the first.
  auto named = op->getAttrOfType<mlir::StringAttr>("apc.op");
  for (mlir::Operation *candidate : candidates)
    if (named && names.ops.lookup(candidate) == named.getValue())
      return candidate;
  llvm::stable_sort(candidates,
                    [&](mlir::Operation *a, mlir::Operation *b) { return likeness(op, a) > likeness(op, b); });
  return candidates.front();
}

llvm::Error Verifier::checkPadding(mlir::Operation *op, unsigned index, const Abstract &abstract,
                                   const FactorRule &rule, const Strategy &strategy) const {
  for (auto [dim, factors] : llvm::enumerate(rule.operands[index].dims))
    for (FactorId id : factors) {
      bool even = rule.factor(id).size % mesh.size(strategy.axes[id.index()]) == 0;
      if (even || !rule.isReduction(id) || rule.operands[index].sparse)
        continue;
      auto masked = abstract.maskedDims.find(static_cast<unsigned>(dim));
      llvm::StringRef combiner = combinerName(rule.factor(id).combiner);
      if (masked == abstract.maskedDims.end() || masked->second != combiner)
        return noPlanError("{0}: operand {1} has padding in dim {2}, over which the op reduces, and it is not masked "
                           "for '{3}'",
                           nameOf(op), index, dim, combiner);
    }
  return llvm::Error::success();
}

llvm::Error Verifier::checkOperand(mlir::Operation *op, unsigned index, mlir::Value whole, const FactorRule &rule,
                                   const Strategy &strategy) const {
  if (isAbsent(whole) && isAbsent(op->getOperand(index)))
    return llvm::Error::success();
  std::optional<Abstract> known = abstractOf(op->getOperand(index));
  bool isRight = known && (isPlanConstant(whole) ? known->constant && known->constant == constantOf(whole)
                                                 : known->whole != nullptr);
  if (!isRight)
    return noPlanError("{0}: operand {1} is not what the model's op reads", nameOf(op), index);
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

llvm::Error Verifier::addOp(mlir::Operation *op) {
  auto text = op->getAttrOfType<mlir::StringAttr>(strategyAttribute);
  if (!text)
    return noPlanError("{0}: has no attribute '{1}'", nameOf(op), strategyAttribute);
  auto candidate = findOriginal(op);
  if (!candidate)
    return candidate.takeError();
  mlir::FailureOr<FactorRule> rule = plannedRule(*candidate);
  if (mlir::failed(rule))
    return noPlanError("{0}: has no rule", nameOf(op));
  llvm::Expected<Strategy> strategy = Strategy::parse(text.getValue(), *rule, mesh);
  if (!strategy)
    return noPlanError("{0}: {1}", nameOf(op), takeMessage(strategy.takeError()).second);
  auto made = checkForm(op, *candidate, *rule, *strategy, mesh);
  if (!made)
    return noPlanError("{0}: {1}", nameOf(op), takeMessage(made.takeError()).second);
  for (auto [index, whole] : llvm::enumerate((*candidate)->getOperands())) {
    unsigned operand = static_cast<unsigned>(index);
    if (made->test(operand))
      continue;
    if (llvm::Error error = checkOperand(op, operand, whole, *rule, *strategy))
      return error;
  }
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    mlir::Value whole = (*candidate)->getResult(static_cast<unsigned>(index));
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

llvm::Error Verifier::checkResults(mlir::func::FuncOp program) {
  mlir::Operation *end = program.front().getTerminator();
  mlir::Operation *expected = original.front().getTerminator();
  if (end->getNumOperands() != expected->getNumOperands())
    return noPlanError("the program has {0} results, the model {1}", end->getNumOperands(), expected->getNumOperands());
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    mlir::Value whole = expected->getOperand(static_cast<unsigned>(index));
    std::string what = "result '" + names.outputValues[index] + "'";
    auto claimed = described(program.getResultAttrDict(static_cast<unsigned>(index)), whole, value.getType(), what);
    if (!claimed)
      return claimed.takeError();
    if (isPlanConstant(whole))
      continue;
    auto known = state.find(value);
    if (known == state.end() || !model.areEqual(known->second.whole, whole))
      return noPlanError("{0} is not what the model returns there", what);
    if (!(known->second.sharding == claimed->sharding) || known->second.isModified() || claimed->sharding.isPartial())
      return noPlanError("{0} is {1}, said to be {2}; a result must be settled", what, known->second.sharding.str(mesh),
                         claimed->sharding.str(mesh));
  }
  return llvm::Error::success();
}

llvm::Error Verifier::run(mlir::func::FuncOp program) {
  if (llvm::Error error = addArguments(program))
    return error;
  for (mlir::Operation &op : program.front().without_terminator()) {
    llvm::Error error = llvm::Error::success();
    llvm::consumeError(std::move(error));
    if (llvm::isa<ConstantOp, NoneOp>(op))
      continue;
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
      error = addParameter(parameter);
    else if (llvm::isa<StepInterface>(op))
      error = addStep(&op);
    else if (llvm::isa<RankInterface>(op))
      error = addRankOp(&op);
    else if (llvm::isa<OperatorInterface>(op))
      error = addOp(&op);
    else
      error = noPlanError("{0}: does not belong in a program", nameOf(&op));
    if (error)
      return error;
  }
  return checkResults(program);
}

} // namespace

llvm::Expected<ProgramProof> verifyProgram(mlir::ModuleOp original, mlir::ModuleOp program, const Plan &plan) {
  auto main = original.lookupSymbol<mlir::func::FuncOp>("main");
  std::string message;
  mlir::ScopedDiagnosticHandler handler(program.getContext(), [&](mlir::Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  mlir::FailureOr<Mesh> mesh = meshOf(program);
  mlir::OwningOpRef<mlir::ModuleOp> expanded = expandCalls(program);
  if (!main || mlir::failed(mesh) || !expanded)
    return noPlanError("the program is incomplete: {0}", message.empty() ? "a function is missing" : message);
  llvm::Expected<Mesh> planned = meshOfPlan(plan);
  if (!planned)
    return planned.takeError();
  if (mesh->str() != planned->str())
    return noPlanError("the program is for the mesh {0}, the plan for {1}", mesh->str(), planned->str());
  auto function = expanded->lookupSymbol<mlir::func::FuncOp>("main");
  Verifier verifier(main, *mesh);
  if (llvm::Error error = verifier.run(function)) {
    auto [fault, text] = takeMessage(std::move(error));
    return noPlanError("{0}{1}{2}", text, message.empty() ? "" : ": ", message);
  }
  ProgramProof proof = verifier.proof;
  for (mlir::func::FuncOp other : program.getOps<mlir::func::FuncOp>())
    proof.numFunctions += other.getName() != "main";
  ProgramBytes bytes = programBytes(function);
  proof.parameterBytes = bytes.parameters;
  proof.peakBytes = bytes.peak;
  if (bytes.parameters > plan.memory.parameters || bytes.peak > plan.memory.total())
    return noPlanError("the program needs {0} bytes of parameters and {1} in all; the plan says {2} and {3}",
                       bytes.parameters, bytes.peak, plan.memory.parameters, plan.memory.total());
  return proof;
}

} // namespace apc
