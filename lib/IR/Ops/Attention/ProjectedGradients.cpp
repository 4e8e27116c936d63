// Gradients of com.microsoft's Attention without a cache: those of attention of heads, then of the projection.
#include "../Attributes.h"
#include "HeadGradients.h"
#include "Kernels.h"
#include "Projected.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

namespace {

class ProjectedGradients {
public:
  ProjectedGradients(GradientBuilder &g, ProjectedAttentionOp op, llvm::ArrayRef<int64_t> widths)
      : g(g), op(op), widths(widths), heads(static_cast<int64_t>(op.getNumHeads())) {
    projected = g.make<MatMulOp>({g.operand(Input), g.operand(Weights)});
    if (!isAbsent(g.operand(Bias)))
      projected = g.add(projected, g.operand(Bias));
  }

  /// False for masks of other sizes than all queries and keys.
  bool give() {
    HeadValues forward = {part(0), part(1), part(2)};
    forward.scale = scaleOfHeads(op, widths[0] / heads);
    if (mlir::Value bias = g.operand(AttentionBias); !isAbsent(bias)) {
      forward.bias = wholeMask(g, bias, dimsOf(forward.keys)[2]);
      forward.mayHideAll = true; // minus infinity at all keys
    }
    if (!addPadding(g, g.operand(MaskIndex), forward, floatAttribute(op, "mask_filter_value", -10000)))
      return false;
    int64_t positions = dimsOf(forward.queries)[2];
    if (op.getUnidirectional() != 0)
      forward.seen = causalMask(g, positions, positions, 0);
    bool isProjected = g.wants(Input) || g.wants(Weights) || g.wants(Bias);
    HeadValues gradients = gradientsOfHeads(g, forward, splitIntoHeads(g, g.incoming(), heads, heads),
                                            {isProjected, isProjected, isProjected, g.wants(AttentionBias)});
    if (mlir::Value bias = g.operand(AttentionBias); gradients.bias)
      g.give(AttentionBias, g.sumTo(shortMask(g, gradients.bias, bias), bias));
    if (isProjected)
      giveProjection(gradients);
    return true;
  }

private:
  mlir::Value part(unsigned index) {
    int64_t begin = 0;
    for (int64_t width : widths.take_front(index))
      begin += width;
    return splitIntoHeads(g, lastSlice(g, projected, begin, begin + widths[index]), heads, heads);
  }

  void giveProjection(const HeadValues &gradients) {
    llvm::SmallVector<mlir::Value, 3> parts;
    for (mlir::Value gradient : {gradients.queries, gradients.keys, gradients.values})
      parts.push_back(joinFromHeads(g, gradient, heads));
    mlir::Value whole = g.make<ConcatOp>(parts, g.attribute("axis", int64_t(2)));
    if (g.wants(Input))
      g.give(Input, g.einsum("bsn,in->bsi", {whole, g.operand(Weights)}));
    if (g.wants(Weights))
      g.give(Weights, g.einsum("bsi,bsn->in", {g.operand(Input), whole}));
    if (g.wants(Bias))
      g.give(Bias, g.sumTo(whole, g.operand(Bias)));
  }

  GradientBuilder &g;
  ProjectedAttentionOp op;
  llvm::ArrayRef<int64_t> widths; ///< of queries, keys and values
  int64_t heads;
  mlir::Value projected;
};

} // namespace

bool ProjectedAttentionOp::differentiate(GradientBuilder &g) {
  auto widths = projectedSizes(*this);
  if (mlir::failed(widths) || !arrivesOnlyBefore(g, 1, "output is"))
    return false;
  if (!isAbsent(getPast()) && dimsOf(getPast())[3] != 0)
    return g.refuse("operand 'past' is given, and none is accepted, or MultiHeadAttention behind a projection");
  if (getDoRotary() != 0)
    return g.refuse("attribute 'do_rotary' is " + llvm::Twine(getDoRotary()) + ", and 0 is accepted");
  return ProjectedGradients(g, *this, *widths).give() ||
         g.refuse("operand 'mask_index' is not of all queries and keys, and lengths or such tables are accepted");
}

} // namespace apc
