// Attention of heads built again from softmax attention, whose gradients are ops.
#include "HeadGradients.h"

#include "Kernels.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace apc {

using mlir::Value;

double scaleOfHeads(mlir::Operation *op, int64_t headSize) {
  double given = floatAttribute(op, "scale", 0);
  return given == 0 ? 1 / std::sqrt(static_cast<double>(headSize)) : given;
}

Value shaped(GradientBuilder &g, Value value, llvm::ArrayRef<int64_t> dims) {
  return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", 1));
}

static Value turned(GradientBuilder &g, Value value, llvm::ArrayRef<int64_t> order) {
  return g.make<TransposeOp>({value}, g.attribute("perm", order));
}

/// Do several of `heads` share each of several key heads?
static bool areGrouped(int64_t heads, int64_t keyHeads) { return keyHeads > 1 && heads > keyHeads; }

Value splitIntoHeads(GradientBuilder &g, Value flat, int64_t heads, int64_t keyHeads) {
  llvm::ArrayRef<int64_t> dims = dimsOf(flat);
  int64_t size = dims[2] / heads;
  if (!areGrouped(heads, keyHeads))
    return turned(g, shaped(g, flat, {dims[0], dims[1], heads, size}), {0, 2, 1, 3});
  Value apart = shaped(g, flat, {dims[0], dims[1], keyHeads, heads / keyHeads, size});
  return shaped(g, turned(g, apart, {0, 2, 3, 1, 4}), {dims[0], heads, dims[1], size});
}

Value joinFromHeads(GradientBuilder &g, Value apart, int64_t keyHeads) {
  llvm::ArrayRef<int64_t> dims = dimsOf(apart);
  int64_t heads = dims[1];
  Value back;
  if (areGrouped(heads, keyHeads))
    back = turned(g, shaped(g, apart, {dims[0], keyHeads, heads / keyHeads, dims[2], dims[3]}), {0, 3, 1, 2, 4});
  else
    back = turned(g, apart, {0, 2, 1, 3});
  return shaped(g, back, {dims[0], dims[2], heads * dims[3]});
}

Value positionsFrom(GradientBuilder &g, int64_t first, int64_t count) {
  std::vector<int64_t> list(count);
  std::iota(list.begin(), list.end(), first);
  return g.integers(list);
}

Value causalMask(GradientBuilder &g, int64_t queries, int64_t keys, int64_t window, const QueryPlaces &places) {
  Value key = positionsFrom(g, 0, keys);
  Value query = shaped(g, positionsFrom(g, places.begins ? 0 : places.begin, queries), {queries, 1});
  if (places.begins)
    query = g.add(query, shaped(g, places.begins, {dimsOf(places.begins)[0], 1, 1, 1}));
  Value seen = g.make<LessOrEqualOp>({key, query});
  if (window <= 0)
    return seen;
  Value near = g.make<GreaterOp>({g.add(key, g.integers({window})), query});
  return g.make<AndOp>({seen, near});
}

Value keysBefore(GradientBuilder &g, Value ends, int64_t keys) {
  return g.make<LessOp>({positionsFrom(g, 0, keys), shaped(g, ends, {dimsOf(ends)[0], 1, 1, 1})});
}

Value bothSee(GradientBuilder &g, Value a, Value b) { return a && b ? Value(g.make<AndOp>({a, b})) : a ? a : b; }

Value wholeMask(GradientBuilder &g, Value mask, int64_t keys) {
  llvm::SmallVector<int64_t, 4> dims(dimsOf(mask));
  int64_t missing = keys - dims.back();
  if (dims.back() == 1 || missing == 0)
    return mask;
  dims.back() = missing;
  bool isOfBools = mlir::getElementTypeOrSelf(mask).isInteger(1);
  Value hidden = g.scalar(isOfBools ? 0 : -std::numeric_limits<double>::infinity(), mask);
  return g.make<ConcatOp>({mask, g.make<ExpandOp>({hidden, g.integers(dims)})}, g.attribute("axis", int64_t(-1)));
}

Value shortMask(GradientBuilder &g, Value gradient, Value mask) {
  int64_t size = dimsOf(mask).back();
  return size == 1 || dimsOf(gradient).back() == size ? gradient : lastSlice(g, gradient, 0, size);
}

