// Attention in ONNX: products and softmaxes.
#include "../OnnxForm.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Ops/Normalization/Normalization.h"

#include <limits>
#include <numeric>

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

/// The parts of softmax_attention and its gradients, and of those whose keys are split, which take the logarithms of
/// all sums from `log_sum`. Where several query heads share a key head, tensors of queries are
/// [..., key heads, heads of one, s, d] and those of keys and values [..., key heads, 1, t, d].
class AttentionForm {
public:
  /// \p takesSums: the op is `softmax_attention_log_sum`, which has no values.
  explicit AttentionForm(OnnxForm &form, bool takesSums = false)
      : form(form), Q(form.operand("Q")), K(form.operand("K")), mask(form.operand("mask")),
        isTransposed(form.integer("keys_transposed") != 0) {
    if (!takesSums)
      V = form.operand("V");
    if (llvm::is_contained(llvm::cast<OperatorInterface>(form.getOp()).getArgumentNames(), "log_sum"))
      logSum = form.operand("log_sum");
    heads = dimsOf(Q)[dimsOf(Q).size() - 3];
    keyHeads = dimsOf(K)[dimsOf(K).size() - 3];
    if (form.has("fill"))
      mask = mask ? kept() : mask;
  }

  /// scale Q K, bounded where there is a cap.
  mlir::Value capped() {
    mlir::Value scaled =
        form.mul(product(byKeyHead(Q), isTransposed ? ofKeys(K) : form.swapLast(ofKeys(K))), form.real("scale", 1));
    return cap() > 0 ? form.mul(form.make<TanhOp>({form.mul(scaled, 1 / cap())}), cap()) : scaled;
  }

  /// mask(scale Q K)
  mlir::Value scores() {
    mlir::Value scores = capped();
    if (mask && form.has("fill"))
      scores = form.where(byMask(mask), scores, form.scalar(fill(), scores));
    else if (mask)
      scores = form.add(scores, byMask(mask));
    return scores;
  }

  /// The softmax of the scores.
  mlir::Value weights() {
    mlir::Value weights;
    if (logSum)
      weights = form.exp(form.sub(heldScores(), byKeyHead(asColumn(logSum))));
    else
      weights = form.make<SoftmaxOp>({scores()}, form.attribute("axis", -1));
    if (form.integer("nan_is_zero") != 0)
      weights = form.where(form.make<IsNaNOp>({weights}), form.scalar(0, weights), weights);
    return weights;
  }

  mlir::Value result() {
    llvm::SmallVector<int64_t> dims(dimsOf(Q));
    dims.back() = dimsOf(V).back();
    return form.reshape(product(form.cast(weights(), elementOf(V)), ofKeys(V)), dims);
  }

  /// The greatest score and the logarithm of the sum of the others relative to it; a query that sees no key has minus
  /// infinity.
  mlir::Value logSums() {
    mlir::Value own = heldScores();
    mlir::Value greatest = form.make<MaxOp>({form.greatest(own, {-1}), form.scalar(lowest(elementOf(own)), own)});
    mlir::Value sums = form.add(greatest, form.log(form.sum(form.exp(form.sub(own, greatest)), {-1})));
    return form.reshape(sums, llvm::ArrayRef<int64_t>(dimsOf(Q)).drop_back());
  }

  /// The gradient of what the softmax takes.
  mlir::Value scoreGradient() {
    mlir::Value own = weights();
    mlir::Value gradient = product(byKeyHead(form.operand("dY")), form.swapLast(ofKeys(V)));
    // The weighted sum over all keys of what arrives at them is that of the result, where a piece has not all of them.
    mlir::Value weighted =
        logSum ? byKeyHead(form.sum(form.mul(form.precise(form.operand("dY")), form.precise(form.operand("Y"))), {-1}))
               : form.sum(form.mul(gradient, own), {-1});
    gradient = form.mul(own, form.sub(logSum ? form.precise(gradient) : gradient, weighted));
    gradient = form.cast(gradient, elementOf(Q));
    return mask && form.has("fill") ? form.where(byMask(mask), gradient) : gradient;
  }

