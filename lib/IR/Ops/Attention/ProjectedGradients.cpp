// Gradients of com.microsoft's Attention: those of attention of heads, behind a cache too, then of the projection.
#include "../Attributes.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "Projected.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include <array>

namespace apc {

namespace {

class ProjectedGradients {
public:
  ProjectedGradients(GradientBuilder &g, ProjectedAttentionOp op, llvm::ArrayRef<int64_t> widths)
      : g(g), op(op), widths(widths), heads(static_cast<int64_t>(op.getNumHeads())),
        past(isAbsent(op.getPast()) ? 0 : dimsOf(op.getPast())[3]) {
    projected = g.make<MatMulOp>({g.operand(Projected::Input), g.operand(Projected::Weights)});
    if (!isAbsent(g.operand(Projected::Bias)))
      projected = g.add(projected, g.operand(Projected::Bias));
  }

  /// False for masks of other sizes than all queries and keys.
  bool give() {
    HeadValues gradients;
    if (g.incoming() && !takeResult(gradients))
      return false;
    if (mlir::Value present = g.incoming(1)) {
      gradients.keys = sumOfBoth(g, gradients.keys, halfOf(present, 0));
      gradients.values = sumOfBoth(g, gradients.values, halfOf(present, 1));
    }
    if (mlir::Value bias = g.operand(Projected::AttentionBias); gradients.bias)
      g.give(Projected::AttentionBias, g.sumTo(shortMask(g, gradients.bias, bias), bias));
    if (past > 0 && g.wants(Projected::Past) && gradients.keys) // and so of values
      g.give(Projected::Past,
             joined(positionSlice(g, gradients.keys, 0, past), positionSlice(g, gradients.values, 0, past)));
    if (isProjected())
      giveProjection(gradients);
    return true;
  }

private:
  bool isProjected() const {
    return g.wants(Projected::Input) || g.wants(Projected::Weights) || g.wants(Projected::Bias);
  }

  /// The gradients through the attention's result; false for such masks.
  bool takeResult(HeadValues &gradients) {
    HeadValues forward = {part(0), behindPast(g, ofPast(0), part(1)), behindPast(g, ofPast(1), part(2))};
    forward.scale = scaleOfHeads(op, widths[0] / heads);
    const int64_t queries = dimsOf(forward.queries)[2], keys = dimsOf(forward.keys)[2];
    if (mlir::Value bias = g.operand(Projected::AttentionBias); !isAbsent(bias)) {
      forward.bias = wholeMask(g, bias, keys);
      forward.mayHideAll = true; // minus infinity at all keys
    }
    if (!addPadding(g, g.operand(Projected::MaskIndex), forward, floatAttribute(op, "mask_filter_value", -10000)))
      return false;
    if (op.getUnidirectional() != 0)
      forward.seen = causalMask(g, queries, keys, 0, {past});
    const bool ofCache = isProjected() || g.wants(Projected::Past);
    gradients = gradientsOfHeads(g, forward, splitIntoHeads(g, g.incoming(), heads, heads),
                                 {isProjected(), ofCache, ofCache, g.wants(Projected::AttentionBias)});
    return true;
  }

  /// Keys (0) or values (1) of a cache [2, b, heads, positions, size]; and both as one.
  mlir::Value halfOf(mlir::Value cache, int64_t half) {
    mlir::Value own = g.make<SliceOp>({cache, g.integers({half}), g.integers({half + 1}), g.integers({0}), g.absent()});
    return shaped(g, own, dimsOf(cache).drop_front());
  }
  mlir::Value ofPast(int64_t half) { return past > 0 ? halfOf(g.operand(Projected::Past), half) : g.absent(); }
  mlir::Value joined(mlir::Value keys, mlir::Value values) {
    llvm::SmallVector<int64_t, 5> dims(dimsOf(keys));
    dims.insert(dims.begin(), 1);
    return g.make<ConcatOp>({shaped(g, keys, dims), shaped(g, values, dims)}, g.attribute("axis", int64_t(0)));
  }

  mlir::Value part(unsigned index) {
    int64_t begin = 0;
    for (int64_t width : widths.take_front(index))
      begin += width;
    return splitIntoHeads(g, lastSlice(g, projected, begin, begin + widths[index]), heads, heads);
  }

  int64_t positions() const { return dimsOf(g.operand(Projected::Input))[1]; }
  /// The positions behind the cache.
  mlir::Value ofInput(mlir::Value gradient) {
    const int64_t end = dimsOf(gradient)[2];
    return positionSlice(g, gradient, end - positions(), end);
  }
  /// Of a part through which nothing arrives.
  mlir::Value zerosOf(int64_t width) {
    mlir::Value input = g.operand(Projected::Input);
    return g.make<ExpandOp>({g.scalar(0, input), g.integers({dimsOf(input)[0], positions(), width})});
  }

  void giveProjection(const HeadValues &gradients) {
    const std::array arriving = {gradients.queries, gradients.keys, gradients.values};
    llvm::SmallVector<mlir::Value, 3> parts;
    for (auto [gradient, width] : llvm::zip_equal(arriving, widths))
      parts.push_back(gradient ? joinFromHeads(g, ofInput(gradient), heads) : zerosOf(width));
    mlir::Value whole = g.make<ConcatOp>(parts, g.attribute("axis", int64_t(2)));
    if (g.wants(Projected::Input))
      g.give(Projected::Input, g.einsum("bsn,in->bsi", {whole, g.operand(Projected::Weights)}));
    if (g.wants(Projected::Weights))
      g.give(Projected::Weights, g.einsum("bsi,bsn->in", {g.operand(Projected::Input), whole}));
    if (g.wants(Projected::Bias))
      g.give(Projected::Bias, g.sumTo(whole, g.operand(Projected::Bias)));
  }

  GradientBuilder &g;
  ProjectedAttentionOp op;
  llvm::ArrayRef<int64_t> widths; ///< of queries, keys and values
  int64_t heads, past;            ///< positions of the cache
  mlir::Value projected;
};

} // namespace

bool ProjectedAttentionOp::differentiate(GradientBuilder &g) {
  auto widths = projectedSizes(*this);
  if (mlir::failed(widths))
    return false;
  if (getPastPresentShareBuffer() != 0)
    return g.refuse("attribute 'past_present_share_buffer' is " + llvm::Twine(getPastPresentShareBuffer()) +
                    ", and 0 is accepted");
  if (getDoRotary() != 0)
    return g.refuse("attribute 'do_rotary' is " + llvm::Twine(getDoRotary()) + ", and 0 is accepted");
  return ProjectedGradients(g, *this, *widths).give() ||
         g.refuse("operand 'mask_index' is not of all queries and keys, and lengths or such tables are accepted");
}

} // namespace apc
