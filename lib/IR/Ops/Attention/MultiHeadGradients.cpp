// Gradients of com.microsoft's MultiHeadAttention and GroupQueryAttention, as far as they are trained: without caches.
#include "../Attributes.h"
#include "GroupQuery.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "MultiHead.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include <cmath>

namespace apc {

namespace {

/// A cache of no positions is none.
bool isEmpty(mlir::Value past) { return isAbsent(past) || dimsOf(past)[2] == 0; }

/// Operands of attention with as many key heads as query heads, and the way back to them.
class MultiHead {
public:
  explicit MultiHead(GradientBuilder &g)
      : g(g), op(g.getForward()), packing(packingOf(op)), heads(intAttribute(op, "num_heads", 1)),
        hidden(dimsOf(g.operand(which.query))[2]) {}

  bool isTrained() const {
    bool isApart = packing == Packing::None || packing == Packing::Transposed;
    return isApart && isEmpty(g.operand(which.pastKey)) && isAbsent(g.operand(which.indirection)) &&
           arrivesAtFirstOnly(g);
  }

  /// False for masks of other sizes.
  bool give() {
    HeadValues forward = {headsOf(which.query), headsOf(which.key), headsOf(which.value)};
    forward.scale = scaleOfHeads(op, hidden / heads);
    if (mlir::Value bias = g.operand(which.attentionBias); !isAbsent(bias))
      forward.bias = bias;
    if (!addPadding(g, g.operand(which.paddingMask), forward, floatAttribute(op, "mask_filter_value", -10000)))
      return false;
    if (intAttribute(op, "unidirectional", 0) != 0)
      forward.seen = causalMask(g, dimsOf(forward.queries)[2], dimsOf(forward.keys)[2], 0);
    mlir::Value arriving = splitIntoHeads(g, g.incoming(), heads, heads);
    bool ofBias = g.wants(which.bias);
    HeadValues gradients = gradientsOfHeads(g, forward, arriving,
                                            {ofBias || g.wants(which.query), ofBias || g.wants(which.key),
                                             ofBias || g.wants(which.value), g.wants(which.attentionBias)});
    giveHeads(which.query, gradients.queries);
    giveHeads(which.key, gradients.keys);
    giveHeads(which.value, gradients.values);
    if (gradients.bias)
      g.give(which.attentionBias, g.sumTo(gradients.bias, g.operand(which.attentionBias)));
    if (g.wants(which.bias))
      g.give(which.bias, g.make<ConcatOp>(biasParts, g.attribute("axis", int64_t(0))));
    return true;
  }

private:
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

  void giveHeads(unsigned operand, mlir::Value gradient) {
    if (!gradient)
      return;
    mlir::Value flat = isFlat(operand) ? joinFromHeads(g, gradient, heads) : gradient;
    if (g.wants(which.bias)) {
      int64_t size = dimsOf(gradient)[1] * dimsOf(gradient)[3];
      mlir::Value zeros = g.make<ExpandOp>({g.scalar(0, gradient), g.integers({size})});
      biasParts.push_back(hasBias(operand) ? g.sumTo(flat, zeros) : zeros);
    }
    g.give(operand, flat);
  }

  GradientBuilder &g;
  mlir::Operation *op;
  MultiHeadOperands which;
  Packing packing;
  int64_t heads, hidden;
  llvm::SmallVector<mlir::Value, 3> biasParts;
};

/// Operands of causal attention with fewer key heads, rotated on the way.
class GroupQuery {
public:
  explicit GroupQuery(GradientBuilder &g)
      : g(g), op(llvm::cast<GroupQueryAttentionOp>(g.getForward())), isPacked(isAbsent(g.operand(Key))),
        heads(op.getNumHeads()), keyHeads(op.getKvNumHeads()),
        size(dimsOf(g.operand(Query))[2] / (isPacked ? heads + 2 * keyHeads : heads)) {}

  bool isTrained() {
    for (unsigned operand : {HeadSink, KeyScale, ValueScale, QueryNorm, KeyNorm})
      if (!isAbsent(g.operand(operand)))
        return false;
    auto total = isAbsent(g.operand(TotalLength)) ? std::nullopt : constantInts(g.operand(TotalLength));
    int64_t positions = dimsOf(g.operand(Query))[1];
    bool isWhole = !total || (total->size() == 1 && total->front() == positions);
    bool isSquare = isPacked || dimsOf(g.operand(Key))[1] == positions;
    bool isPlain = op.getCausal() != 0 && op.getSlidingWindowCache() == 0 &&
                   static_cast<int64_t>(op.getSmoothSoftmax().value_or(0)) <= 0;
    return isWhole && isSquare && isPlain && mayRotate() && isEmpty(g.operand(PastKey)) && arrivesAtFirstOnly(g);
  }

