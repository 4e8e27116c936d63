// Names of states and terms of gradients against those of the model.
#include "StepNames.h"

#include "apc/IR/AttributeNames.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

namespace {

/// The names that a step gives, and whose they are.
class StepNames {
public:
  StepNames(llvm::ArrayRef<TrainedGradient> gradients, const TrainingOptions &options)
      : accumulates(options.microBatches > 1) {
    for (const TrainedGradient &gradient : gradients) {
      ParameterOp parameter = gradient.parameter;
      llvm::StringRef name = parameter.getName();
      trained.insert({name, 0});
      for (llvm::StringRef state : statesOf(options.optimizer))
        addState(name, state);
      if (getElementTypeOrSelf(parameter.getOutput().getType()).getIntOrFloatBitWidth() < 32)
        addState(name, masterSuffix.drop_front());
    }
  }

  /// Errors (input): the step gives this name of the model to something else.
  llvm::Error check(llvm::StringRef name) const {
    auto own = given.find(name);
    if (own == given.end())
      return checkTerm(name);
    return refuse(name, own->second);
  }

  /// As `check`, of the terms of gradients alone: "w.grad.stage0", the term of stage 0.
  llvm::Error checkTerm(llvm::StringRef name) const {
    auto [parameter, stage] = name.rsplit(".grad.stage");
    if (!accumulates || stage.empty() || !llvm::all_of(stage, llvm::isDigit) || !trained.contains(parameter))
      return llvm::Error::success();
    return refuse(name, ("the gradient of parameter '" + parameter + "' on a stage of a pipeline").str());
  }

private:
  void addState(llvm::StringRef name, llvm::StringRef state) {
    given[(name + "." + state).str()] = ("a state of the optimizer for parameter '" + name + "'").str();
  }
  static llvm::Error refuse(llvm::StringRef name, llvm::StringRef owner) {
    return inputError(
        "the model has something called '{0}', which is the name of {1} in the training step; accepted is "
        "a model in which one of the two has another name",
        name, owner);
  }

  bool accumulates;
  llvm::StringMap<char> trained;
  llvm::StringMap<std::string> given;
};

} // namespace

llvm::Error checkStepNames(mlir::func::FuncOp main, llvm::ArrayRef<TrainedGradient> gradients,
                           const TrainingOptions &options) {
  StepNames names(gradients, options);
  for (mlir::BlockArgument argument : main.getArguments())
    if (auto name = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), nameAttribute))
      if (llvm::Error error = names.check(name.getValue()))
        return error;
  for (mlir::Operation &op : main.front()) {
    auto parameter = llvm::dyn_cast<ParameterOp>(op);
    auto location = llvm::dyn_cast<mlir::NameLoc>(op.getLoc());
    llvm::StringRef name = location ? location.getName().strref() : "";
    if (llvm::Error error = parameter ? names.check(parameter.getName()) : names.checkTerm(name))
      return error;
    if (auto values = op.getAttrOfType<mlir::ArrayAttr>(valuesAttribute))
      for (auto value : values.getAsRange<mlir::StringAttr>())
        if (llvm::Error error = names.checkTerm(value.getValue()))
          return error;
  }
  return llvm::Error::success();
}

} // namespace apc