Value behindPast(GradientBuilder &g, Value past, Value current) {
  return isAbsent(past) ? current : g.make<ConcatOp>({past, current}, g.attribute("axis", int64_t(2)));
}

Value positionSlice(GradientBuilder &g, Value value, int64_t begin, int64_t end) {
  if (begin == 0 && end == dimsOf(value)[2])
    return value;
  return g.make<SliceOp>({value, g.integers({begin}), g.integers({end}), g.integers({2}), g.absent()});
}

Value givePast(GradientBuilder &g, unsigned cache, int64_t past, Value gradient) {
  if (past > 0 && g.wants(cache))
    g.give(cache, positionSlice(g, gradient, 0, past));
  return positionSlice(g, gradient, past, dimsOf(gradient)[2]);
}

Value sumOfBoth(GradientBuilder &g, Value a, Value b) { return a && b ? g.add(a, b) : a ? a : b; }

Value lastSlice(GradientBuilder &g, Value value, int64_t begin, int64_t end) {
  auto last = static_cast<int64_t>(dimsOf(value).size()) - 1;
  return g.make<SliceOp>({value, g.integers({begin}), g.integers({end}), g.integers({last}), g.absent()});
}

/// The keys [b, 1, 1, t] that are padding by lengths, or by lengths and first positions.
static Value paddingByLengths(GradientBuilder &g, Value mask, int64_t batch, int64_t keys) {
  auto column = [&](int64_t begin) {
    Value part = dimsOf(mask)[0] == batch ? mask : lastSlice(g, mask, begin, begin + batch);
    return shaped(g, part, {batch, 1, 1, 1});
  };
  Value places = g.castTo(positionsFrom(g, 0, keys), mask), padding = g.make<GreaterOrEqualOp>({places, column(0)});
  if (dimsOf(mask)[0] != 2 * batch)
    return padding;
  Value before = g.make<LessOp>({places, column(batch)});
  return g.make<OrOp>({padding, before});
}

Value paddingBias(GradientBuilder &g, Value mask, const HeadValues &heads, double filter) {
  int64_t batch = dimsOf(heads.queries)[0], queries = dimsOf(heads.queries)[2], keys = dimsOf(heads.keys)[2];
  llvm::SmallVector<int64_t, 4> dims(dimsOf(mask));
  Value padding;
  if (dims.size() == 1) {
    padding = paddingByLengths(g, mask, batch, keys);
  } else {
    bool isWhole = dims.back() == keys && (dims.size() == 2 || dims[dims.size() - 2] == queries);
    if (!isWhole)
      return {};
    if (dims.size() < 4)
      dims.insert(dims.begin() + 1, 4 - dims.size(), 1);
    padding = g.make<EqualOp>({shaped(g, mask, dims), g.scalar(0, mask)});
  }
  return g.make<WhereOp>({padding, g.scalar(filter, heads.queries), g.scalar(0, heads.queries)});
}

bool addPadding(GradientBuilder &g, Value mask, HeadValues &heads, double filter) {
  if (isAbsent(mask))
    return true;
  Value bias = paddingBias(g, mask, heads, filter);
  if (bias)
    heads.bias = heads.bias ? g.add(heads.bias, bias) : bias;
  return !!bias;
}

bool arrivesOnlyBefore(GradientBuilder &g, unsigned index, llvm::StringRef accepted) {
  for (; index < g.getForward()->getNumResults(); ++index)
    if (g.incoming(index))
      return g.refuse("the loss depends on its result " + llvm::Twine(index) + ", and " + accepted + " accepted");
  return true;
}

