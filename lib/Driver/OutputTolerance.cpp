// Roundings on the way to an output, and terms that cancel in it.
#include "OutputTolerance.h"

#include "apc/IR/MainFunction.h"
#include "apc/Interpret/Compare.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

namespace apc {

std::vector<double> acceptedErrors(mlir::func::FuncOp main) {
  llvm::DenseMap<mlir::Value, double> coarsest;
  for (mlir::Operation &op : main.front()) {
    double ofOperands = 0;
    for (mlir::Value operand : op.getOperands())
      ofOperands = std::max(ofOperands, coarsest.lookup(operand));
    bool computes = op.getNumOperands() > 0;
    for (mlir::Value result : op.getResults())
      coarsest[result] =
          std::max(ofOperands, computes && !isAbsent(result) ? acceptedError(mlir::getElementTypeOrSelf(result)) : 0);
  }
  std::vector<double> accepted;
  for (mlir::Value output : main.front().getTerminator()->getOperands()) {
    double own = acceptedError(mlir::getElementTypeOrSelf(output));
    accepted.push_back(own == 0 ? 0 : std::max(own, coarsest.lookup(output)));
  }
  return accepted;
}

namespace {

/// The op that computes `value`: ops behind it that only move its elements are passed.
mlir::OpResult computedResult(mlir::Value value) {
  auto result = llvm::dyn_cast<mlir::OpResult>(value);
  while (result && result.getOwner()->getNumOperands() > 0) {
    auto op = llvm::dyn_cast<OperatorInterface>(result.getOwner());
    mlir::FailureOr<FactorRule> rule = op ? op.getRule() : mlir::FailureOr<FactorRule>();
    if (mlir::failed(rule) || rule->flops() > 0)
      return result;
    result = llvm::dyn_cast<mlir::OpResult>(op->getOperand(0));
  }
  return {};
}

/// The operands of `op` (an op of a clone of the module), from a run that ends with them.
llvm::Expected<std::vector<Tensor>> runToOperands(mlir::ModuleOp module, mlir::Operation *op,
                                                  llvm::ArrayRef<Tensor> inputs, const ParameterSource &parameters) {
  auto main = mainOf(module);
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands())
    if (!isAbsent(operand))
      operands.push_back(operand);
  main.front().getTerminator()->setOperands(operands);
  return run(module, inputs, parameters);
}

void takeMagnitudes(Tensor &tensor) {
  for (double &value : tensor.floats)
    value = std::abs(value);
}

} // namespace

double termMagnitude(mlir::ModuleOp module, unsigned index, llvm::ArrayRef<Tensor> inputs,
                     const ParameterSource &parameters) {
  mlir::OwningOpRef<mlir::ModuleOp> clone = module.clone();
  mlir::OpResult result = computedResult(mainOf(*clone).front().getTerminator()->getOperand(index));
  auto op = result ? llvm::dyn_cast<OperatorInterface>(result.getOwner()) : OperatorInterface();
  if (!op)
    return 0;
  llvm::Expected<std::vector<Tensor>> known = runToOperands(*clone, op, inputs, parameters);
  if (!known)
    return llvm::consumeError(known.takeError()), 0;
  llvm::SmallVector<const Tensor *> operands;
  size_t next = 0;
  for (mlir::Value operand : op->getOperands()) {
    operands.push_back(isAbsent(operand) ? nullptr : &(*known)[next++]);
    if (operands.back())
      takeMagnitudes((*known)[next - 1]);
  }
  Evaluated evaluated = op.evaluate(operands);
  return evaluated ? largestMagnitude((*evaluated)[result.getResultNumber()]) : 0;
}

} // namespace apc
