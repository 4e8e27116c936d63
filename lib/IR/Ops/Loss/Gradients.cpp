// Gradients of losses.
#include "../ForwardAttributes.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

/// Attributes that losses and their gradients share.
llvm::SmallVector<mlir::NamedAttribute, 8> lossAttributes(GradientBuilder &g) {
  return forwardAttributes(g, {"ignore_index", "reduction", "axis"});
}

} // namespace

// The scores reach the loss by way of their logarithmic sum, too; that way counts here.
void differentiateCrossEntropy(GradientBuilder &g) {
  g.give(0, g.make<CrossEntropyGradOp>({g.incoming(), g.operand(0), g.operand(1), g.operand(2), g.operand(3)},
                                       lossAttributes(g)));
}

void differentiateSoftmaxCrossEntropy(GradientBuilder &g) {
  mlir::Value gradient;
  if (mlir::Value ofLoss = g.incoming(0)) {
    mlir::Value logSum = g.make<LogSumExpOp>({g.operand(0), g.integers({1})});
    gradient =
        g.make<CrossEntropyGradOp>({ofLoss, g.operand(0), logSum, g.operand(1), g.operand(2)}, lossAttributes(g));
  }
  if (mlir::Value ofLogProb = g.incoming(1)) {
    mlir::Value more = g.make<LogSoftmaxGradOp>({ofLogProb, g.result(1)}, g.attribute("axis", int64_t(1)));
    gradient = gradient ? g.add(gradient, more) : more;
  }
  g.give(0, gradient);
}

void differentiateLogLikelihood(GradientBuilder &g) {
  g.give(0, g.make<NegativeLogLikelihoodGradOp>({g.incoming(), g.operand(0), g.operand(1), g.operand(2)},
                                                lossAttributes(g)));
}

} // namespace apc