  /// The gradient of the scaled products.
  mlir::Value productGradient() {
    mlir::Value gradient = scoreGradient();
    if (cap() <= 0)
      return gradient;
    mlir::Value share = form.mul(capped(), 1 / cap());
    return form.mul(gradient, form.sub(form.scalar(1, share), form.mul(share, share)));
  }

  mlir::Value queryGradient() {
    mlir::Value keys = isTransposed ? form.swapLast(ofKeys(K)) : ofKeys(K);
    return form.reshape(form.mul(product(productGradient(), keys), form.real("scale", 1)), dimsOf(Q));
  }

  mlir::Value keyGradient() {
    mlir::Value keys =
        overHeads(form.mul(product(form.swapLast(productGradient()), byKeyHead(Q)), form.real("scale", 1)));
    return isTransposed ? form.swapLast(keys) : keys;
  }

  mlir::Value valueGradient() {
    return overHeads(product(form.swapLast(form.cast(weights(), elementOf(V))), byKeyHead(form.operand("dY"))));
  }

  mlir::Value maskGradient() {
    mlir::Value gradient = scoreGradient();
    llvm::SmallVector<int64_t> dims(dimsOf(Q));
    dims.back() = dimsOf(gradient).back();
    return form.sumTo(form.reshape(gradient, dims), dimsOf(form.operand("mask")));
  }

private:
  static mlir::Type elementOf(mlir::Value value) { return getElementTypeOrSelf(value.getType()); }

  static double lowest(mlir::Type element) {
    llvm::APFloat least =
        llvm::APFloat::getLargest(llvm::cast<mlir::FloatType>(element).getFloatSemantics(), /*Negative=*/true);
    return least.convertToDouble();
  }

  /// The precise scores of a piece; minus infinity for keys that are its padding.
  mlir::Value heldScores() {
    mlir::Value own = form.precise(scores());
    if (form.offsets().empty())
      return own;
    llvm::SmallVector<int64_t> places(static_cast<size_t>(dimsOf(own).back()));
    std::iota(places.begin(), places.end(), 0);
    mlir::Value begin = form.begin(form.offsets().front()), end = form.end(form.offsets().front());
    mlir::Value isHeld = form.less(form.integers(places), form.sub(end, begin));
    return form.where(isHeld, own, form.scalar(-std::numeric_limits<double>::infinity(), own));
  }

  mlir::Value asColumn(mlir::Value value) {
    llvm::SmallVector<int64_t> dims(dimsOf(value));
    dims.push_back(1);
    return form.reshape(value, dims);
  }

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

  double cap() const { return form.real("softcap", 0); }
  double fill() const { return std::max(form.real("fill"), lowest(elementOf(Q))); }

  OnnxForm &form;
  mlir::Value Q, K, V, mask, logSum;
  bool isTransposed;
  int64_t heads = 0, keyHeads = 0;
};

template <mlir::Value (AttentionForm::*part)()>
Results attention(OnnxForm &form) {
  AttentionForm attention(form);
  return {(attention.*part)()};
}

Results logSum(OnnxForm &form) { return {AttentionForm(form, /*takesSums=*/true).logSums()}; }

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
    {SoftmaxAttentionLogSumOp::getOperationName(), logSum},
    {SoftmaxAttentionByOp::getOperationName(), attention<&AttentionForm::result>},
    {SoftmaxAttentionByQueryGradOp::getOperationName(), attention<&AttentionForm::queryGradient>},
    {SoftmaxAttentionByKeyGradOp::getOperationName(), attention<&AttentionForm::keyGradient>},
    {SoftmaxAttentionByValueGradOp::getOperationName(), attention<&AttentionForm::valueGradient>},
    {SoftmaxAttentionByMaskGradOp::getOperationName(), attention<&AttentionForm::maskGradient>},
    {RotateHalfOp::getOperationName(), rotateHalf},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> attentionForms() { return forms; }

} // namespace apc
