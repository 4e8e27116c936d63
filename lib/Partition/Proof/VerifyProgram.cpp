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
        ops(mesh, names, model, microBatchEndOf(original)) {
    for (auto &[value, name] : names.values)
      byName[name].push_back(value);
  }

  llvm::Error run(mlir::func::FuncOp program);
  const ProgramProof &proof() const { return ops.proof; }

private:
  llvm::Error addArguments(mlir::func::FuncOp program);
  llvm::Error addParameter(ParameterOp op);
  llvm::Error checkResults(mlir::func::FuncOp program);

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
  llvm::StringMap<llvm::SmallVector<mlir::Value, 1>> byName;
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
    const Abstract *known = ops.find(value);
    if (!known || !model.areEqual(known->whole, whole))
      return noPlanError("{0} is not the value that the model returns there", what);
    if (!(known->sharding == claimed->sharding) || known->isModified() || claimed->sharding.isPartial())
      return noPlanError("{0} is {1}, said to be {2}; a result must not be partial", what, known->sharding.str(mesh),
                         claimed->sharding.str(mesh));
  }
  return llvm::Error::success();
}

llvm::Error Verifier::run(mlir::func::FuncOp program) {
  if (llvm::Error error = addArguments(program))
    return error;
  for (mlir::Operation &op : program.front().without_terminator()) {
    if (llvm::isa<ConstantOp, NoneOp>(op))
      continue;
    if (llvm::isa<MicroBatchEndOp>(op)) {
      ops.endMicroBatch();
      continue;
    }
    auto parameter = llvm::dyn_cast<ParameterOp>(op);
    if (llvm::Error error = parameter ? addParameter(parameter) : ops.prove(&op))
      return error;
  }
  if (microBatchesOf(program) != microBatchesOf(original))
    return noPlanError("the program has {0} micro-batches, the model {1}", microBatchesOf(program),
                       microBatchesOf(original));
  return checkResults(program);
}

} // namespace

llvm::Expected<ProgramProof> verifyProgram(mlir::ModuleOp original, const Program &program, const Plan &plan) {
  auto main = mainOf(original);
  mlir::ModuleOp module = *program.onlyStage().module;
  DiagnosticCapture diagnostics(original.getContext());
  mlir::FailureOr<MeshAttr> mesh = meshOf(module);
  mlir::OwningOpRef<mlir::ModuleOp> expanded = expandCalls(module);
  if (!main || mlir::failed(mesh) || !expanded) {
    std::string fault = diagnostics.take();
    return noPlanError("the program is incomplete: {0}", fault.empty() ? "a function is missing" : fault);
  }
  llvm::Expected<Mesh> planned = meshOfPlan(plan);
  if (!planned)
    return planned.takeError();
  if (!(mesh->getValue() == *planned))
    return noPlanError("the program is for the mesh {0}, the plan for {1}", mesh->getValue().str(), planned->str());
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
  if (bytes.parameters > plan.memory[MemoryCategory::Parameters] || bytes.peak > plan.memory.total())
    return noPlanError("the program needs {0} bytes of parameters and {1} in all; the plan says {2} and {3}",
                       bytes.parameters, bytes.peak, plan.memory[MemoryCategory::Parameters], plan.memory.total());
  return proof;
}

} // namespace apc
