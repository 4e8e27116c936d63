// Attention in StableHLO: scores, mask, softmax and product as the operators define them, one after the other.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Attention/Attention.h"

namespace apc {

namespace hlo {
namespace {

/// Queries [..., heads, s, d], and what their key heads [..., key heads, t, d] are multiplied with.
class Attention {
public:
  template <typename Op>
  Attention(Op op, HloWriter &h)
      : q(h(op.getQ())), k(h(op.getK())), v(h(op.getV())), mask(h(op.getMask())),
        scale(op.getScale().convertToDouble()), areTransposed(op.getKeysTransposed() != 0),
        isZeroForNan(op.getNanIsZero() != 0), seen(op.getSeen() != 0) {
    if (auto cap = op->template getAttrOfType<mlir::FloatAttr>("softcap"))
      softcap = cap.getValueAsDouble();
    if (op.getFill())
      fill = op.getFill()->convertToDouble();
    k = areTransposed ? flip(k) : k;
  }

  Hlo result() const { return joined(product("...hgst,...htd->...hgsd", weights(), v)); }
  Hlo queryGradient(Hlo dy) const { return joined(product("...hgst,...htd->...hgsd", productGradient(dy), k) * scale); }
  Hlo keyGradient(Hlo dy) const {
    Hlo keys = product("...hgst,...hgsd->...htd", productGradient(dy), grouped(q)) * scale;
    return areTransposed ? flip(keys) : keys;
  }
  Hlo valueGradient(Hlo dy) const { return product("...hgst,...hgsd->...htd", weights(), grouped(dy)); }
  Hlo maskGradient(Hlo dy) const {
    Hlo gradient = joined(scoreGradient(dy));
    return sumTo(gradient, mask.dims());
  }

private:
  static Hlo product(llvm::StringRef equation, Hlo a, Hlo b) { return einsum(equation, {a, b}); }

  /// [..., heads, s, d] as [..., key heads, heads of one, s, d], and back.
  Hlo grouped(Hlo x) const {
    HloDims dims(x.dims());
    int64_t heads = k.size(k.numDims() - 3);
    dims[dims.size() - 3] /= heads;
    dims.insert(dims.end() - 3, heads);
    return reshape(x, dims);
  }
  static Hlo joined(Hlo x) {
    HloDims dims(x.dims());
    dims[dims.size() - 4] *= dims[dims.size() - 3];
    dims.erase(dims.end() - 3);
    return reshape(x, dims);
  }

  Hlo isSeen() const { return seen ? mask : isNot(mask); }

  /// The scores in front of the mask, bounded where there is a cap.
  Hlo capped() const {
    Hlo scaled = product("...hgsd,...htd->...hgst", grouped(q), k) * scale;
    return softcap > 0 ? tanh(scaled / softcap) * softcap : scaled;
  }

  Hlo weights() const {
    Hlo scores = joined(capped());
    if (mask && fill) {
      double lowest = llvm::APFloat::getLargest(llvm::cast<mlir::FloatType>(q.element()).getFloatSemantics(), true)
                          .convertToDouble();
      scores = select(isSeen(), scores, filled(scores, std::isinf(*fill) ? *fill : std::max(*fill, lowest)));
    } else if (mask) {
      scores = scores + mask;
    }
    Hlo shares = softmax(scores, scores.numDims() - 1);
    if (isZeroForNan)
      shares = select(compare(shares, "EQ", shares), shares, filled(shares, 0));
    return grouped(shares);
  }

  /// The gradient of what the softmax takes.
  Hlo scoreGradient(Hlo dy) const {
    Hlo shares = weights(), gradient = product("...hgsd,...htd->...hgst", grouped(dy), v);
    gradient = shares * (gradient - sum(gradient * shares, {gradient.numDims() - 1}, true));
    if (!mask || !fill)
      return gradient;
    Hlo whole = joined(gradient);
    return grouped(select(isSeen(), whole, filled(whole, 0)));
  }

  /// The gradient of the scaled products of queries and keys.
  Hlo productGradient(Hlo dy) const {
    Hlo gradient = scoreGradient(dy);
    return softcap > 0 ? gradient * (1.0 - square(capped() / softcap)) : gradient;
  }

  Hlo q, k, v, mask;
  double scale, softcap = 0;
  std::optional<double> fill;
  bool areTransposed, isZeroForNan, seen;
};

HloList rotateHalf(RotateHalfOp op, HloWriter &h) {
  Hlo x = h(op.getX()), cos = h(op.getCos()), sin = h(op.getSin());
  unsigned last = x.numDims() - 1;
  int64_t size = x.size(last);
  auto halves = [&](Hlo of) { return std::pair(slice(of, last, 0, size / 2), slice(of, last, size / 2, size)); };
  if (op.getTransposed() != 0) {
    auto [first, second] = halves(x * sin);
    return x * cos + concat({second, -first}, last);
  }
  auto [first, second] = halves(x);
  return x * cos + concat({-second, first}, last) * sin;
}

HloList swiGlu(SwiGLUOp op, HloWriter &h) {
  Hlo a = h(op.getA());
  return a * sigmoid(a * op.getAlpha().convertToDouble()) * h(op.getB());
}

template <typename Op, auto gradient>
constexpr HloLowering gradientRow() {
  return hloRow<Op, [](Op op, HloWriter &h) { return (Attention(op, h).*gradient)(h(op.getDY())); }>();
}

constexpr HloLowering rows[] = {
    hloRow<SoftmaxAttentionOp, [](SoftmaxAttentionOp op, HloWriter &h) { return Attention(op, h).result(); }>(),
    gradientRow<SoftmaxAttentionQueryGradOp, &Attention::queryGradient>(),
    gradientRow<SoftmaxAttentionKeyGradOp, &Attention::keyGradient>(),
    gradientRow<SoftmaxAttentionValueGradOp, &Attention::valueGradient>(),
    gradientRow<SoftmaxAttentionMaskGradOp, &Attention::maskGradient>(),
    hloRow<RotateHalfOp, rotateHalf>(),
    hloRow<SwiGLUOp, swiGlu>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloAttention();
llvm::ArrayRef<HloLowering> hloAttention() { return hlo::rows; }

} // namespace apc
