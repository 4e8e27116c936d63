// Gradients of com.microsoft's MultiHeadAttention, behind caches too that are not one buffer.
#include "../Attributes.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "MultiHead.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include <array>

namespace apc {

namespace {

/// Operands of attention with as many key heads as query heads, and the way back to them.
class MultiHead {
public:
  explicit MultiHead(GradientBuilder &g)
      : g(g), op(g.getForward()), packing(packingOf(op)), heads(intAttribute(op, "num_heads", 1)),
        hidden(dimsOf(g.operand(which.query))[2]),
        past(isAbsent(g.operand(which.pastKey)) ? 0 : dimsOf(g.operand(which.pastKey))[2]) {}

  bool isTrained() const {
    if (packing != Packing::None && packing != Packing::Transposed)
      return g.refuse("queries, keys and values are packed in one operand, and operands of their own are accepted");
    if (!isAbsent(g.operand(which.indirection)))
      return g.refuse("operand 'cache_indirection' is given, and none is accepted");
    if (past > 0 && !isAbsent(g.operand(which.pastLength)))
      return g.refuse("operand 'past_sequence_length' is given, and a cache that ends with the past is accepted");
    return true;
  }

  /// False for masks of other sizes.
  bool give() {
    HeadValues gradients;
    if ((g.incoming() || g.incoming(3)) && !takeResults(gradients))
      return g.refuse("operand 'key_padding_mask' is not of all queries and keys, and lengths or such tables are "
                      "accepted");
    giveHeads(which.query, gradients.queries);
    giveCached(which.key, which.pastKey, sumOfBoth(g, gradients.keys, g.incoming(1)));
    giveCached(which.value, which.pastValue, sumOfBoth(g, gradients.values, g.incoming(2)));
    if (gradients.bias)
      g.give(which.attentionBias, ofBias(gradients.bias));
    if (g.wants(which.bias))
      g.give(which.bias, biasGradient());
    return true;
  }

private:
  /// The gradients through the result of the heads and through their scores; false for masks of other sizes.
  bool takeResults(HeadValues &gradients) {
    HeadValues forward = {headsOf(which.query), behindPast(g, cacheOf(which.pastKey), headsOf(which.key)),
                          behindPast(g, cacheOf(which.pastValue), headsOf(which.value))};
    forward.scale = scaleOfHeads(op, hidden / heads);
    if (mlir::Value bias = g.operand(which.attentionBias); !isAbsent(bias)) {
      forward.bias = wholeMask(g, bias, dimsOf(forward.keys)[2]);
      forward.mayHideAll = true; // minus infinity at all keys
    }
    if (!addPadding(g, g.operand(which.paddingMask), forward, floatAttribute(op, "mask_filter_value", -10000)))
      return false;
    if (intAttribute(op, "unidirectional", 0) != 0)
      forward.seen = causalMask(g, dimsOf(forward.queries)[2], dimsOf(forward.keys)[2], 0, {past});
    bool ofBias = g.wants(which.bias);
    const WantedHeads wanted{ofBias || g.wants(which.query), ofBias || g.wants(which.key) || g.wants(which.pastKey),
                             ofBias || g.wants(which.value) || g.wants(which.pastValue), g.wants(which.attentionBias)};
    if (g.incoming())
      gradients = gradientsOfHeads(g, forward, splitIntoHeads(g, g.incoming(), heads, heads), wanted);
    if (mlir::Value scores = g.incoming(3))
      gradients = sumOfBoth(g, gradients, gradientsOfScores(g, forward, ScoreStage::Biased, scores, wanted));
    return true;
  }

  /// A cache of no positions is none.
  mlir::Value cacheOf(unsigned operand) { return past > 0 ? g.operand(operand) : g.absent(); }
  bool isFlat(unsigned operand) const { return dimsOf(g.operand(operand)).size() == 3; }
  /// Where the bias of queries, keys and values begins; that of heads that come apart is in them already.
  bool hasBias(unsigned operand) const { return !isAbsent(g.operand(which.bias)) && isFlat(operand); }

  mlir::Value headsOf(unsigned operand) {
    mlir::Value value = g.operand(operand);
    if (!isFlat(operand))
      return value;
    if (hasBias(operand)) {
      int64_t begin = operand == which.query ? 0 : operand == which.key ? hidden : 2 * hidden;
      value = g.add(value, lastSlice(g, g.operand(which.bias), begin, begin + dimsOf(value)[2]));
    }
    return splitIntoHeads(g, value, heads, heads);
  }

  /// From the gradient of an operand's heads; those of its bias are summed up on the way.
  void giveHeads(unsigned operand, mlir::Value gradient) {
    if (!gradient)
      return;
    mlir::Value flat = isFlat(operand) ? joinFromHeads(g, gradient, heads) : gradient;
    if (g.wants(which.bias) && hasBias(operand))
      biasParts[operand == which.query ? 0
                : operand == which.key ? 1
                                       : 2] = g.sumTo(flat, zerosOf(dimsOf(gradient)[1] * dimsOf(gradient)[3]));
    g.give(operand, flat);
  }
  void giveCached(unsigned operand, unsigned cache, mlir::Value gradient) {
    if (gradient)
      giveHeads(operand, givePast(g, cache, past, gradient));
  }

  /// From the gradient of all that is added to the scores.
  mlir::Value ofBias(mlir::Value gradient) {
    mlir::Value bias = g.operand(which.attentionBias), own = shortMask(g, gradient, bias);
    return g.sumTo(own, bias);
  }
  mlir::Value zerosOf(int64_t size) {
    mlir::Value bias = g.operand(which.bias);
    return g.make<ExpandOp>({g.scalar(0, bias), g.integers({size})});
  }
  /// Of queries, keys and values; parts through which nothing arrives are zeros.
  mlir::Value biasGradient() {
    int64_t ofValues = dimsOf(g.operand(which.bias))[0] - 2 * hidden;
    for (auto [part, size] : llvm::zip_equal(biasParts, std::array{hidden, hidden, ofValues}))
      if (!part)
        part = zerosOf(size);
    return g.make<ConcatOp>(biasParts, g.attribute("axis", int64_t(0)));
  }

  GradientBuilder &g;
  mlir::Operation *op;
  MultiHeadOperands which;
  Packing packing;
  int64_t heads, hidden, past; ///< positions of the cache
  std::array<mlir::Value, 3> biasParts;
};

} // namespace

bool differentiateMultiHead(GradientBuilder &g) {
  if (dimsOf(g.operand(0)).size() != 3)
    return g.refuse("queries, keys and values are packed in one operand, and operands of their own are accepted");
  MultiHead attention(g);
  return attention.isTrained() && attention.give();
}

} // namespace apc