  void give() {
    HeadValues forward = {headsOf(Query), headsOf(Key), headsOf(Value)};
    forward.scale = scaleOfHeads(op, size);
    forward.softcap = floatAttribute(op, "softcap", 0);
    int64_t positions = dimsOf(forward.queries)[2];
    forward.seen = causalMask(g, positions, positions, op.getLocalWindowSize());
    if (mlir::Value bias = g.operand(AttentionBias); !isAbsent(bias))
      forward.bias = bias;
    mlir::Value arriving = splitIntoHeads(g, g.incoming(), heads, keyHeads);
    bool ofQuery = g.wants(Query);
    HeadValues gradients = gradientsOfHeads(
        g, forward, arriving,
        {ofQuery, isPacked ? ofQuery : g.wants(Key), isPacked ? ofQuery : g.wants(Value), g.wants(AttentionBias)});
    giveHeads(gradients);
    if (gradients.bias)
      g.give(AttentionBias, gradients.bias);
  }

private:
  bool mayRotate() {
    if (op.getDoRotary() == 0)
      return true;
    mlir::Value ids = g.operand(PositionIds);
    return !isAbsent(g.operand(CosCache)) && !isAbsent(g.operand(SinCache)) &&
           (isAbsent(ids) || dimsOf(ids) == dimsOf(g.operand(Query)).take_front(2));
  }

  void giveHeads(const HeadValues &gradients) {
    llvm::SmallVector<mlir::Value, 3> parts;
    for (auto [operand, gradient] : {std::pair<unsigned, mlir::Value>(Query, gradients.queries),
                                     std::pair<unsigned, mlir::Value>(Key, gradients.keys),
                                     std::pair<unsigned, mlir::Value>(Value, gradients.values)}) {
      if (!gradient)
        continue;
      mlir::Value flat = joinFromHeads(g, gradient, keyHeads);
      if (operand != Value)
        flat = rotated(flat, operand == Query ? heads : keyHeads, /*isBack=*/true);
      parts.push_back(flat);
      if (!isPacked)
        g.give(operand, flat);
    }
    if (isPacked && parts.size() == 3)
      g.give(Query, g.make<ConcatOp>(parts, g.attribute("axis", int64_t(2))));
  }

  mlir::Value headsOf(unsigned operand) {
    int64_t count = operand == Query ? heads : keyHeads;
    mlir::Value flat = g.operand(operand);
    if (isPacked) {
      int64_t begin = size * (operand == Query ? 0 : operand == Key ? heads : heads + keyHeads);
      flat = lastSlice(g, g.operand(Query), begin, begin + count * size);
    }
    return splitIntoHeads(g, operand == Value ? flat : rotated(flat, count, /*isBack=*/false), count, keyHeads);
  }

  /// [b, s, count * size] turned by the angles of the positions; without ids they are 0, 1, ...
  mlir::Value rotated(mlir::Value flat, int64_t count, bool isBack) {
    if (op.getDoRotary() == 0)
      return flat;
    mlir::Value ids = g.operand(PositionIds), sines = g.operand(SinCache);
    int64_t pairs = dimsOf(g.operand(CosCache))[1];
    return g.make<MsRotaryEmbeddingOp>(
        {flat, isAbsent(ids) ? g.integers({0}) : ids, g.operand(CosCache), isBack ? g.neg(sines) : sines},
        {g.attribute("num_heads", count), g.attribute("interleaved", static_cast<int64_t>(op.getRotaryInterleaved())),
         g.attribute("rotary_embedding_dim", 2 * pairs == size ? 0 : 2 * pairs)});
  }

  GradientBuilder &g;
  GroupQueryAttentionOp op;
  bool isPacked;
  int64_t heads, keyHeads, size;
};

} // namespace

bool differentiateMultiHead(GradientBuilder &g) {
  if (dimsOf(g.operand(0)).size() != 3)
    return false;
  MultiHead attention(g);
  return attention.isTrained() && attention.give();
}

bool GroupQueryAttentionOp::differentiate(GradientBuilder &g) {
  GroupQuery attention(g);
  if (!attention.isTrained())
    return false;
  attention.give();
  return true;
}

} // namespace apc
