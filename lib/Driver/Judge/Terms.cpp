// Magnitudes of operands, and one run for each micro-batch.
#include "Terms.h"

#include "apc/IR/MainFunction.h"
#include "apc/Interpret/Compare.h"

#include <cmath>

namespace apc {

namespace {

void takeMagnitudes(Tensor &tensor) {
  for (double &value : tensor.floats)
    value = std::abs(value);
}

/// The op that computes `value`, behind sums over micro-batches: terms that cancel do so before they are added up.
mlir::Value beforeAccumulation(mlir::Value value) {
  mlir::OpResult result = computedResult(value);
  while (result && result.getOwner()->hasTrait<Accumulates>()) {
    value = result.getOwner()->getOperand(0);
    result = computedResult(value);
  }
  return value;
}

/// Adds to `sums` the magnitudes of the terms of the op that computes the value that `pick` finds, element by element.
void addTerms(mlir::ModuleOp module, Pick pick, llvm::ArrayRef<Tensor> inputs, const ParameterSource &parameters,
              std::optional<Tensor> &sums) {
  std::optional<OpInRun> run = opInRun(module, pick, inputs, parameters);
  if (!run)
    return;
  llvm::for_each(run->known, takeMagnitudes);
  Evaluated evaluated = run->evaluate();
  if (!evaluated)
    return;
  Tensor &terms = (*evaluated)[run->result.getResultNumber()];
  if (!sums) {
    sums = std::move(terms);
    return;
  }
  for (auto [sum, term] : llvm::zip_equal(sums->floats, terms.floats))
    sum += term;
}

} // namespace

double termsOf(mlir::ModuleOp module, Pick pick, llvm::ArrayRef<Tensor> inputs, const ParameterSource &parameters) {
  auto within = [&](mlir::func::FuncOp main) { return beforeAccumulation(pick(main)); };
  mlir::func::FuncOp main = mainOf(module);
  std::optional<Tensor> sums;
  if (within(main) == pick(main) || !microBatchEndOf(main)) {
    addTerms(module, within, inputs, parameters, sums);
  } else {
    mlir::OwningOpRef<mlir::ModuleOp> single = module.clone();
    MicroBatchEndOp end = microBatchEndOf(mainOf(*single));
    const size_t count = end.getCount(), each = inputs.size() / count;
    end.setCount(1);
    end.setCopies(1);
    for (size_t index = 0; index < count; ++index)
      addTerms(*single, within, inputs.slice(index * each, each), parameters, sums);
  }
  return sums ? largestMagnitude(*sums) : 0;
}

} // namespace apc
