// Names and rules that plans use.
#include "apc/IR/Program/PlanNames.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Program/Parts.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// Gives names out once: a, a#2, a#3.
class UniqueNames {
public:
  std::string take(llvm::StringRef name) {
    unsigned count = ++taken[name];
    return count == 1 ? name.str() : take((name + "#" + llvm::Twine(count)).str());
  }

private:
  llvm::StringMap<unsigned> taken;
};

std::string argumentName(mlir::func::FuncOp main, unsigned index) {
  auto name = main.getArgAttrOfType<mlir::StringAttr>(index, nameAttribute);
  return name ? name.str() : "input" + std::to_string(index);
}

std::string outputName(mlir::func::FuncOp main, unsigned index) {
  auto name = main.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute);
  return name ? name.str() : std::to_string(index);
}

/// The name of result `index`: the model's name, or a name made of the op's.
std::string valueName(mlir::Operation *op, unsigned index, llvm::StringRef opName) {
  auto names = op->getAttrOfType<mlir::ArrayAttr>(valuesAttribute);
  if (names && index < names.size() && !llvm::cast<mlir::StringAttr>(names[index]).empty())
    return llvm::cast<mlir::StringAttr>(names[index]).str();
  return op->getNumResults() == 1 ? opName.str() : (opName + ":" + llvm::Twine(index)).str();
}

} // namespace

bool isPlanConstant(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && llvm::isa<ConstantOp, NoneOp>(op);
}

PlanNames namePlan(mlir::func::FuncOp main) {
  PlanNames names;
  UniqueNames unique;
  for (mlir::BlockArgument argument : main.getArguments()) {
    std::string name = argumentName(main, argument.getArgNumber());
    names.sources[argument] = unique.take(name);
    names.values[argument] = name;
  }
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (auto parameter = llvm::dyn_cast<ParameterOp>(op)) {
      names.sources[parameter.getOutput()] = unique.take(parameter.getName());
      names.values[parameter.getOutput()] = parameter.getName().str();
    } else if (!llvm::isa<ConstantOp, NoneOp>(op)) {
      auto location = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
      std::string name = unique.take(location ? location.getName().strref() : op.getName().stripDialect());
      for (mlir::OpResult result : op.getResults())
        if (!isAbsent(result))
          names.values[result] = valueName(&op, result.getResultNumber(), name);
      names.ops[&op] = std::move(name);
    }
  }
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

FactorRule outputRule(mlir::func::FuncOp main, unsigned index) {
  TensorShape shape = *shapeOf(main.front().getTerminator()->getOperand(index));
  FactorRuleBuilder builder;
  builder.addOperand(builder.addFactors("d", shape.dims), shape.elementBits);
  builder.setWork(Work::View);
  FactorRule rule = builder.take();
  cutInsideParts(main.getResultAttrOfType<mlir::DictionaryAttr>(index, partsAttribute), rule);
  return rule;
}

} // namespace apc
