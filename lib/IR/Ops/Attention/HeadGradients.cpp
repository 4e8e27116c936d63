// Attention of heads built again from softmax attention, whose gradients are ops.
#include "HeadGradients.h"

#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include <array>
#include <limits>
#include <numeric>

namespace apc {

using mlir::Value;

Value splitIntoHeads(GradientBuilder &g, Value flat, int64_t heads) {
  llvm::ArrayRef<int64_t> dims = dimsOf(flat);
  Value apart =
      g.make<ReshapeOp>({flat, g.integers({dims[0], dims[1], heads, dims[2] / heads})}, g.attribute("allowzero", 1));
  return g.make<TransposeOp>({apart}, g.attribute("perm", llvm::ArrayRef<int64_t>({0, 2, 1, 3})));
}

Value joinFromHeads(GradientBuilder &g, Value apart) {
  llvm::ArrayRef<int64_t> dims = dimsOf(apart);
  llvm::SmallVector<int64_t, 3> flat = {dims[0], dims[2], dims[1] * dims[3]};
  Value turned = g.make<TransposeOp>({apart}, g.attribute("perm", llvm::ArrayRef<int64_t>({0, 2, 1, 3})));
  return g.make<ReshapeOp>({turned, g.integers(flat)}, g.attribute("allowzero", 1));
}

Value causalMask(GradientBuilder &g, int64_t queries, int64_t keys, int64_t window) {
  auto positions = [&](int64_t count) {
    std::vector<int64_t> list(count);
    std::iota(list.begin(), list.end(), 0);
    return g.integers(list);
  };
  Value key = positions(keys);
  Value query = g.make<ReshapeOp>({positions(queries), g.integers({queries, 1})}, g.attribute("allowzero", 1));
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
