// Models that hold their backward pass: which of their outputs are gradients of parameters, or their new values.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// An output of a model that belongs to one of its parameters.
struct HeldOutput {
  unsigned index = 0;    ///< among the outputs
  std::string parameter; ///< by its name
  bool isState = false;  ///< the loss does not depend on it: it is a state of the optimizer
};

/// Why outputs are taken for what they are. Names: each is called after its parameter; Order: they stand in the order
/// of the parameters.
enum class HeldRule : uint8_t { Names, Order };

/// The backward pass that a model holds.
struct HeldBackward {
  unsigned loss = 0; ///< the output that gradients are of
  HeldRule rule = HeldRule::Names;
  std::vector<HeldOutput> gradients; ///< by output
  std::vector<HeldOutput> updates;   ///< new values of parameters and states, by output; an optimizer is held, too

  bool updatesWeights() const { return !updates.empty(); }
};

/// The backward pass that `main` holds, of the output `loss` (empty: of its only output of one float that is no
/// gradient). None: `loss` is made of an output ("mse:y"), or no output is a gradient.
///
/// An output is the gradient of a floating parameter when it has the parameter's dims, is made from values that the
/// loss is made from, too, is not itself one of these, and
///
///   its name is the parameter's and a word for gradients    grad.W, W.grad, W_grad, dW, W@GRAD, gradients/W
///   or all outputs beside the loss, two or more, have in order the dims of the floating parameters that the loss is
///   made from
///
/// It is the parameter's new value when it has its type, is made from it, and has a word for new ones: new.W, W_new,
/// W.updated, W.next. Constants of a parameter's dims and name count as gradients where other outputs are. `main` may
/// hold composites, or their parts.
std::optional<HeldBackward> findHeldBackward(mlir::func::FuncOp main, llvm::StringRef loss);

/// "outputs are gradients of 292 parameters, by their names, as 'grad.W' of 'W'".
std::string describeHeld(mlir::func::FuncOp main, const HeldBackward &held);

/// FLOPs of the ops of `main` that the output `loss` does not need: those of a backward pass that it holds.
double heldBackwardFlops(mlir::func::FuncOp main, unsigned loss);

} // namespace apc
