// Names and rules that plans use.
#include "apc/IR/Program/PlanNames.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/Parts.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// Gives names out once: a, a#2, a#3.
class UniqueNames {
public:
  explicit UniqueNames(unsigned about) : taken(about) {}

  std::string take(llvm::StringRef name) {
    unsigned count = ++taken[name];
    return count == 1 ? name.str() : take((name + "#" + llvm::Twine(count)).str());
  }

private:
  llvm::StringMap<unsigned> taken;
};

/// The name that the importer gave an op, or its kind.
llvm::StringRef opName(mlir::Operation &op) {
  auto location = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
  return location ? location.getName().strref() : op.getName().stripDialect();
}

std::string argumentName(mlir::func::FuncOp main, unsigned index) {
  auto name = main.getArgAttrOfType<mlir::StringAttr>(index, nameAttribute);
  return name ? name.str() : "input" + std::to_string(index);
}

std::string outputName(mlir::func::FuncOp main, unsigned index) {
  auto name = main.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute);
  return name ? name.str() : std::to_string(index);
}

/// The model's name of a result; empty where it has none.
llvm::StringRef modelName(mlir::OpResult result) {
  auto names = result.getOwner()->getAttrOfType<mlir::ArrayAttr>(valuesAttribute);
  unsigned index = result.getResultNumber();
  return names && index < names.size() ? llvm::cast<mlir::StringAttr>(names[index]).strref() : llvm::StringRef();
}

/// Names the results of ops: the model's names first, so that those made of ops' names give way to them. An op "y" with
/// a gradient that is named after it, and a value "y" with a gradient likewise: "y.grad" is the value's.
void nameValues(mlir::func::FuncOp main, UniqueNames &unique, PlanNames &names) {
  for (mlir::Operation &op : main.front().without_terminator())
    for (mlir::OpResult result : op.getResults())
      if (names.ops.contains(&op) && !isAbsent(result) && !modelName(result).empty())
        names.values[result] = unique.take(modelName(result));
  for (mlir::Operation &op : main.front().without_terminator())
    for (mlir::OpResult result : op.getResults()) {
      if (!names.ops.contains(&op) || isAbsent(result) || !modelName(result).empty())
        continue;
      std::string name = names.ops[&op];
      names.values[result] =
          unique.take(op.getNumResults() == 1 ? name : name + ":" + std::to_string(result.getResultNumber()));
    }
}

} // namespace

bool isPlanConstant(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && llvm::isa<ConstantOp, NoneOp>(op);
}

PlanNames namePlan(mlir::func::FuncOp main) {
  PlanNames names;
  const auto numOps = static_cast<unsigned>(main.front().getOperations().size());
  UniqueNames unique(numOps), uniqueValues(numOps);
  names.ops.reserve(numOps);
  names.values.reserve(numOps);
  for (mlir::BlockArgument argument : main.getArguments()) {
    std::string name = argumentName(main, argument.getArgNumber());
    names.sources[argument] = unique.take(name);
    names.values[argument] = uniqueValues.take(name);
  }
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op)) {
      names.sources[parameter.getOutput()] = unique.take(parameter.getName());
      names.values[parameter.getOutput()] = uniqueValues.take(parameter.getName());
    } else if (auto receive = llvm::dyn_cast<ReceiveOp>(op)) {
      names.sources[receive.getOutput()] = unique.take(opName(op));
      names.values[receive.getOutput()] = uniqueValues.take(receive.getValue());
    } else if (llvm::isa<SendOp>(op)) {
      names.sends[&op] = unique.take(opName(op));
    } else if (!llvm::isa<ConstantOp, NoneOp>(op) && !isPartEnd(&op)) {
      names.ops[&op] = unique.take(opName(op));
    }
  }
  nameValues(main, uniqueValues, names);
  for (unsigned index = 0; index < main.front().getTerminator()->getNumOperands(); ++index) {
    names.outputValues.push_back(outputName(main, index));
    names.outputs.push_back(unique.take("output " + names.outputValues.back()));
  }
  return names;
}

mlir::FailureOr<FactorRule> plannedRule(mlir::Operation *op) {
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  if (!interface)
    return op->emitOpError("has no factor rule, so it cannot be planned"), mlir::failure();
  mlir::FailureOr<FactorRule> rule = interface.getRule();
  if (mlir::failed(rule))
    return rule;
  llvm::erase_if(rule->linear, [&](const llvm::SmallVector<unsigned, 2> &group) {
    return llvm::any_of(group, [&](unsigned operand) { return isPlanConstant(op->getOperand(operand)); });
  });
  cutInsideParts(op, *rule);
  return rule;
}

static FactorRule sinkRule(mlir::Value value, mlir::DictionaryAttr parts) {
  TensorShape shape = *shapeOf(value);
  FactorRuleBuilder builder;
  builder.addOperand(builder.addFactors("d", shape.dims), shape.elementBits);
  builder.setWork(Work::View);
  FactorRule rule = builder.take();
  cutInsideParts(parts, rule);
  return rule;
}

FactorRule outputRule(mlir::func::FuncOp main, unsigned index) {
  return sinkRule(main.front().getTerminator()->getOperand(index),
                  main.getResultAttrOfType<mlir::DictionaryAttr>(index, partsAttribute));
}

FactorRule sendRule(mlir::Operation *send) {
  return sinkRule(send->getOperand(0), send->getAttrOfType<mlir::DictionaryAttr>(partsAttribute));
}

} // namespace apc
