// Forms of ops in ONNX, and the cuts between segments.
#include "OnnxSteps.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/ElementTypes.h"
#include "apc/IR/OnnxForms.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace apc {

namespace {

/// A constant that is no node: segments hold it as an initializer.
bool isConstant(mlir::Operation &op) { return llvm::isa<ConstantOp, NoneOp>(op); }

/// A step of its own.
bool standsAlone(mlir::Operation &op) { return !llvm::isa<OperatorInterface>(op) || op.hasTrait<Accumulates>(); }

std::string nameOfOp(mlir::Operation &op) {
  for (llvm::StringRef attribute : {opAttribute, valuesAttribute})
    if (auto name = op.getAttrOfType<mlir::StringAttr>(attribute))
      return name.str();
  return op.getName().stripDialect().str();
}

class FormMaker : mlir::OpBuilder::Listener {
public:
  explicit FormMaker(mlir::MLIRContext *context) : builder(context, this) {}

  /// Forms may be made of ops that have forms themselves.
  llvm::Error replace(mlir::Operation *op) {
    made.clear();
    builder.setInsertionPoint(op);
    auto results = createOnnxForm(builder, op);
    if (!results)
      return inputError("op '{0}': {1}", nameOfOp(*op), llvm::toString(results.takeError()));
    std::vector<mlir::Operation *> parts = std::exchange(made, {});
    for (mlir::Operation *part : parts)
      if (auto name = op->getAttr(opAttribute); name && *results)
        part->setAttr(opAttribute, name);
    if (*results) {
      op->replaceAllUsesWith(**results);
      op->erase();
    }
    for (mlir::Operation *part : parts)
      if (!isConstant(*part))
        if (llvm::Error error = replace(part))
          return error;
    return llvm::Error::success();
  }

private:
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override { made.push_back(op); }

  mlir::OpBuilder builder;
  std::vector<mlir::Operation *> made;
};

/// Terms of a sum over micro-batches become of its type in a segment, where they are of another.
void castTerms(mlir::Operation &sum) {
  mlir::Type element = getElementTypeOrSelf(sum.getResult(0).getType());
  for (mlir::OpOperand &operand : sum.getOpOperands()) {
    auto type = llvm::cast<mlir::RankedTensorType>(operand.get().getType());
    if (type.getElementType() == element)
      continue;
    mlir::OpBuilder builder(&sum);
    mlir::OperationState state(sum.getLoc(), CastOp::getOperationName());
    state.addOperands(operand.get());
    state.addTypes(type.clone(element));
    state.addAttribute("to", builder.getI64IntegerAttr(dataType(element)));
    operand.set(builder.create(state)->getResult(0));
  }
}

/// Constants that other steps than segments read come out of a segment.
void makeReadable(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(block)) {
    if (!standsAlone(op))
      continue;
    if (op.hasTrait<Accumulates>())
      castTerms(op);
    for (mlir::OpOperand &operand : op.getOpOperands())
      if (operand.get().getDefiningOp<ConstantOp>()) {
        mlir::OpBuilder builder(&op);
        operand.set(IdentityOp::create(builder, op.getLoc(), operand.get().getType(), operand.get()));
      }
  }
}

class Cutter {
public:
  explicit Cutter(mlir::func::FuncOp function) { result.function = function; }

  OnnxFunction run() {
    nameValues();
    for (mlir::Operation &op : result.function.front()) {
      if (isConstant(op) || llvm::isa<ParameterOp>(op))
        continue;
      if (!standsAlone(op)) {
        pending.insert(&op);
        continue;
      }
      if (!mayGoFirst(op))
        flush();
      if (!op.hasTrait<mlir::OpTrait::IsTerminator>())
        result.steps.push_back({{}, "", &op});
    }
    return std::move(result);
  }

private:
  std::string unique(const std::string &base) {
    std::string name = base;
    while (!used.insert(name).second)
      name = base + "." + std::to_string(++copies[base]);
    return name;
  }

  void nameValues() {
    for (auto parameter : result.function.getOps<ParameterOp>())
      result.names[parameter.getOutput()] = unique(parameter.getName().str());
    for (mlir::BlockArgument argument : result.function.getArguments()) {
      auto name = result.function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), nameAttribute);
      result.names[argument] = unique(name ? name.str() : "argument" + std::to_string(argument.getArgNumber()));
    }
    for (mlir::Operation &op : result.function.front())
      if (!isConstant(op) && !llvm::isa<ParameterOp>(op))
        for (mlir::Value value : op.getResults())
          if (!llvm::isa<mlir::NoneType>(value.getType()))
            result.names[value] = unique(nameOfOp(op));
    nameConstants();
  }

  /// Equal constants have one name, behind the names of all ops.
  void nameConstants() {
    llvm::DenseMap<mlir::Attribute, std::string> known;
    for (auto constant : result.function.getOps<ConstantOp>()) {
      std::string &name = known[constant.getValue()];
      if (name.empty())
        name = unique("constant_" + std::to_string(known.size() - 1));
      result.names[constant.getOutput()] = name;
    }
  }

  bool mayGoFirst(mlir::Operation &op) const {
    return (llvm::isa<CollectiveInterface, ShardOffsetOp>(op)) &&
           llvm::none_of(op.getOperands(), [&](mlir::Value value) {
             return value.getDefiningOp() && pending.contains(value.getDefiningOp());
           });
  }

  void flush() {
    OnnxStep step;
    for (mlir::Operation *op : pending) {
      step.segment.ops.push_back(op);
      for (mlir::Value operand : op->getOperands())
        if (!operand.getDefiningOp() ||
            (!isConstant(*operand.getDefiningOp()) && !pending.contains(operand.getDefiningOp())))
          step.segment.inputs.insert(operand);
      for (mlir::Value value : op->getResults())
        if (llvm::any_of(value.getUsers(), [&](mlir::Operation *user) { return !pending.contains(user); }))
          step.segment.outputs.insert(value);
    }
    pending.clear();
    if (step.segment.outputs.empty())
      return;
    step.file = llvm::formatv("segments/{0}-{1,0+4}.onnx", result.function.getName(), numSegments++);
    result.steps.push_back(std::move(step));
  }

  OnnxFunction result;
  llvm::SetVector<mlir::Operation *> pending;
  llvm::StringSet<> used;
  llvm::StringMap<unsigned> copies; ///< by the name that several values want
  unsigned numSegments = 0;
};

} // namespace

llvm::Error makeOnnxForms(mlir::ModuleOp module) {
  FormMaker maker(module.getContext());
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (function.isExternal())
      continue;
    std::vector<mlir::Operation *> ops;
    for (mlir::Operation &op : function.front())
      if (!isConstant(op) && !llvm::isa<ParameterOp>(op) && !op.hasTrait<Accumulates>())
        ops.push_back(&op);
    for (mlir::Operation *op : ops)
      if (llvm::Error error = maker.replace(op))
        return error;
    makeReadable(function.front());
  }
  return llvm::Error::success();
}

OnnxFunction cutIntoSteps(mlir::func::FuncOp function) { return Cutter(function).run(); }

} // namespace apc
