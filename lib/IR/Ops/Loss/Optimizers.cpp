// Steps of optimizers: elementwise over values, gradients and states of several tensors at once.
#include "../Attributes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/RuleBuilder.h"

#include <array>
#include <cmath>

namespace apc {

namespace {

constexpr unsigned firstTensor = 2; ///< behind R and T

/// The number of tensors that are updated: 4 for 2 + 3 * 4 operands with one state (values, gradients, states).
mlir::FailureOr<unsigned> numTensors(mlir::Operation *op, unsigned states) {
  unsigned groups = states + 2, given = op->getNumOperands() - firstTensor;
  if (given == 0 || given % groups != 0)
    return op->emitOpError() << "has " << given << " tensors behind 'R' and 'T'; " << groups
                             << " for each tensor that is updated are needed",
           mlir::failure();
  for (unsigned operand : {0U, 1U})
    if (dimsOf(op->getOperand(operand)).size() > 1 || shapeOf(op->getOperand(operand))->numElements() != 1)
      return op->emitOpError() << "operand '" << operandName(op, operand) << "' needs to be one number",
             mlir::failure();
  unsigned count = given / groups;
  for (unsigned i = 0; i < given; ++i) {
    mlir::Type value = op->getOperand(firstTensor + i % count).getType(),
               type = op->getOperand(firstTensor + i).getType();
    if (value != type)
      return op->emitOpError() << "operand #" << firstTensor + i << " has type " << type
                               << ", but belongs to a tensor of type " << value,
             mlir::failure();
  }
  return count;
}

/// One element of a tensor with its gradient and states.
struct OptimizerPoint {
  double value, gradient;
  std::array<double, 2> states;
};

/// The results of `step` at every element, whose gradient has the coefficient times the value added.
Evaluated evaluateSteps(Operands operands, unsigned states, const llvm::APFloat &normCoefficient,
                        llvm::function_ref<void(OptimizerPoint &)> step) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  size_t count = (operands.size() - firstTensor) / (states + 2);
  llvm::SmallVector<Tensor, 1> results;
  for (size_t group = 0; group <= states; ++group)
    for (size_t i = 0; i < count; ++i)
      results.push_back(*operands[firstTensor + i + (group == 0 ? 0 : group + 1) * count]);
  double norm = normCoefficient.convertToDouble();
  for (size_t i = 0; i < count; ++i) {
    const Tensor &gradients = *operands[firstTensor + count + i];
    if (!gradients.isFloat())
      return std::nullopt;
    for (size_t at = 0; at < gradients.floats.size(); ++at) {
      OptimizerPoint point{results[i].floats[at], gradients.floats[at], {}};
      point.gradient += norm * point.value;
      for (unsigned state = 0; state < states; ++state)
        point.states[state] = results[(state + 1) * count + i].floats[at];
      step(point);
      results[i].floats[at] = point.value;
      for (unsigned state = 0; state < states; ++state)
        results[(state + 1) * count + i].floats[at] = point.states[state];
    }
  }
  return results;
}

/// R and T; none when either is not known.
std::optional<std::pair<double, double>> rateAndCount(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  return std::pair(getElement(*operands[0], 0).asReal(), getElement(*operands[1], 0).asReal());
}

} // namespace

mlir::LogicalResult inferOptimizer(mlir::Operation *op, unsigned states, llvm::SmallVectorImpl<mlir::Type> &types) {
  auto count = numTensors(op, states);
  if (mlir::failed(count))
    return mlir::failure();
  for (unsigned group = 0; group <= states; ++group)
    for (unsigned i = 0; i < *count; ++i)
      types.push_back(op->getOperand(firstTensor + i).getType());
  return mlir::success();
}

mlir::FailureOr<FactorRule> optimizerRule(mlir::Operation *op, unsigned states) {
  auto count = numTensors(op, states);
  if (mlir::failed(count))
    return mlir::failure();
  constexpr double flopsPerElement = 10;
  RuleBuilder layout(op);
  double elements = 0;
  for (unsigned i = 0; i < *count; ++i) {
    llvm::SmallVector<DimFactors, 4> dims;
    for (int64_t size : dimsOf(op->getOperand(firstTensor + i)))
      dims.push_back(layout.parallel(size));
    for (unsigned group = 0; group < states + 2; ++group)
      layout.setOperand(firstTensor + group * *count + i, dims);
    for (unsigned group = 0; group <= states; ++group)
      layout.setResult(group * *count + i, dims);
    elements += double(shapeOf(op->getOperand(firstTensor + i))->numElements());
  }
  FactorRule rule = layout.take(Work::Stream);
  setFlops(rule, flopsPerElement * elements);
  return rule;
}

// Duchi, Hazan and Singer 2011, as ONNX has it.
Evaluated AdagradOp::evaluate(Operands operands) {
  auto given = rateAndCount(operands);
  if (!given)
    return std::nullopt;
  double epsilon = getEpsilon().convertToDouble();
  double rate = given->first / (1 + given->second * getDecayFactor().convertToDouble());
  return evaluateSteps(operands, 1, getNormCoefficient(), [&](OptimizerPoint &point) {
    point.states[0] += point.gradient * point.gradient;
    point.value -= rate * point.gradient / (std::sqrt(point.states[0]) + epsilon);
  });
}

// Kingma and Ba 2015, as ONNX has it: the bias is corrected in the learning rate.
Evaluated AdamOp::evaluate(Operands operands) {
  auto given = rateAndCount(operands);
  if (!given)
    return std::nullopt;
  auto [rate, count] = *given;
  double alpha = getAlpha().convertToDouble(), beta = getBeta().convertToDouble();
  double epsilon = getEpsilon().convertToDouble(), post = getNormCoefficientPost().convertToDouble();
  if (count > 0)
    rate *= std::sqrt(1 - std::pow(beta, count)) / (1 - std::pow(alpha, count));
  return evaluateSteps(operands, 2, getNormCoefficient(), [&, rate = rate](OptimizerPoint &point) {
    auto &[mean, square] = point.states;
    mean = alpha * mean + (1 - alpha) * point.gradient;
    square = beta * square + (1 - beta) * point.gradient * point.gradient;
    point.value = (1 - post) * (point.value - rate * mean / (std::sqrt(square) + epsilon));
  });
}

Evaluated MomentumOp::evaluate(Operands operands) {
  auto given = rateAndCount(operands);
  llvm::StringRef mode = getMode();
  if (!given || (mode != "standard" && mode != "nesterov"))
    return std::nullopt;
  double alpha = getAlpha().convertToDouble(), rate = given->first;
  double beta = given->second > 0 ? getBeta().convertToDouble() : 1;
  return evaluateSteps(operands, 1, getNormCoefficient(), [&](OptimizerPoint &point) {
    double &momentum = point.states[0];
    momentum = alpha * momentum + beta * point.gradient;
    point.value -= rate * (mode == "nesterov" ? point.gradient + alpha * momentum : momentum);
  });
}

} // namespace apc
