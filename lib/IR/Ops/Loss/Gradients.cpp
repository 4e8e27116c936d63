// Gradients of losses.
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

template <typename Op>
mlir::Value lossGradient(GradientBuilder &g) {
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes;
  for (llvm::StringRef name : {"ignore_index", "reduction"})
    if (mlir::Attribute value = g.getForward()->getAttr(name))
      attributes.push_back(g.attribute(name, value));
  return g.make<Op>({g.incoming(), g.operand(0), g.operand(1), g.operand(2)}, attributes);
}

} // namespace

void differentiateCrossEntropy(GradientBuilder &g) {
  mlir::Value gradient = g.incoming(0) ? lossGradient<CrossEntropyGradOp>(g) : mlir::Value();
  if (mlir::Value ofLogProb = g.incoming(1)) {
    mlir::Value more = g.make<LogSoftmaxGradOp>({ofLogProb, g.result(1)}, g.attribute("axis", int64_t(1)));
    gradient = gradient ? g.add(gradient, more) : more;
  }
  g.give(0, gradient);
}

void differentiateLogLikelihood(GradientBuilder &g) { g.give(0, lossGradient<NegativeLogLikelihoodGradOp>(g)); }

} // namespace apc