namespace {

using Attributes = llvm::SmallVector<mlir::NamedAttribute, 4>;

/// The mask and the attributes of softmax attention of `heads`; the mask is null where all scores count as they are.
std::pair<Value, Attributes> maskOf(GradientBuilder &g, const HeadValues &heads) {
  mlir::Builder &builder = g.getBuilder();
  Attributes attributes = {g.attribute("scale", builder.getF32FloatAttr(static_cast<float>(heads.scale)))};
  if (heads.softcap > 0)
    attributes.push_back(g.attribute("softcap", builder.getF32FloatAttr(static_cast<float>(heads.softcap))));
  Value mask = heads.bias ? heads.bias : heads.seen;
  if (heads.bias && heads.seen) { // an added mask of floats: far below every score where the key is not seen
    double hidden = heads.mayHideAll ? -std::numeric_limits<double>::infinity() : -1e30;
    mask = g.make<WhereOp>({heads.seen, heads.bias, g.scalar(hidden, heads.bias)});
  } else if (heads.seen) {
    using Limits = std::numeric_limits<float>;
    float hidden = heads.mayHideAll ? -Limits::infinity() : Limits::lowest();
    attributes.push_back(g.attribute("fill", builder.getF32FloatAttr(hidden)));
  }
  if (heads.mayHideAll)
    attributes.push_back(g.attribute("nan_is_zero", int64_t(1)));
  return {mask ? mask : g.absent(), attributes};
}

/// The ops of the gradients of `heads`, of one kind of softmax attention, for operands that are wanted.
template <typename OfQueries, typename OfKeys, typename OfValues, typename OfMask>
HeadValues gradientsBy(GradientBuilder &g, const HeadValues &heads, WantedHeads wanted, llvm::ArrayRef<Value> operands,
                       llvm::ArrayRef<Value> ofValues, const Attributes &attributes) {
  HeadValues gradients;
  if (wanted.queries)
    gradients.queries = g.make<OfQueries>(operands, attributes);
  if (wanted.keys)
    gradients.keys = g.make<OfKeys>(operands, attributes);
  if (wanted.values)
    gradients.values = g.make<OfValues>(ofValues, attributes);
  if (wanted.bias && heads.bias) {
    Value ofMask = g.make<OfMask>(operands, attributes);
    gradients.bias = g.sumTo(heads.seen ? g.where(heads.seen, ofMask) : ofMask, heads.bias);
  }
  return gradients;
}

/// A sink s adds exp(s) to the sum over the keys: log(exp(l) + exp(s)) = s + softplus(l - s). Its share of the weights
/// has no value, so that its gradient is that share of what arrives along the result, taken away.
HeadValues gradientsBesideSink(GradientBuilder &g, const HeadValues &heads, Value arriving, WantedHeads wanted) {
  auto [mask, attributes] = maskOf(g, heads);
  Value sums = g.make<SoftmaxAttentionLogSumOp>({heads.queries, heads.keys, mask}, attributes);
  Value sink = g.castTo(shaped(g, heads.sink, {dimsOf(heads.sink)[0], 1}), sums);
  Value whole = g.add(sink, g.make<SoftplusOp>({g.sub(sums, sink)}));
  llvm::SmallVector<Value, 7> operands = {heads.queries, heads.keys, heads.values, mask, arriving, heads.result, whole},
                              ofValues = operands;
  ofValues[5] = g.absent();
  HeadValues gradients =
      gradientsBy<SoftmaxAttentionByQueryGradOp, SoftmaxAttentionByKeyGradOp, SoftmaxAttentionByValueGradOp,
                  SoftmaxAttentionByMaskGradOp>(g, heads, wanted, operands, ofValues, attributes);
  if (wanted.sink) {
    Value along = g.make<ReduceSumOp>({g.castTo(g.mul(arriving, heads.result), sums), g.integers({-1})},
                                      g.attribute("keepdims", int64_t(0)));
    Value share = g.make<ExpOp>({g.sub(sink, whole)});
    gradients.sink = g.castTo(g.reshapeTo(g.neg(g.sumTo(g.mul(share, along), sink)), heads.sink), heads.sink);
  }
  return gradients;
}

} // namespace

HeadValues gradientsOfHeads(GradientBuilder &g, const HeadValues &heads, Value arriving, WantedHeads wanted) {
  if (heads.sink)
    return gradientsBesideSink(g, heads, arriving, wanted);
  auto [mask, attributes] = maskOf(g, heads);
  std::array<Value, 5> operands = {heads.queries, heads.keys, heads.values, mask, arriving};
  return gradientsBy<SoftmaxAttentionQueryGradOp, SoftmaxAttentionKeyGradOp, SoftmaxAttentionValueGradOp,
                     SoftmaxAttentionMaskGradOp>(g, heads, wanted, operands, operands, attributes);
}

} // namespace apc
