// Attention of heads built again from softmax attention, whose gradients are ops.
#include "HeadGradients.h"

#include "Kernels.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

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

static Value positionsUpTo(GradientBuilder &g, int64_t count) {
  std::vector<int64_t> list(count);
  std::iota(list.begin(), list.end(), 0);
  return g.integers(list);
}

Value causalMask(GradientBuilder &g, int64_t queries, int64_t keys, int64_t window) {
  Value key = positionsUpTo(g, keys);
  Value query = g.make<ReshapeOp>({positionsUpTo(g, queries), g.integers({queries, 1})}, g.attribute("allowzero", 1));
  Value seen = g.make<LessOrEqualOp>({key, query});
  if (window <= 0)
    return seen;
  Value near = g.make<GreaterOrEqualOp>({g.add(key, g.integers({window})), query});
  return g.make<AndOp>({seen, near});
}

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
  Value places = g.castTo(positionsUpTo(g, keys), mask), padding = g.make<GreaterOrEqualOp>({places, column(0)});
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

bool arrivesAtFirstOnly(GradientBuilder &g) {
  for (unsigned index = 1; index < g.getForward()->getNumResults(); ++index)
    if (g.incoming(index))
      return false;
  return !!g.incoming();
}

HeadValues gradientsOfHeads(GradientBuilder &g, const HeadValues &heads, Value arriving, WantedHeads wanted) {
  mlir::Builder &builder = g.getBuilder();
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes = {
      g.attribute("scale", builder.getF32FloatAttr(static_cast<float>(heads.scale)))};
  if (heads.softcap > 0)
    attributes.push_back(g.attribute("softcap", builder.getF32FloatAttr(static_cast<float>(heads.softcap))));
  Value mask = heads.bias ? heads.bias : heads.seen;
  if (heads.bias && heads.seen) // an added mask of floats: far below every score where the key is not seen
    mask = g.make<WhereOp>({heads.seen, heads.bias,
                            g.scalar(heads.mayHideAll ? -std::numeric_limits<double>::infinity() : -1e30, heads.bias)});
  else if (heads.seen) {
    using Limits = std::numeric_limits<float>;
    float hidden = heads.mayHideAll ? -Limits::infinity() : Limits::lowest();
    attributes.push_back(g.attribute("fill", builder.getF32FloatAttr(hidden)));
  }
  if (heads.mayHideAll)
    attributes.push_back(g.attribute("nan_is_zero", int64_t(1)));
  std::array<Value, 5> operands = {heads.queries, heads.keys, heads.values, mask ? mask : g.absent(), arriving};
  HeadValues gradients;
  if (wanted.queries)
    gradients.queries = g.make<SoftmaxAttentionQueryGradOp>(operands, attributes);
  if (wanted.keys)
    gradients.keys = g.make<SoftmaxAttentionKeyGradOp>(operands, attributes);
  if (wanted.values)
    gradients.values = g.make<SoftmaxAttentionValueGradOp>(operands, attributes);
  if (wanted.bias && heads.bias) {
    Value ofMask = g.make<SoftmaxAttentionMaskGradOp>(operands, attributes);
    gradients.bias = g.sumTo(heads.seen ? g.where(heads.seen, ofMask) : ofMask, heads.bias);
  }
  return gradients;
}

} // namespace apc
