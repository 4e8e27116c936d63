// Gradients through the scores that an attention returns beside its result.
#include "HeadGradients.h"

#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Normalization/Normalization.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <limits>

namespace apc {

using mlir::Value;

namespace {

/// The scores of heads, whose queries stand apart by the key head that they share: [b, key heads, group, s, d].
class Scores {
public:
  Scores(GradientBuilder &g, const HeadValues &heads)
      : g(g), heads(heads),
        dims{dimsOf(heads.queries)[0], dimsOf(heads.queries)[1], dimsOf(heads.queries)[2], dimsOf(heads.keys)[2]},
        queries(byKeyHead(heads.queries)) {}

  HeadValues gradients(ScoreStage stage, Value arriving, WantedHeads wanted) {
    HeadValues gradients;
    if (stage == ScoreStage::Softmax)
      arriving = throughSoftmax(arriving, wanted.sink ? &gradients.sink : nullptr);
    if (stage >= ScoreStage::Biased && heads.seen)
      arriving = g.where(heads.seen, arriving);
    if (stage >= ScoreStage::Biased && wanted.bias && heads.bias)
      gradients.bias = g.sumTo(arriving, heads.bias);
    if (stage >= ScoreStage::Capped && heads.softcap > 0)
      arriving = throughCap(arriving);
    Value ofProducts = byKeyHead(g.mul(arriving, g.scalar(heads.scale, arriving)));
    if (wanted.queries)
      gradients.queries = g.reshapeTo(g.einsum("bkgst,bktd->bkgsd", {ofProducts, heads.keys}), heads.queries);
    if (wanted.keys)
      gradients.keys = g.einsum("bkgst,bkgsd->bktd", {ofProducts, queries});
    return gradients;
  }

private:
  /// [b, heads, s, n] as [b, key heads, group, s, n].
  Value byKeyHead(Value value) {
    llvm::ArrayRef<int64_t> own = dimsOf(value);
    const int64_t keyHeads = dimsOf(heads.keys)[1];
    return shaped(g, value, {own[0], keyHeads, own[1] / keyHeads, own[2], own[3]});
  }
  Value scaled() {
    Value products = shaped(g, g.einsum("bkgsd,bktd->bkgst", {queries, heads.keys}), dims);
    return g.mul(products, g.scalar(heads.scale, products));
  }
  /// tanh(scores / cap).
  Value bounded() {
    Value own = scaled();
    return g.make<TanhOp>({g.div(own, g.scalar(heads.softcap, own))});
  }
  Value capped() {
    if (heads.softcap <= 0)
      return scaled();
    Value own = bounded();
    return g.mul(own, g.scalar(heads.softcap, own));
  }
  Value throughCap(Value arriving) {
    Value own = bounded();
    return g.mul(arriving, g.sub(g.scalar(1, own), g.mul(own, own)));
  }
  /// The scores [b, heads, s, t] with a sink [1, heads, 1, 1] behind those of each query.
  Value besideAll(Value scores, Value sink) {
    Value column = g.make<ExpandOp>({sink, g.integers({dims[0], dims[1], dims[2], 1})});
    return g.make<ConcatOp>({scores, column}, g.attribute("axis", int64_t(-1)));
  }
  /// Keys that are hidden have no weight; where all are, so that their weights are equal, nothing comes back. A sink
  /// has a share of the weights that is not returned.
  Value throughSoftmax(Value arriving, Value *ofSink) {
    Value own = capped();
    if (heads.bias)
      own = g.add(own, heads.bias);
    Value lowest = g.scalar(std::numeric_limits<float>::lowest(), own);
    if (heads.seen)
      own = g.make<WhereOp>({heads.seen, own, lowest});
    own = g.make<MaxOp>({own, lowest}); // no minus infinity, which would leave a row without a largest score
    const int64_t keys = dims.back();
    Value sink = heads.sink ? g.castTo(shaped(g, heads.sink, {1, dims[1], 1, 1}), own) : Value();
    Value all = sink ? besideAll(own, sink) : own;
    Value shares = g.make<SoftmaxOp>({all}, g.attribute("axis", int64_t(-1)));
    Value weights = sink ? lastSlice(g, shares, 0, keys) : shares;
    Value along =
        g.make<ReduceSumOp>({g.mul(arriving, weights), g.integers({-1})}, g.attribute("keepdims", int64_t(1)));
    if (sink && ofSink)
      *ofSink =
          g.castTo(g.reshapeTo(g.sumTo(g.neg(g.mul(lastSlice(g, shares, keys, keys + 1), along)), sink), heads.sink),
                   heads.sink);
    Value isSeen = g.make<GreaterOp>({own, lowest});
    return g.where(isSeen, g.mul(weights, g.sub(arriving, along)));
  }

  GradientBuilder &g;
  const HeadValues &heads;
  llvm::SmallVector<int64_t, 4> dims; ///< b, heads, s, t
  Value queries;
};

} // namespace

HeadValues gradientsOfScores(GradientBuilder &g, const HeadValues &heads, ScoreStage stage, Value arriving,
                             WantedHeads wanted) {
  return Scores(g, heads).gradients(stage, arriving, wanted);
}

HeadValues sumOfBoth(GradientBuilder &g, HeadValues a, const HeadValues &b) {
  a.queries = sumOfBoth(g, a.queries, b.queries);
  a.keys = sumOfBoth(g, a.keys, b.keys);
  a.values = sumOfBoth(g, a.values, b.values);
  a.bias = sumOfBoth(g, a.bias, b.bias);
  a.sink = sumOfBoth(g, a.sink, b.sink);
  return a;
}

} // namespace apc
