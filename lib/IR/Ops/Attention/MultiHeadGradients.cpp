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
      : g(g), op(g.getForward()), packing(packingOf(op)), heads(intAttribute(op, "num_heads", 1)), hidden(hiddenSize()),
        past(isAbsent(g.operand(which.pastKey)) ? 0 : dimsOf(g.operand(which.pastKey))[2]) {}

  bool isTrained() const {
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
    giveHeads(Queries, gradients.queries);
    giveCached(Keys, which.pastKey, sumOfBoth(g, gradients.keys, g.incoming(1)));
    giveCached(Values, which.pastValue, sumOfBoth(g, gradients.values, g.incoming(2)));
    givePacked();
    if (gradients.bias)
      g.give(which.attentionBias, ofBias(gradients.bias));
    if (g.wants(which.bias))
      g.give(which.bias, biasGradient());
    return true;
  }

private:
  enum Role { Queries, Keys, Values };

  /// The gradients through the result of the heads and through their scores; false for masks of other sizes.
  bool takeResults(HeadValues &gradients) {
    HeadValues forward = {headsOf(Queries), behindPast(g, cacheOf(which.pastKey), headsOf(Keys)),
                          behindPast(g, cacheOf(which.pastValue), headsOf(Values))};
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
    auto wants = [&](Role role) { return ofBias || g.wants(operandOf(role)); };
    const WantedHeads wanted{wants(Queries), wants(Keys) || g.wants(which.pastKey),
                             wants(Values) || g.wants(which.pastValue), g.wants(which.attentionBias)};
    if (g.incoming())
      gradients = gradientsOfHeads(g, forward, splitIntoHeads(g, g.incoming(), heads, heads), wanted);
    if (mlir::Value scores = g.incoming(3))
      gradients = sumOfBoth(g, gradients, gradientsOfScores(g, forward, ScoreStage::Biased, scores, wanted));
    return true;
  }

  /// A cache of no positions is none.
  mlir::Value cacheOf(unsigned operand) { return past > 0 ? g.operand(operand) : g.absent(); }

  int64_t hiddenSize() const {
    llvm::ArrayRef<int64_t> dims = dimsOf(g.operand(which.query));
    return packing == Packing::Interleaved ? dims[2] * dims[4] : packing == Packing::Blocks ? dims[2] / 3 : dims[2];
  }
  bool isInOneOperand() const { return packing == Packing::Interleaved || packing == Packing::Blocks; }
  bool isPacked(Role role) const {
    return isInOneOperand() || (packing == Packing::InterleavedKeys && role != Queries);
  }
  unsigned operandOf(Role role) const {
    if (isInOneOperand() || role == Queries)
      return which.query;
    return role == Keys || packing == Packing::InterleavedKeys ? which.key : which.value;
  }
  /// Keys and values that come head by head.
  bool isApart(Role role) const { return packing == Packing::Transposed && role != Queries; }
  /// Heads that come apart have the bias in them already.
  bool hasBias(Role role) const { return !isAbsent(g.operand(which.bias)) && !isApart(role); }

  /// [b, positions, heads * size], out of the operand that others are packed in.
  mlir::Value flatOf(Role role) {
    mlir::Value value = g.operand(operandOf(role));
    if (!isPacked(role))
      return value;
    if (packing == Packing::Blocks)
      return lastSlice(g, value, role * hidden, (role + 1) * hidden);
    const int64_t part = packing == Packing::InterleavedKeys ? role - Keys : role;
    llvm::ArrayRef<int64_t> dims = dimsOf(value);
    mlir::Value own =
        g.make<SliceOp>({value, g.integers({part}), g.integers({part + 1}), g.integers({partsDim}), g.absent()});
    return shaped(g, own, {dims[0], dims[1], hidden});
  }
  mlir::Value headsOf(Role role) {
    if (isApart(role))
      return g.operand(operandOf(role));
    mlir::Value flat = flatOf(role);
    if (hasBias(role))
      flat = g.add(flat, lastSlice(g, g.operand(which.bias), role * hidden, role * hidden + dimsOf(flat)[2]));
    return splitIntoHeads(g, flat, heads, heads);
  }

  /// From the gradient of the heads of a role; those of its bias are summed up on the way.
  void giveHeads(Role role, mlir::Value gradient) {
    if (!gradient)
      return;
    mlir::Value flat = isApart(role) ? gradient : joinFromHeads(g, gradient, heads);
    if (g.wants(which.bias) && hasBias(role))
      biasParts[role] = g.sumTo(flat, zerosOf({dimsOf(gradient)[1] * dimsOf(gradient)[3]}));
    if (isPacked(role))
      packed[role] = flat;
    else
      g.give(operandOf(role), flat);
  }
  void giveCached(Role role, unsigned cache, mlir::Value gradient) {
    if (gradient)
      giveHeads(role, givePast(g, cache, past, gradient));
  }

  /// Gives the operand that roles are packed in; those through which nothing arrives are zeros.
  void givePacked() {
    const unsigned operand = operandOf(Values);
    if (!isPacked(Values) || !g.wants(operand) || llvm::none_of(packed, [](mlir::Value part) { return !!part; }))
      return;
    llvm::SmallVector<int64_t, 5> dims(dimsOf(g.operand(operand)));
    const bool isBlocks = packing == Packing::Blocks;
    if (!isBlocks)
      dims[partsDim] = 1;
    llvm::SmallVector<mlir::Value, 3> parts;
    for (mlir::Value part : llvm::ArrayRef(packed).drop_front(isInOneOperand() ? 0 : Keys)) {
      if (!part)
        part = zerosOf({dims[0], dims[1], hidden});
      parts.push_back(isBlocks ? part : shaped(g, part, dims));
    }
    g.give(operand, g.make<ConcatOp>(parts, g.attribute("axis", isBlocks ? int64_t(2) : partsDim)));
  }

  /// From the gradient of all that is added to the scores.
  mlir::Value ofBias(mlir::Value gradient) {
    mlir::Value bias = g.operand(which.attentionBias), own = shortMask(g, gradient, bias);
    return g.sumTo(own, bias);
  }
  mlir::Value zerosOf(llvm::ArrayRef<int64_t> dims) {
    return g.make<ExpandOp>({g.scalar(0, g.operand(which.query)), g.integers(dims)});
  }
  /// Of queries, keys and values; parts through which nothing arrives are zeros.
  mlir::Value biasGradient() {
    int64_t ofValues = dimsOf(g.operand(which.bias))[0] - 2 * hidden;
    for (auto [part, size] : llvm::zip_equal(biasParts, std::array{hidden, hidden, ofValues}))
      if (!part)
        part = zerosOf({size});
    return g.make<ConcatOp>(biasParts, g.attribute("axis", int64_t(0)));
  }

  GradientBuilder &g;
  mlir::Operation *op;
  MultiHeadOperands which;
  Packing packing;
  int64_t heads, hidden, past;                  ///< positions of the cache
  std::array<mlir::Value, 3> biasParts, packed; ///< by role
  static constexpr int64_t partsDim = 3;        ///< [b, positions, heads, parts, size]
};

} // namespace

bool differentiateMultiHead(GradientBuilder &g) {
  MultiHead attention(g);
  return attention.isTrained() && attention.give();
}

} // namespace apc
