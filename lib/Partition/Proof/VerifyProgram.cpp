// Abstract interpretation of programs, with values of the model and their shardings in the place of numbers. The walk
// goes from the facts that attributes claim of arguments and parameters to those that the results must have.
#include "apc/Partition/VerifyProgram.h"

#include "apc/Partition/Partition.h"

#include "ExpandCalls.h"
#include "OpVerifier.h"
#include "ProgramLiveness.h"

#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

class Verifier {
public:
  Verifier(mlir::func::FuncOp original, MeshAttr mesh)
      : original(original), meshAttr(mesh), mesh(mesh.getValue()), names(namePlan(original)), model(original),
        ops(mesh, names, model, original) {
    for (auto &[value, name] : names.values)
      byName[name].push_back(value);
    for (mlir::Operation &op : original.front())
      if (llvm::isa<ReceiveOp, SendOp>(op) || isPartEnd(&op))
        ends[endName(&op)] = &op;
  }

  llvm::Error run(mlir::func::FuncOp program);
  const ProgramProof &proof() const { return ops.proof; }

private:
  llvm::Error addArguments(mlir::func::FuncOp program);
  llvm::Error addParameter(ParameterOp op);
  llvm::Error addReceive(ReceiveOp op);
  llvm::Error checkSend(SendOp op);
  /// The end of a part, which must be that of the model.
  llvm::Error endPart(mlir::Operation *op);
  /// The ends of transfers and of parts that the program lacks.
  llvm::Error checkEnds() const;
  llvm::Error checkResults(mlir::func::FuncOp program);
  /// A result that replaces a parameter, which the next step finds in its place, has the parameter's sharding.
  llvm::Error checkReplacement(mlir::DictionaryAttr attributes, llvm::StringRef what) const;
  /// `value` is `whole` of the model, as its attributes say, and can be handed out: not partial, not masked.
  llvm::Error checkLeaving(mlir::Value value, mlir::Value whole, mlir::DictionaryAttr attributes,
                           llvm::StringRef what) const;

  /// "receive 'h' with every micro-batch", "part_end 'forward'": such an op has no twin.
  static std::string endName(mlir::Operation *op);
  /// The model's op with the same name, which is then found; an error where there is none, or in another part.
  llvm::Expected<mlir::Operation *> findEnd(mlir::Operation *op);

  /// The tensor called `name` that is an argument or parameter of the model.
  mlir::Value source(llvm::StringRef name) const;
  llvm::Expected<Abstract> described(mlir::DictionaryAttr attributes, mlir::Value whole, mlir::Type type,
                                     llvm::StringRef what) const;

  mlir::func::FuncOp original;
  MeshAttr meshAttr;
  const Mesh &mesh;
  PlanNames names;
  ValueNumbering model;
  OpVerifier ops;
  llvm::StringMap<mlir::Operation *> ends; ///< of the model's transfers and parts, by their text: not found so far
  llvm::StringMap<llvm::SmallVector<mlir::Value, 1>> byName;
  llvm::StringMap<ShardingAttr> atRest; ///< by parameter of the program
};

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
  auto claimed = attributes ? attributes.getAs<ShardingAttr>(shardingAttribute) : ShardingAttr();
  if (!claimed || claimed.getMesh() != meshAttr)
    return noPlanError("{0} has no attribute '{1}' for the mesh {2}", what, shardingAttribute, mesh.str());
  const Sharding &sharding = claimed.getValue();
  TensorShape shape = *shapeOf(whole);
  if (llvm::Error error = check(sharding, shape, mesh))
    return noPlanError("{0}: {1}", what, takeMessage(std::move(error)).second);
  auto piece = shapeOf(type);
  TensorShape local = localShape(shape, sharding, mesh);
  if (!piece || piece->dims != local.dims)
    return noPlanError("{0} is {1}; a piece of {2} under {3} is {4}", what, piece ? printDims(piece->dims) : "absent",
                       printDims(shape.dims), sharding.str(mesh), printDims(local.dims));
  return Abstract{whole, sharding, {}, {}, {}};
}

