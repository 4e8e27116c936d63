// Elementwise operators in ONNX: slopes of activations, and arithmetic of old opsets.
#include "../OnnxForm.h"

#include <cmath>
#include <numbers>

namespace apc {

namespace {

using Results = llvm::SmallVector<mlir::Value, 1>;

constexpr double pi = std::numbers::pi, rootOfTwo = std::numbers::sqrt2;

/// Opsets before 7 put B at a dim of A; ONNX has nothing but NumPy's broadcasting since.
Results broadcastAsBefore(OnnxForm &form) {
  mlir::Operation *op = form.getOp();
  if (form.integer("broadcast") == 0)
    return {op->getResult(0)};
  mlir::Value b = op->getOperand(1);
  auto numDims = static_cast<int64_t>(dimsOf(op->getOperand(0)).size());
  llvm::SmallVector<int64_t> dims(dimsOf(b));
  if (form.has("axis"))
    dims.resize(static_cast<size_t>(numDims - (form.integer("axis") + numDims) % numDims), 1);
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands({op->getOperand(0), form.reshape(b, dims)});
  state.addTypes(op->getResultTypes());
  return {form.create(state)->getResult(0)};
}

/// Slopes are functions of what the forward op keeps; an arriving gradient multiplies them.
template <mlir::Value (*slope)(OnnxForm &, mlir::Value)>
Results slopeTimes(OnnxForm &form) {
  return {form.mul(form.operand("dY"), slope(form, form.operand("X")))};
}

mlir::Value ofSigmoid(OnnxForm &form, mlir::Value y) { return form.mul(y, form.oneLess(y)); }
mlir::Value ofTanh(OnnxForm &form, mlir::Value y) { return form.oneLess(form.mul(y, y)); }
mlir::Value bell(OnnxForm &form, mlir::Value x, double width) { ///< exp(-width x^2)
  return form.exp(form.mul(form.mul(x, x), -width));
}
mlir::Value ofErf(OnnxForm &form, mlir::Value x) { return form.mul(bell(form, x, 1), 2 / std::sqrt(pi)); }

mlir::Value ofGelu(OnnxForm &form, mlir::Value x) {
  if (form.text("approximate") != "tanh") {
    mlir::Value below = form.mul(form.add(form.make<ErfOp>({form.mul(x, 1 / rootOfTwo)}), 1), 0.5);
    return form.add(below, form.mul(form.mul(x, bell(form, x, 0.5)), 1 / std::sqrt(2 * pi)));
  }
  constexpr double cubic = 0.044715;
  double scale = std::sqrt(2 / pi);
  mlir::Value square = form.mul(x, x);
  mlir::Value t = form.make<TanhOp>({form.mul(form.mul(x, form.add(form.mul(square, cubic), 1)), scale)});
  mlir::Value inner = form.mul(form.add(form.mul(square, 3 * cubic), 1), 0.5 * scale);
  return form.add(form.mul(form.add(t, 1), 0.5), form.mul(form.mul(x, ofTanh(form, t)), inner));
}

mlir::Value ofSwish(OnnxForm &form, mlir::Value x) {
  double alpha = form.real("alpha", 1);
  mlir::Value s = form.make<SigmoidOp>({form.mul(x, alpha)});
  return form.add(s, form.mul(form.mul(x, ofSigmoid(form, s)), alpha));
}

mlir::Value ofMish(OnnxForm &form, mlir::Value x) {
  mlir::Value t = form.make<TanhOp>({form.make<SoftplusOp>({x})});
  return form.add(t, form.mul(form.mul(x, ofTanh(form, t)), form.make<SigmoidOp>({x})));
}

mlir::Value isPositive(OnnxForm &form, mlir::Value x) { return form.greater(x, form.scalar(0, x)); }

Results ofRelu(OnnxForm &form) { return {form.where(isPositive(form, form.operand("X")), form.operand("dY"))}; }

Results ofLeakyRelu(OnnxForm &form) {
  mlir::Value dY = form.operand("dY");
  return {form.where(isPositive(form, form.operand("X")), dY, form.mul(dY, form.real("alpha")))};
}

Results ofElu(OnnxForm &form) {
  mlir::Value dY = form.mul(form.operand("dY"), form.real("scale", 1)), x = form.operand("X");
  mlir::Value below = form.make<MinOp>({x, form.scalar(0, x)}); // no overflow where it does not count
  return {form.where(isPositive(form, x), dY, form.mul(form.mul(dY, form.exp(below)), form.real("alpha")))};
}

Results ofHardSigmoid(OnnxForm &form) {
  mlir::Value x = form.operand("X"), line = form.add(form.mul(x, form.real("alpha")), form.real("beta"));
  mlir::Value inside = form.both(isPositive(form, line), form.less(line, form.scalar(1, line)));
  return {form.where(inside, form.mul(form.operand("dY"), form.real("alpha")))};
}

mlir::Value ofHardSwish(OnnxForm &form, mlir::Value x) {
  mlir::Value middle = form.add(form.mul(x, 1.0 / 3), 0.5), one = form.scalar(1, x);
  mlir::Value slope = form.where(form.less(x, form.scalar(3, x)), middle, one);
  return form.where(form.greater(x, form.scalar(-3, x)), slope);
}

Results ofClip(OnnxForm &form) {
  mlir::Value result = form.operand("dY"), x = form.operand("X");
  if (mlir::Value least = form.operand("min"))
    result = form.where(form.make<GreaterOrEqualOp>({x, least}), result);
  if (mlir::Value most = form.operand("max"))
    result = form.where(form.make<LessOrEqualOp>({x, most}), result);
  return {result};
}

/// By the inverse of erf of Winitzki 2008, good to 2e-3, with which ONNX Runtime computes it, and one step of Newton's.
Results probit(OnnxForm &form) {
  constexpr double a = 0.147;
  mlir::Value p = form.precise(form.operand("X")), y = form.add(form.mul(p, 2), -1);
  mlir::Value logarithm = form.log(form.mul(form.mul(p, form.oneLess(p)), 4)); // of 1 - y^2
  mlir::Value t = form.add(form.mul(logarithm, 0.5), 2 / (pi * a));
  mlir::Value root = form.sqrt(form.sub(form.mul(t, t), form.mul(logarithm, 1 / a)));
  mlir::Value start = form.mul(form.sqrt(form.sub(root, t)), form.make<SignOp>({y}));
  mlir::Value error = form.div(form.sub(form.make<ErfOp>({start}), y), ofErf(form, start));
  mlir::Value isInside = form.less(form.mul(y, y), form.scalar(1, y));
  return {form.asResult(form.mul(form.sub(start, form.where(isInside, error)), rootOfTwo))};
}

Results prelu(OnnxForm &form) {
  if (form.integer("opset_version") < 7)
    return form.refuse("its slope is that of opsets before 7");
  return {form.getOp()->getResult(0)};
}

constexpr OnnxFormEntry forms[] = {
    {AddOp::getOperationName(), broadcastAsBefore},
    {SubOp::getOperationName(), broadcastAsBefore},
    {MulOp::getOperationName(), broadcastAsBefore},
    {DivOp::getOperationName(), broadcastAsBefore},
    {PowOp::getOperationName(), broadcastAsBefore},
    {EqualOp::getOperationName(), broadcastAsBefore},
    {LessOp::getOperationName(), broadcastAsBefore},
    {GreaterOp::getOperationName(), broadcastAsBefore},
    {AndOp::getOperationName(), broadcastAsBefore},
    {OrOp::getOperationName(), broadcastAsBefore},
    {XorOp::getOperationName(), broadcastAsBefore},
    {PReluOp::getOperationName(), prelu},
    {ProbitOp::getOperationName(), probit},
    {ReluGradOp::getOperationName(), ofRelu},
    {LeakyReluGradOp::getOperationName(), ofLeakyRelu},
    {EluGradOp::getOperationName(), ofElu},
    {SigmoidGradOp::getOperationName(), slopeTimes<ofSigmoid>},
    {TanhGradOp::getOperationName(), slopeTimes<ofTanh>},
    {ErfGradOp::getOperationName(), slopeTimes<ofErf>},
    {GeluGradOp::getOperationName(), slopeTimes<ofGelu>},
    {SwishGradOp::getOperationName(), slopeTimes<ofSwish>},
    {MishGradOp::getOperationName(), slopeTimes<ofMish>},
    {HardSigmoidGradOp::getOperationName(), ofHardSigmoid},
    {HardSwishGradOp::getOperationName(), slopeTimes<ofHardSwish>},
    {ClipGradOp::getOperationName(), ofClip},
};

} // namespace

llvm::ArrayRef<OnnxFormEntry> elementwiseForms() { return forms; }

} // namespace apc
