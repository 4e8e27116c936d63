// A run that ends with the operands of one op.
#include "OpInRun.h"

#include "apc/IR/MainFunction.h"

namespace apc {

namespace {

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

} // namespace

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

Evaluated OpInRun::evaluate() const {
  llvm::SmallVector<const Tensor *> operands;
  size_t next = 0;
  for (mlir::Value operand : result.getOwner()->getOperands())
    operands.push_back(isAbsent(operand) ? nullptr : &known[next++]);
  auto op = llvm::cast<OperatorInterface>(result.getOwner());
  return op.evaluate(operands);
}

std::optional<OpInRun> opInRun(mlir::ModuleOp module, Pick pick, llvm::ArrayRef<Tensor> inputs,
                               const ParameterSource &parameters) {
  OpInRun found{module.clone(), {}, {}};
  found.result = computedResult(pick(mainOf(*found.clone)));
  if (!found.result || !llvm::isa<OperatorInterface>(found.result.getOwner()))
    return std::nullopt;
  llvm::Expected<std::vector<Tensor>> known = runToOperands(*found.clone, found.result.getOwner(), inputs, parameters);
  if (!known)
    return llvm::consumeError(known.takeError()), std::nullopt;
  found.known = std::move(*known);
  return found;
}

} // namespace apc
