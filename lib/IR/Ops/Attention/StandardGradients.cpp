// Gradients of ONNX's own attention, behind caches and under lengths of keys too, and of SwiGLU.
#include "../Attributes.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "StandardHeads.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include <cmath>

namespace apc {

namespace {

/// Attention of [b, heads, s, size], or of [b, s, heads * size] seen so, behind a cache of keys and values.
class StandardGradients {
public:
  explicit StandardGradients(GradientBuilder &g)
      : g(g), op(g.getForward()), isFlat(dimsOf(g.operand(Standard::Queries)).size() == 3),
        past(isPresent(Standard::PastKey) ? dimsOf(g.operand(Standard::PastKey))[2] : 0) {}

  bool isTrained() const {
    if (arrivingAt(3) && !returnedStage(op))
      return g.refuse("attribute 'qk_matmul_output_mode' is none of 0 to 3, which are accepted");
    return true;
  }

  void give() {
    HeadValues gradients;
    if (g.incoming() || arrivingAt(3))
      gradients = ofResults();
    giveHeads(Standard::Queries, gradients.queries);
    giveCached(Standard::Keys, Standard::PastKey, sumOfBoth(g, gradients.keys, arrivingAt(1)));
    giveCached(Standard::Values, Standard::PastValue, sumOfBoth(g, gradients.values, arrivingAt(2)));
    if (gradients.bias)
      g.give(Standard::Mask,
             g.castTo(shortMask(g, gradients.bias, g.operand(Standard::Mask)), g.operand(Standard::Mask)));
  }

private:
  bool isPresent(unsigned operand) const { return operand < op->getNumOperands() && !isAbsent(g.operand(operand)); }
  bool isOfBools() const { return mlir::getElementTypeOrSelf(g.operand(Standard::Mask)).isInteger(1); }
  bool wants(unsigned operand) const { return isPresent(operand) && g.wants(operand); }
  mlir::Value arrivingAt(unsigned result) const {
    return result < op->getNumResults() ? g.incoming(result) : mlir::Value();
  }

  /// Through the result of the heads, and through their scores.
  HeadValues ofResults() {
    HeadValues forward = {apart(Standard::Queries, g.operand(Standard::Queries)),
                          cached(Standard::Keys, Standard::PastKey), cached(Standard::Values, Standard::PastValue)};
    forward.scale = floatAttribute(op, "scale", 1 / std::sqrt(static_cast<double>(dimsOf(forward.queries).back())));
    forward.softcap = floatAttribute(op, "softcap", 0);
    forward.seen = seen(dimsOf(forward.queries)[2], dimsOf(forward.keys)[2]);
    forward.mayHideAll = isPresent(Standard::Mask) || isPresent(Standard::KeyLengths);
    if (isPresent(Standard::Mask)) {
      mlir::Value mask = wholeMask(g, g.operand(Standard::Mask), dimsOf(forward.keys)[2]);
      if (isOfBools())
        forward.seen = bothSee(g, forward.seen, mask);
      else
        forward.bias = g.castTo(mask, forward.queries);
    }
    const WantedHeads wanted{g.wants(Standard::Queries), g.wants(Standard::Keys) || wants(Standard::PastKey),
                             g.wants(Standard::Values) || wants(Standard::PastValue), wants(Standard::Mask)};
    HeadValues gradients;
    if (g.incoming())
      gradients = gradientsOfHeads(g, forward, apart(Standard::Queries, g.incoming()), wanted);
    if (mlir::Value scores = arrivingAt(3))
      gradients = sumOfBoth(g, gradients, gradientsOfScores(g, forward, *returnedStage(op), scores, wanted));
    return gradients;
  }

  /// By the place of a query and by the lengths of batch elements. Without a cache the last query stands at the last
  /// key that counts.
  mlir::Value seen(int64_t queries, int64_t keys) {
    mlir::Value seen, lengths;
    if (isPresent(Standard::KeyLengths)) {
      lengths = g.operand(Standard::KeyLengths);
      seen = keysBefore(g, lengths, keys);
    }
    if (intAttribute(op, "is_causal", 0) == 0)
      return seen;
    QueryPlaces places{past};
    if (lengths && !isPresent(Standard::PastKey))
      places.begins = g.sub(lengths, g.integers({queries}));
    return bothSee(g, seen, causalMask(g, queries, keys, 0, places));
  }

  int64_t keyHeads() const { return intAttribute(op, "kv_num_heads", 1); }
  mlir::Value apart(unsigned operand, mlir::Value value) {
    if (!isFlat)
      return value;
    return splitIntoHeads(g, value, intAttribute(op, operand == Standard::Queries ? "q_num_heads" : "kv_num_heads", 1),
                          keyHeads());
  }
  mlir::Value cached(unsigned operand, unsigned cache) {
    mlir::Value current = apart(operand, g.operand(operand));
    return past > 0 ? behindPast(g, g.operand(cache), current) : current;
  }
  void giveHeads(unsigned operand, mlir::Value gradient) {
    if (gradient && g.wants(operand))
      g.give(operand, isFlat ? joinFromHeads(g, gradient, keyHeads()) : gradient);
  }
  void giveCached(unsigned operand, unsigned cache, mlir::Value gradient) {
    if (gradient)
      giveHeads(operand, givePast(g, cache, past, gradient));
  }

  GradientBuilder &g;
  mlir::Operation *op;
  bool isFlat;
  int64_t past; ///< positions of the cache
};

} // namespace

bool differentiateAttention(GradientBuilder &g) {
  StandardGradients attention(g);
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
