// Attention in ONNX: products and softmaxes.
#include "../OnnxForm.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

/// The parts of softmax_attention and its gradients. Where several query heads share a key head, tensors of queries are
/// [..., key heads, heads of one, s, d] and those of keys and values [..., key heads, 1, t, d].
class AttentionForm {
public:
  explicit AttentionForm(OnnxForm &form)
      : form(form), Q(form.operand("Q")), K(form.operand("K")), V(form.operand("V")), mask(form.operand("mask")),
        isTransposed(form.integer("keys_transposed") != 0) {
    heads = dimsOf(Q)[dimsOf(Q).size() - 3];
    keyHeads = dimsOf(V)[dimsOf(V).size() - 3];
    if (form.has("fill"))
      mask = mask ? kept() : mask;
  }

  /// softmax(mask(scale Q K))
  mlir::Value weights() {
    mlir::Value scores =
        form.mul(product(byKeyHead(Q), isTransposed ? ofKeys(K) : form.swapLast(ofKeys(K))), form.real("scale", 1));
    if (mask && form.has("fill"))
      scores = form.where(byMask(mask), scores, form.scalar(fill(), scores));
    else if (mask)
      scores = form.add(scores, byMask(mask));
    mlir::Value weights = form.make<SoftmaxOp>({scores}, form.attribute("axis", -1));
    if (form.integer("nan_is_zero") != 0)
      weights = form.where(form.make<IsNaNOp>({weights}), form.scalar(0, weights), weights);
    return weights;
  }

  mlir::Value result() {
    llvm::SmallVector<int64_t> dims(dimsOf(Q));
    dims.back() = dimsOf(V).back();
    return form.reshape(product(weights(), ofKeys(V)), dims);
  }

  /// The gradient of what the softmax takes.
  mlir::Value scoreGradient() {
    mlir::Value own = weights();
    mlir::Value gradient = product(byKeyHead(form.operand("dY")), form.swapLast(ofKeys(V)));
    gradient = form.mul(own, form.sub(gradient, form.sum(form.mul(gradient, own), {-1})));
    return mask && form.has("fill") ? form.where(byMask(mask), gradient) : gradient;
  }

  mlir::Value queryGradient() {
    mlir::Value keys = isTransposed ? form.swapLast(ofKeys(K)) : ofKeys(K);
    return form.reshape(form.mul(product(scoreGradient(), keys), form.real("scale", 1)), dimsOf(Q));
  }

  mlir::Value keyGradient() {
    mlir::Value keys =
        overHeads(form.mul(product(form.swapLast(scoreGradient()), byKeyHead(Q)), form.real("scale", 1)));
    return isTransposed ? form.swapLast(keys) : keys;
  }

  mlir::Value valueGradient() { return overHeads(product(form.swapLast(weights()), byKeyHead(form.operand("dY")))); }

  mlir::Value maskGradient() {
    mlir::Value gradient = scoreGradient();
    llvm::SmallVector<int64_t> dims(dimsOf(Q));
    dims.back() = dimsOf(gradient).back();
    return form.sumTo(form.reshape(gradient, dims), dimsOf(form.operand("mask")));
  }

private:
  bool isGrouped() const { return heads != keyHeads; }
  mlir::Value product(mlir::Value a, mlir::Value b) { return form.make<MatMulOp>({a, b}); }

  mlir::Value byKeyHead(mlir::Value value) {
    if (!isGrouped())
      return value;
    llvm::SmallVector<int64_t> dims(dimsOf(value));
    dims[dims.size() - 3] = keyHeads;
    dims.insert(dims.end() - 2, heads / keyHeads);
    return form.reshape(value, dims);
  }

  mlir::Value ofKeys(mlir::Value value) {
    llvm::SmallVector<int64_t> dims(dimsOf(value));
    dims.insert(dims.end() - 2, 1);
    return isGrouped() ? form.reshape(value, dims) : value;
  }

  /// Summed over the query heads of a key head.
  mlir::Value overHeads(mlir::Value value) { return isGrouped() ? form.sum(value, {-3}, /*keepdims=*/false) : value; }

  mlir::Value byMask(mlir::Value value) {
    llvm::SmallVector<int64_t> dims(dimsOf(value));
    if (!isGrouped() || dims.size() < 3)
      return value;
    bool isByHead = dims[dims.size() - 3] == heads;
    dims[dims.size() - 3] = isByHead ? keyHeads : 1;
    dims.insert(dims.end() - 2, isByHead ? heads / keyHeads : 1);
    return form.reshape(value, dims);
  }

  /// True where scores stay as they are.
  mlir::Value kept() { return form.integer("seen", 1) != 0 ? mask : form.make<NotOp>({mask}); }

  double fill() const {
    auto element = llvm::cast<mlir::FloatType>(getElementTypeOrSelf(Q.getType()));
    double lowest = llvm::APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true).convertToDouble();
    return std::max(form.real("fill"), lowest);
  }

  OnnxForm &form;
  mlir::Value Q, K, V, mask;
  bool isTransposed;
  int64_t heads = 0, keyHeads = 0;
};

template <mlir::Value (AttentionForm::*part)()>
Results attention(OnnxForm &form) {
  AttentionForm attention(form);
  return {(attention.*part)()};
}

/// x cos + [-second half, first half] sin; transposed: x cos + [second half of x sin, -first half of x sin].
Results rotateHalf(OnnxForm &form) {
  mlir::Value x = form.operand("X"), sin = form.operand("sin");
  bool isTransposed = form.integer("transposed") != 0;
  mlir::Value turned = isTransposed ? form.mul(x, sin) : x;
  auto last = static_cast<unsigned>(dimsOf(x).size() - 1);
  int64_t size = dimsOf(x)[last];
  mlir::Value first = form.slice(turned, last, 0, size / 2), second = form.slice(turned, last, size / 2, size);
  if (isTransposed)
    turned = form.concat({second, form.make<NegOp>({first})}, last);
  else
    turned = form.mul(form.concat({form.make<NegOp>({second}), first}, last), sin);
  return {form.add(form.mul(x, form.operand("cos")), turned)};
}

constexpr OnnxFormEntry forms[] = {
    {SoftmaxAttentionOp::getOperationName(), attention<&AttentionForm::result>},
    {SoftmaxAttentionQueryGradOp::getOperationName(), attention<&AttentionForm::queryGradient>},
    {SoftmaxAttentionKeyGradOp::getOperationName(), attention<&AttentionForm::keyGradient>},
    {SoftmaxAttentionValueGradOp::getOperationName(), attention<&AttentionForm::valueGradient>},
    {SoftmaxAttentionMaskGradOp::getOperationName(), attention<&AttentionForm::maskGradient>},
    {RotateHalfOp::getOperationName(), rotateHalf},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> attentionForms() { return forms; }

} // namespace apc
