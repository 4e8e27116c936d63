// Steps of PyTorch's optimizers, one parameter at a time.
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"

#include <cmath>

namespace apc {

namespace {

/// Numbers that every update reads beside its tensors.
struct StepNumbers {
  double rate, count, scale;
};

/// The last three operands; none when one that is given is not known.
std::optional<StepNumbers> readNumbers(Operands operands, bool hasScale) {
  Operands numbers = operands.take_back(3);
  if (!numbers[0] || !numbers[1] || (hasScale && !numbers[2]))
    return std::nullopt;
  return StepNumbers{getElement(*numbers[0], 0).asReal(), getElement(*numbers[1], 0).asReal(),
                     hasScale ? getElement(*numbers[2], 0).asReal() : 1};
}

/// `change` of every element: the tensors at it, the gradient scaled; the value that it changes is the master where
/// there is one. Results are the tensors without the gradient; without a master the last is absent. A scale of 0 says
/// that the gradients are not finite: nothing changes.
Evaluated evaluateUpdate(Operands tensors, bool hasMaster, double scale,
                         llvm::function_ref<void(llvm::MutableArrayRef<double>)> change) {
  constexpr size_t gradient = 1;
  size_t master = tensors.size() - 1, count = hasMaster ? tensors.size() : master;
  if (llvm::is_contained(tensors.take_front(count), nullptr))
    return std::nullopt;
  llvm::SmallVector<Tensor, 1> results;
  for (auto [index, tensor] : llvm::enumerate(tensors))
    if (index != gradient)
      results.push_back(index < count ? *tensor : Tensor());
  if (scale == 0)
    return results;
  llvm::SmallVector<double, 5> point(count);
  for (size_t at = 0; at < tensors.front()->floats.size(); ++at) {
    for (auto [value, tensor] : llvm::zip(point, tensors))
      value = tensor->floats[at];
    point[0] = point[hasMaster ? master : 0];
    point[gradient] *= scale;
    change(point);
    if (hasMaster)
      point[master] = point[0];
    for (size_t index = 0; index < count; ++index)
      if (index != gradient)
        results[index - (index > gradient ? 1 : 0)].floats[at] = point[index];
  }
  return results;
}

/// Kingma and Ba 2015; decoupled: Loshchilov and Hutter 2019; by the greatest mean of squares: Reddi et al. 2018, with
/// corrections behind it as PyTorch has them.
template <typename Op>
Evaluated evaluateAdam(Op op, Operands operands) {
  auto numbers = readNumbers(operands, !isAbsent(op.getScale()));
  if (!numbers)
    return std::nullopt;
  double decay = op.getWeightDecay().convertToDouble(), epsilon = op.getEpsilon().convertToDouble();
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  double bias1 = 1 - std::pow(beta1, numbers->count), bias2 = 1 - std::pow(beta2, numbers->count);
  return evaluateUpdate(operands.drop_back(3), !isAbsent(op.getMaster()), numbers->scale,
                        [&](llvm::MutableArrayRef<double> point) {
                          double gradient = point[1] + (op.getDecoupled() ? 0 : decay * point[0]);
                          double &first = point[2], &second = point[3];
                          if (op.getDecoupled())
                            point[0] *= 1 - numbers->rate * decay;
                          first = beta1 * first + (1 - beta1) * gradient;
                          second = beta2 * second + (1 - beta2) * gradient * gradient;
                          double squares = second;
                          if constexpr (std::is_same_v<Op, AmsgradUpdateOp>)
                            squares = point[4] = greatest(point[4], second);
                          point[0] -= numbers->rate * (first / bias1) / (std::sqrt(squares / bias2) + epsilon);
                        });
}

} // namespace

mlir::LogicalResult inferUpdate(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types) {
  for (unsigned operand : llvm::cast<OperatorInterface>(op).getOverwritten())
    types.push_back(op->getOperand(operand).getType());
  return mlir::success();
}

Evaluated SgdUpdateOp::evaluate(Operands operands) {
  auto numbers = readNumbers(operands, !isAbsent(getScale()));
  if (!numbers)
    return std::nullopt;
  double decay = getWeightDecay().convertToDouble();
  return evaluateUpdate(
      operands.take_front(3), !isAbsent(getMaster()), numbers->scale,
      [&](llvm::MutableArrayRef<double> point) { point[0] -= numbers->rate * (point[1] + decay * point[0]); });
}

// Sutskever et al. 2013, with the rate behind the momentum as PyTorch has it.
Evaluated MomentumUpdateOp::evaluate(Operands operands) {
  auto numbers = readNumbers(operands, !isAbsent(getScale()));
  if (!numbers)
    return std::nullopt;
  double weightDecay = getWeightDecay().convertToDouble(), decay = getDecay().convertToDouble();
  double taken = numbers->count > 1 ? 1 - getDampening().convertToDouble() : 1;
  return evaluateUpdate(operands.take_front(4), !isAbsent(getMaster()), numbers->scale,
                        [&](llvm::MutableArrayRef<double> point) {
                          double gradient = point[1] + weightDecay * point[0];
                          double &momentum = point[2];
                          momentum = (numbers->count > 1 ? decay * momentum : 0) + taken * gradient;
                          point[0] -= numbers->rate * (getNesterov() ? gradient + decay * momentum : momentum);
                        });
}

Evaluated AdamUpdateOp::evaluate(Operands operands) { return evaluateAdam(*this, operands); }
Evaluated AmsgradUpdateOp::evaluate(Operands operands) { return evaluateAdam(*this, operands); }

} // namespace apc
