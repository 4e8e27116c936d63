// Gradients of ONNX's own attention, as far as it is trained: without caches and lengths of keys; and of SwiGLU.
#include "../Attributes.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include <cmath>

namespace apc {

namespace {

enum StandardOperand : unsigned { Queries, Keys, Values, Mask, PastKey, PastValue, KeyLengths };

/// Attention of [b, heads, s, size], or of [b, s, heads * size] seen so.
class Standard {
public:
  explicit Standard(GradientBuilder &g) : g(g), op(g.getForward()), isFlat(dimsOf(g.operand(Queries)).size() == 3) {}

  bool isTrained() const {
    for (unsigned operand : {PastKey, PastValue, KeyLengths})
      if (isPresent(operand))
        return false;
    return mayMask() && arrivesAtFirstOnly(g);
  }

  void give() {
    HeadValues forward = {apart(Queries, g.operand(Queries)), apart(Keys, g.operand(Keys)),
                          apart(Values, g.operand(Values))};
    forward.scale = floatAttribute(op, "scale", 1 / std::sqrt(static_cast<double>(dimsOf(forward.queries).back())));
    forward.softcap = floatAttribute(op, "softcap", 0);
    if (intAttribute(op, "is_causal", 0) != 0)
      forward.seen = causalMask(g, dimsOf(forward.queries)[2], dimsOf(forward.keys)[2], 0);
    forward.mayHideAll = isPresent(Mask);
    if (isPresent(Mask) && isOfBools()) {
      mlir::Value mask = g.operand(Mask);
      forward.seen = forward.seen ? mlir::Value(g.make<AndOp>({forward.seen, mask})) : mask;
    } else if (isPresent(Mask))
      forward.bias = g.operand(Mask);
    HeadValues gradients = gradientsOfHeads(g, forward, apart(Queries, g.incoming()),
                                            {g.wants(Queries), g.wants(Keys), g.wants(Values), wantsMask()});
    giveHeads(Queries, gradients.queries);
    giveHeads(Keys, gradients.keys);
    giveHeads(Values, gradients.values);
    if (gradients.bias)
      g.give(Mask, gradients.bias);
  }

private:
  bool isPresent(unsigned operand) const { return operand < op->getNumOperands() && !isAbsent(g.operand(operand)); }
  bool isOfBools() const { return mlir::getElementTypeOrSelf(g.operand(Mask)).isInteger(1); }
  bool wantsMask() const { return isPresent(Mask) && g.wants(Mask); }

  /// A mask of bools, or of numbers of the type of the scores, for all keys: a shorter one hides those behind it.
  bool mayMask() const {
    if (!isPresent(Mask))
      return true;
    bool isAdded = mlir::getElementTypeOrSelf(g.operand(Mask)) == mlir::getElementTypeOrSelf(g.operand(Queries));
    int64_t last = dimsOf(g.operand(Mask)).back(), keys = dimsOf(g.operand(Keys))[isFlat ? 1 : 2];
    return (isOfBools() || isAdded) && (last == 1 || last == keys);
  }

  int64_t keyHeads() const { return intAttribute(op, "kv_num_heads", 1); }
  mlir::Value apart(unsigned operand, mlir::Value value) {
    if (!isFlat)
      return value;
    return splitIntoHeads(g, value, intAttribute(op, operand == Queries ? "q_num_heads" : "kv_num_heads", 1),
                          keyHeads());
  }
  void giveHeads(unsigned operand, mlir::Value gradient) {
    if (gradient)
      g.give(operand, isFlat ? joinFromHeads(g, gradient, keyHeads()) : gradient);
  }

  GradientBuilder &g;
  mlir::Operation *op;
  bool isFlat;
};

} // namespace

bool differentiateAttention(GradientBuilder &g) {
  Standard attention(g);
  if (!attention.isTrained())
    return false;
  attention.give();
  return true;
}

bool SwiGLUOp::differentiate(GradientBuilder &g) {
  mlir::NamedAttribute alpha = g.attribute("alpha", getAlphaAttr());
  if (g.wants(0))
    g.give(0, g.make<SwishGradOp>({g.mul(g.incoming(), getB()), getA()}, alpha));
  if (g.wants(1))
    g.give(1, g.mul(g.incoming(), g.make<SwishOp>({getA()}, alpha)));
  return true;
}

} // namespace apc
