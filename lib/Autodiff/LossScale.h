// The scale of the loss in f16, from step to step.
#pragma once

#include "apc/Autodiff/TrainingStep.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace apc {

/// Scalar ops of one step, with the states of the scale: parameters that begin at zero.
///
///   scale    65536 * 2^exponent, or the number that the user gives
///   count    step - skipped, the number of the step without those that were skipped
///   finite   squares <= largest f32: false for infinities and NaN
///   next     exponent + 1 after 2000 good steps, exponent - 1 where not finite; skipped + 1 where not finite
class LossScale {
public:
  /// Ops are created at the end of `main`, before its terminator.
  LossScale(mlir::func::FuncOp main, LossScaling scaling);

  /// The gradient of a loss of this type that is multiplied by the scale.
  mlir::Value seed(mlir::Type lossType);
  mlir::Value getScale() const { return scale; }
  /// The number of the step, as optimizers count.
  mlir::Value countOf(mlir::Value step);
  /// `ratio` / scale where the sum of the squares of all gradients is finite, otherwise 0.
  mlir::Value unscaled(mlir::Value squares, mlir::Value ratio);

  struct NextState {
    std::string name;
    mlir::Value value;
  };
  /// The new values of the states; `unscaled` comes first.
  std::vector<NextState> nextStates();

private:
  template <typename Op>
  mlir::Value make(llvm::StringRef name, mlir::Type type, mlir::ValueRange operands);
  mlir::Value number(double value);
  mlir::Value addState(llvm::StringRef name, mlir::Type element);

  mlir::func::FuncOp main;
  mlir::OpBuilder builder;
  mlir::Type real, whole, truth; ///< scalars of f32, i64, i1
  mlir::Value scale, exponent, goodSteps, skipped, finite;
};

} // namespace apc