llvm::Error Verifier::addArguments(mlir::func::FuncOp program) {
  for (mlir::BlockArgument argument : program.getArguments()) {
    mlir::DictionaryAttr attributes = program.getArgAttrDict(argument.getArgNumber());
    auto name = attributes ? attributes.getAs<mlir::StringAttr>(nameAttribute) : mlir::StringAttr();
    mlir::Value whole = name ? source(name.getValue()) : mlir::Value();
    if (!whole)
      return noPlanError("argument {0} of the program is no input of the model", argument.getArgNumber());
    auto abstract = described(attributes, whole, argument.getType(), "argument '" + name.str() + "'");
    if (!abstract)
      return abstract.takeError();
    ops.assume(argument, std::move(*abstract));
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
  ops.assume(op.getOutput(), std::move(*abstract));
  atRest[op.getName()] = op->getAttrOfType<ShardingAttr>(shardingAttribute);
  return llvm::Error::success();
}

std::string Verifier::endName(mlir::Operation *op) {
  auto timeText = [](bool isOfStep) { return isOfStep ? "' once a step" : "' with every micro-batch"; };
  if (auto receive = llvm::dyn_cast<ReceiveOp>(op))
    return ("receive '" + receive.getValue() + timeText(receive.isOfStep()) + " as " + receive.getRole()).str();
  if (auto send = llvm::dyn_cast<SendOp>(op))
    return ("send '" + send.getValue() + timeText(send.isOfStep())).str();
  if (auto end = llvm::dyn_cast<PartEndOp>(op))
    return ("part_end '" + end.getPart() + "'").str();
  return "micro_batch_end";
}

llvm::Expected<mlir::Operation *> Verifier::findEnd(mlir::Operation *op) {
  auto found = ends.find(endName(op));
  if (found == ends.end())
    return noPlanError("{0}: the model has no such end of a transfer or part left", endName(op));
  mlir::Operation *own = found->second;
  if (!ops.isInPart(own))
    return noPlanError("{0}: stands in another part than in the model", endName(op));
  ends.erase(found);
  return own;
}

llvm::Error Verifier::addReceive(ReceiveOp op) {
  llvm::Expected<mlir::Operation *> own = findEnd(op);
  if (!own)
    return own.takeError();
  auto abstract = described(op->getAttrDictionary(), (*own)->getResult(0), op.getType(), endName(op));
  if (!abstract)
    return abstract.takeError();
  ops.assume(op.getOutput(), std::move(*abstract));
  return llvm::Error::success();
}

llvm::Error Verifier::checkSend(SendOp op) {
  llvm::Expected<mlir::Operation *> own = findEnd(op);
  if (!own)
    return own.takeError();
  return checkLeaving(op.getInput(), (*own)->getOperand(0), op->getAttrDictionary(), endName(op));
}

llvm::Error Verifier::endPart(mlir::Operation *op) {
  if (llvm::Expected<mlir::Operation *> own = findEnd(op); !own)
    return own.takeError();
  ops.endPart();
  return llvm::Error::success();
}

llvm::Error Verifier::checkEnds() const {
  for (const auto &left : ends)
    return noPlanError("{0}: the program has no such op", left.first());
  return llvm::Error::success();
}

llvm::Error Verifier::checkLeaving(mlir::Value value, mlir::Value whole, mlir::DictionaryAttr attributes,
                                   llvm::StringRef what) const {
  auto claimed = described(attributes, whole, value.getType(), what);
  if (!claimed)
    return claimed.takeError();
  if (isPlanConstant(whole))
    return llvm::Error::success();
  const Abstract *known = ops.find(value);
  if (!known || !model.areEqual(known->whole, whole))
    return noPlanError("{0} is not the value that the model returns there", what);
  if (!(known->sharding == claimed->sharding) || known->isModified() || claimed->sharding.isPartial())
    return noPlanError("{0} is {1}, said to be {2}; a result must not be partial", what, known->sharding.str(mesh),
                       claimed->sharding.str(mesh));
  return llvm::Error::success();
}

llvm::Error Verifier::checkResults(mlir::func::FuncOp program) {
  mlir::Operation *end = program.front().getTerminator();
  mlir::Operation *expected = original.front().getTerminator();
  if (end->getNumOperands() != expected->getNumOperands())
    return noPlanError("the program has {0} results, the model {1}", end->getNumOperands(), expected->getNumOperands());
  for (auto [index, value] : llvm::enumerate(end->getOperands())) {
    mlir::Value whole = expected->getOperand(static_cast<unsigned>(index));
    mlir::DictionaryAttr attributes = program.getResultAttrDict(static_cast<unsigned>(index));
    std::string what = "result '" + names.outputValues[index] + "'";
    if (llvm::Error error = checkLeaving(value, whole, attributes, what))
      return error;
    if (llvm::Error error = checkReplacement(attributes, what))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Verifier::checkReplacement(mlir::DictionaryAttr attributes, llvm::StringRef what) const {
  auto replaced = attributes ? attributes.getAs<mlir::StringAttr>(replacesAttribute) : mlir::StringAttr();
  ShardingAttr rests = replaced ? atRest.lookup(replaced.getValue()) : ShardingAttr();
  auto own = rests ? attributes.getAs<ShardingAttr>(shardingAttribute) : rests;
  if (own == rests)
    return llvm::Error::success();
  return noPlanError("{0} is {1}, but replaces parameter '{2}', which rests as {3}", what, own.getValue().str(mesh),
                     replaced.getValue(), rests.getValue().str(mesh));
}

llvm::Error Verifier::run(mlir::func::FuncOp program) {
  if (llvm::Error error = addArguments(program))
    return error;
  for (mlir::Operation &op : program.front().without_terminator()) {
    if (llvm::isa<ConstantOp, NoneOp>(op))
      continue;
    auto parameter = llvm::dyn_cast<ParameterOp>(op);
    auto receive = llvm::dyn_cast<ReceiveOp>(op);
    auto send = llvm::dyn_cast<SendOp>(op);
    if (llvm::Error error = parameter        ? addParameter(parameter)
                            : receive        ? addReceive(receive)
                            : send           ? checkSend(send)
                            : isPartEnd(&op) ? endPart(&op)
                                             : ops.prove(&op))
      return error;
  }
  if (microBatchesOf(program) != microBatchesOf(original))
    return noPlanError("the program has {0} micro-batches, the model {1}", microBatchesOf(program),
                       microBatchesOf(original));
  if (copiesOf(program) != copiesOf(original))
    return noPlanError("the program has {0} copies of a micro-batch, the model {1}", copiesOf(program),
                       copiesOf(original));
  if (llvm::Error error = checkEnds())
    return error;
  return checkResults(program);
}

/// The collectives that a plan's moves take; those of a bucket stand for all that is taken in it.
unsigned plannedCollectives(const StagePlan &plan) {
  auto countIn = [](llvm::ArrayRef<std::string> collectives) {
    return llvm::count_if(collectives, [](llvm::StringRef text) { return !text.starts_with("Slice{"); });
  };
  int64_t count = 0;
  for (const PlanMove &move : plan.moves)
    count += countIn(move.collectives);
  for (const PlanBucket &bucket : plan.buckets) {
    for (unsigned move : bucket.moves)
      count -= countIn(plan.moves[move].collectives);
    count += countIn(bucket.collectives);
  }
  return static_cast<unsigned>(count);
}

/// A program is within what its plan was costed with.
llvm::Error checkPlanned(const ProgramProof &proof, const StagePlan &plan, const MemoryTable &memory) {
  if (proof.parameterBytes > memory[MemoryCategory::Parameters] || proof.peakBytes > memory.total())
    return noPlanError("the program needs {0} bytes of parameters and {1} in all; the plan says {2} and {3}",
                       proof.parameterBytes, proof.peakBytes, memory[MemoryCategory::Parameters], memory.total());
  if (unsigned planned = plannedCollectives(plan); planned != proof.numCollectives)
    return noPlanError("the program has {0} collectives; the moves of the plan have {1}", proof.numCollectives,
                       planned);
  return llvm::Error::success();
}

/// The proof of `module`, which is for the mesh `planned`, has the moves of `plan` and may need the memory of a table.
llvm::Expected<ProgramProof> verifyModule(mlir::ModuleOp original, mlir::ModuleOp module, const Mesh &planned,
                                          const StagePlan &plan, const MemoryTable &memory) {
  auto main = mainOf(original);
  DiagnosticCapture diagnostics(original.getContext());
  mlir::FailureOr<MeshAttr> mesh = meshOf(module);
  mlir::OwningOpRef<mlir::ModuleOp> expanded = expandCalls(module);
  if (!main || mlir::failed(mesh) || !expanded) {
    std::string fault = diagnostics.take();
    return noPlanError("the program is incomplete: {0}", fault.empty() ? "a function is missing" : fault);
  }
  if (!(mesh->getValue() == planned))
    return noPlanError("the program is for the mesh {0}, the plan for {1}", mesh->getValue().str(), planned.str());
  auto function = mainOf(*expanded);
  Verifier verifier(main, *mesh);
  if (llvm::Error error = verifier.run(function)) {
    auto [fault, text] = takeMessage(std::move(error));
    std::string details = diagnostics.take();
    return noPlanError("{0}{1}{2}", text, details.empty() ? "" : ": ", details);
  }
  ProgramProof proof = verifier.proof();
  for (mlir::func::FuncOp other : module.getOps<mlir::func::FuncOp>())
    proof.numFunctions += other.getName() != "main";
  ProgramBytes bytes = programBytes(function);
  proof.parameterBytes = bytes.parameters;
  proof.peakBytes = bytes.peak;
  if (llvm::Error error = checkPlanned(proof, plan, memory))
    return std::move(error);
  return proof;
}

} // namespace

llvm::Expected<ProgramProof> verifyProgram(mlir::ModuleOp original, const Program &program, const Plan &plan) {
  llvm::Expected<Mesh> mesh = meshOfPlan(plan);
  if (!mesh)
    return mesh.takeError();
  return verifyModule(original, *program.onlyStage().module, *mesh, plan.stages.front(), plan.memory);
}

llvm::Expected<ProgramProof> verifyStage(mlir::ModuleOp original, const StageProgram &program, const StagePlan &plan) {
  llvm::Expected<Mesh> mesh = plan.mesh.bind(plan.numRanks());
  if (!mesh)
    return mesh.takeError();
  return verifyModule(original, *program.module, *mesh, plan, plan.memory);
}

} // namespace apc
