// Roundings on the way to an output, and terms that cancel in it.
#include "OutputTolerance.h"

#include "OpInRun.h"
#include "Terms.h"

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

/// Adds to `allowed`, element by element, how far result `base` of the op moves when its tensor `moved` goes up or
/// down.
void addMoves(OpInRun &run, Tensor &moved, double by, const Tensor &base, std::vector<double> &allowed) {
  const std::vector<double> own = moved.floats;
  std::vector<double> farthest(allowed.size(), 0);
  for (double change : {by, -by}) {
    for (auto [value, before] : llvm::zip_equal(moved.floats, own))
      value = before + change;
    Evaluated evaluated = run.evaluate();
    if (!evaluated)
      continue;
    for (auto [most, value, before] :
         llvm::zip_equal(farthest, (*evaluated)[run.result.getResultNumber()].floats, base.floats))
      most = std::max(most, std::abs(value - before));
  }
  moved.floats = own;
  for (auto [sum, most] : llvm::zip_equal(allowed, farthest))
    sum += most;
}

} // namespace

double termMagnitude(mlir::ModuleOp module, unsigned index, llvm::ArrayRef<Tensor> inputs,
                     const ParameterSource &parameters) {
  return termsOf(
      module, [&](mlir::func::FuncOp main) { return main.front().getTerminator()->getOperand(index); }, inputs,
      parameters);
}

double unexplainedError(mlir::ModuleOp module, unsigned index, llvm::ArrayRef<Tensor> inputs,
                        const ParameterSource &parameters, const Tensor &got, double accepted) {
  auto output = [&](mlir::func::FuncOp main) { return main.front().getTerminator()->getOperand(index); };
  std::optional<OpInRun> run = opInRun(module, output, inputs, parameters);
  Evaluated base = run ? run->evaluate() : std::nullopt;
  const Tensor *wanted = base ? &(*base)[run->result.getResultNumber()] : nullptr;
  if (!wanted || wanted->dims != got.dims || wanted->floats.size() != got.floats.size())
    return std::numeric_limits<double>::infinity();
  std::vector<double> allowed(got.floats.size(), 0);
  size_t next = 0;
  for (mlir::OpOperand &operand : run->result.getOwner()->getOpOperands()) {
    if (isAbsent(operand.get()))
      continue;
    Tensor &tensor = run->known[next++];
    if (!tensor.isFloat() || !operand.get().getDefiningOp() || llvm::isa<ParameterOp>(operand.get().getDefiningOp()))
      continue;
    double terms = termsOf(
        module,
        [&](mlir::func::FuncOp main) {
          return computedResult(output(main)).getOwner()->getOperand(operand.getOperandNumber());
        },
        inputs, parameters);
    addMoves(*run, tensor, accepted * std::max(terms, largestMagnitude(tensor)), *wanted, allowed);
  }
  double excess = 0;
  for (auto [value, expected, most] : llvm::zip_equal(got.floats, wanted->floats, allowed))
    excess = std::max(excess, std::abs(value - expected) - most);
  return excess;
}

} // namespace apc
