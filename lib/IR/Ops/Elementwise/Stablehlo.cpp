// The elementwise operators in StableHLO.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#include <cmath>
#include <numbers>

namespace apc {

namespace hlo {
namespace {

double real(const llvm::APFloat &number) { return number.convertToDouble(); }

/// A binary operator of opsets before 7 has `axis`; its second operand then begins at that dim of the first.
template <typename Op, Hlo (*function)(Hlo, Hlo)>
HloList legacy(Op op, HloWriter &h) {
  Hlo a = h(op->getOperand(0)), b = h(op->getOperand(1));
  if (auto axis = op->template getAttrOfType<mlir::IntegerAttr>("axis")) {
    int64_t at = axis.getInt() < 0 ? axis.getInt() + a.numDims() : axis.getInt();
    HloDims dims(b.dims());
    dims.resize(a.numDims() - static_cast<size_t>(at), 1);
    b = reshape(b, dims);
  }
  return function(a, b);
}

template <const char *direction>
Hlo compared(Hlo a, Hlo b) {
  return compare(a, direction, b);
}
constexpr char equal[] = "EQ", less[] = "LT", lessOrEqual[] = "LE", greater[] = "GT", greaterOrEqual[] = "GE";

template <const char *name>
Hlo call(Hlo x) {
  return unary(name, x);
}
constexpr char ceiling[] = "stablehlo.ceil", floored[] = "stablehlo.floor", sign[] = "stablehlo.sign",
               rounded[] = "stablehlo.round_nearest_even", tangent[] = "stablehlo.tan", asine[] = "chlo.asin",
               acosine[] = "chlo.acos", atangent[] = "chlo.atan", hyperbolicSine[] = "chlo.sinh",
               hyperbolicCosine[] = "chlo.cosh", areaSine[] = "chlo.asinh", areaCosine[] = "chlo.acosh",
               areaTangent[] = "chlo.atanh";
template <const char *name>
Hlo callTwo(Hlo a, Hlo b) {
  return binary(name, a, b);
}
constexpr char exclusiveOr[] = "stablehlo.xor";

Hlo relu(Hlo x) { return hlo::max(x, filled(*x.writer, x.element(), {}, 0)); }
Hlo softplus(Hlo x) { return relu(x) + unary("stablehlo.log_plus_one", exp(-abs(x))); }
Hlo clamped(Hlo x, double low, double high) {
  return hlo::min(hlo::max(x, filled(*x.writer, x.element(), {}, low)), filled(*x.writer, x.element(), {}, high));
}

Hlo gelu(Hlo x, llvm::StringRef approximate) {
  if (approximate == "tanh")
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1 + erf(x / std::numbers::sqrt2));
}

HloList geluGradient(GeluGradOp op, HloWriter &h) {
  Hlo dy = h(op.getDY()), x = h(op.getX());
  if (op.getApproximate() == "tanh") {
    double scale = std::sqrt(2 / std::numbers::pi);
    Hlo t = tanh(scale * (x + 0.044715 * x * x * x));
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * scale * (1 + 3 * 0.044715 * x * x));
  }
  Hlo below = 0.5 * (1 + erf(x / std::numbers::sqrt2));
  return dy * (below + x * exp(-0.5 * (x * x)) / std::sqrt(2 * std::numbers::pi));
}

HloList swishGradient(SwishGradOp op, HloWriter &h) {
  Hlo x = h(op.getX()), s = sigmoid(x * real(op.getAlpha()));
  return h(op.getDY()) * (s + real(op.getAlpha()) * x * s * (1 - s));
}

Hlo reluGradient(Hlo dy, Hlo x) { return select(compare(x, "GT", 0), dy, filled(dy, 0)); }
Hlo sigmoidGradient(Hlo dy, Hlo x) { return dy * x * (1 - x); }
Hlo tanhGradient(Hlo dy, Hlo x) { return dy * (1 - x * x); }
Hlo erfGradient(Hlo dy, Hlo x) { return dy * (2 / std::sqrt(std::numbers::pi)) * exp(-(x * x)); }
Hlo reciprocal(Hlo x) { return filled(x, 1) / x; }
Hlo hardSwish(Hlo x) { return x * clamped(x / 6 + 0.5, 0, 1); }
Hlo hardSwishGradient(Hlo dy, Hlo x) {
  Hlo slope = select(compare(x, "LT", 3), x / 3 + 0.5, filled(x, 1));
  return dy * select(compare(x, "LE", -3), filled(x, 0), slope);
}

HloList leakyRelu(LeakyReluOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  return select(compare(x, "LT", 0), x * real(op.getAlpha()), x);
}
HloList leakyReluGradient(LeakyReluGradOp op, HloWriter &h) {
  Hlo dy = h(op.getDY());
  return select(compare(h(op.getX()), "GT", 0), dy, dy * real(op.getAlpha()));
}
HloList elu(EluOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  return select(compare(x, "LT", 0), unary("stablehlo.exponential_minus_one", x) * real(op.getAlpha()), x);
}
HloList eluGradient(EluGradOp op, HloWriter &h) {
  Hlo dy = h(op.getDY()), x = h(op.getX());
  return real(op.getScale()) * select(compare(x, "GT", 0), dy, real(op.getAlpha()) * dy * exp(x));
}

HloList clip(ClipOp op, HloWriter &h) {
  Hlo x = h(op.getInput()), low = h(op.getMin()), high = h(op.getMax());
  x = low ? hlo::max(x, low) : x;
  return high ? hlo::min(x, high) : x;
}
HloList clipGradient(ClipGradOp op, HloWriter &h) {
  Hlo dy = h(op.getDY()), x = h(op.getX()), low = h(op.getMin()), high = h(op.getMax());
  dy = low ? select(compare(x, "GE", low), dy, filled(dy, 0)) : dy;
  return high ? select(compare(x, "LE", high), dy, filled(dy, 0)) : dy;
}

HloList remainderOf(ModOp op, HloWriter &h) {
  Hlo a = h(op.getA()), b = h(op.getB()), rest = remainder(a, b);
  if (op.getFmod() != 0)
    return rest;
  // The rest has the sign of the divisor.
  Hlo isOther = callTwo<exclusiveOr>(compare(rest, "LT", 0), compare(b, "LT", 0));
  return select(isOther & compare(rest, "NE", 0), rest + b, rest);
}

HloList converted(mlir::Operation *op, HloWriter &h) {
  Hlo x = h(op->getOperand(0));
  mlir::Type to = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (to.isInteger(1))
    return compare(x, "NE", 0);
  if (to.getIntOrFloatBitWidth() < 16 && llvm::isa<mlir::FloatType>(to))
    return h.refuse("floats of 8 bits, whose rounding differs");
  return convert(x, to);
}

template <Hlo (*function)(Hlo, Hlo)>
HloList folded(mlir::Operation *op, HloWriter &h) {
  Hlo total = h(op->getOperand(0));
  for (mlir::Value other : op->getOperands().drop_front())
    total = function(total, h(other));
  return total;
}
Hlo plus(Hlo a, Hlo b) { return a + b; }
Hlo minus(Hlo a, Hlo b) { return a - b; }
Hlo times(Hlo a, Hlo b) { return a * b; }
Hlo over(Hlo a, Hlo b) { return a / b; }
Hlo both(Hlo a, Hlo b) { return a & b; }
Hlo either(Hlo a, Hlo b) { return a | b; }

HloList powerOf(PowOp op, HloWriter &h) {
  Hlo x = h(op.getOperand(0)), y = h(op.getOperand(1));
  return x.isFloat() ? power(x, convert(y, x.element())) : h.refuse("powers of integers");
}

HloList dropout(DropoutOp op, HloWriter &h) {
  auto mode = constantOf(op.getTrainingMode());
  auto ratio = op.getRatio() ? constantOf(op.getRatio()) : mlir::DenseElementsAttr();
  bool isOff = isAbsent(op.getTrainingMode()) || (mode && mode.isSplat() && !mode.getSplatValue<bool>());
  bool isZero = ratio && ratio.isSplat() && ratio.getSplatValue<llvm::APFloat>().isZero();
  if (!isOff && !isZero)
    return h.refuse("random numbers");
  Hlo x = h(op.getData());
  if (isAbsent(op.getMask()))
    return HloList{x, Hlo()};
  mlir::Type type = llvm::cast<mlir::RankedTensorType>(op.getMask().getType()).getElementType();
  return HloList{x, filled(h, type, x.dims(), 1)};
}

HloList softsignOf(SoftsignOp op, HloWriter &h) { return h(op.getX()) / (1 + abs(h(op.getX()))); }
HloList mishOf(MishOp op, HloWriter &h) { return h(op.getX()) * tanh(softplus(h(op.getX()))); }
HloList hardSigmoidOf(HardSigmoidOp op, HloWriter &h) {
  return clamped(h(op.getX()) * real(op.getAlpha()) + real(op.getBeta()), 0, 1);
}
HloList geluOf(GeluOp op, HloWriter &h) { return gelu(h(op.getX()), op.getApproximate()); }
HloList biasGeluOf(BiasGeluOp op, HloWriter &h) { return gelu(h(op.getA()) + h(op.getB()), "none"); }
HloList fastGeluOf(FastGeluOp op, HloWriter &h) {
  Hlo x = h(op.getX()), bias = h(op.getBias());
  return gelu(bias ? x + bias : x, "tanh");
}
HloList swishOf(SwishOp op, HloWriter &h) { return h(op.getX()) * sigmoid(h(op.getX()) * real(op.getAlpha())); }
HloList quickGeluOf(QuickGeluOp op, HloWriter &h) { return h(op.getX()) * sigmoid(h(op.getX()) * real(op.getAlpha())); }
HloList isNaNOf(IsNaNOp op, HloWriter &h) { return compare(h(op.getX()), "NE", h(op.getX())); }
HloList pReluOf(PReluOp op, HloWriter &h) {
  Hlo x = h(op.getX());
  return select(compare(x, "LT", 0), x * h(op.getSlope()), x);
}
HloList meanOf(MeanOp op, HloWriter &h) {
  return folded<plus>(op, h).front() / static_cast<double>(op->getNumOperands());
}
HloList whereOf(WhereOp op, HloWriter &h) { return select(h(op.getCondition()), h(op.getX()), h(op.getY())); }

constexpr HloLowering rows[] = {
    hloUnary<AbsOp, abs>(),
    hloUnary<NegOp, operator- >(),
    hloUnary<SignOp, call<sign>>(),
    hloUnary<CeilOp, call<ceiling>>(),
    hloUnary<FloorOp, call<floored>>(),
    hloUnary<RoundOp, call<rounded>>(),
    hloUnary<ReciprocalOp, reciprocal>(),
    hloUnary<SqrtOp, sqrt>(),
    hloUnary<ExpOp, exp>(),
    hloUnary<LogOp, log>(),
    hloUnary<ErfOp, erf>(),
    hloUnary<ProbitOp, hlo::probit>(),
    hloUnary<SinOp, sin>(),
    hloUnary<CosOp, cos>(),
    hloUnary<TanOp, call<tangent>>(),
    hloUnary<AsinOp, call<asine>>(),
    hloUnary<AcosOp, call<acosine>>(),
    hloUnary<AtanOp, call<atangent>>(),
    hloUnary<SinhOp, call<hyperbolicSine>>(),
    hloUnary<CoshOp, call<hyperbolicCosine>>(),
    hloUnary<AsinhOp, call<areaSine>>(),
    hloUnary<AcoshOp, call<areaCosine>>(),
    hloUnary<AtanhOp, call<areaTangent>>(),
    hloUnary<TanhOp, tanh>(),
    hloUnary<SigmoidOp, sigmoid>(),
    hloUnary<SoftplusOp, softplus>(),
    hloRow<SoftsignOp, softsignOf>(),
    hloRow<MishOp, mishOf>(),
    hloUnary<HardSwishOp, hardSwish>(),
    hloUnary<ReluOp, relu>(),
    hloRow<EluOp, elu>(),
    hloRow<LeakyReluOp, leakyRelu>(),
    hloRow<HardSigmoidOp, hardSigmoidOf>(),
    hloRow<GeluOp, geluOf>(),
    hloRow<BiasGeluOp, biasGeluOf>(),
    hloRow<FastGeluOp, fastGeluOf>(),
    hloRow<SwishOp, swishOf>(),
    hloRow<QuickGeluOp, quickGeluOf>(),
    hloBinary<ReluGradOp, reluGradient>(),
    hloBinary<SigmoidGradOp, sigmoidGradient>(),
    hloBinary<TanhGradOp, tanhGradient>(),
    hloBinary<ErfGradOp, erfGradient>(),
    hloRow<GeluGradOp, geluGradient>(),
    hloRow<SwishGradOp, swishGradient>(),
    hloRow<EluGradOp, eluGradient>(),
    hloRow<LeakyReluGradOp, leakyReluGradient>(),
    hloBinary<HardSwishGradOp, hardSwishGradient>(),
    hloUnary<NotOp, isNot>(),
    hloUnary<BitwiseNotOp, isNot>(),
    hloRow<IsNaNOp, isNaNOf>(),
    hloRow<AddOp, legacy<AddOp, plus>>(),
    hloRow<SubOp, legacy<SubOp, minus>>(),
    hloRow<MulOp, legacy<MulOp, times>>(),
    hloRow<DivOp, legacy<DivOp, over>>(),
    hloRow<PowOp, powerOf>(),
    hloRow<ModOp, remainderOf>(),
    hloRow<PReluOp, pReluOf>(),
    hloRow<ClipOp, clip>(),
    hloRow<ClipGradOp, clipGradient>(),
    hloRow<EqualOp, legacy<EqualOp, compared<equal>>>(),
    hloRow<LessOp, legacy<LessOp, compared<less>>>(),
    hloRow<LessOrEqualOp, legacy<LessOrEqualOp, compared<lessOrEqual>>>(),
    hloRow<GreaterOp, legacy<GreaterOp, compared<greater>>>(),
    hloRow<GreaterOrEqualOp, legacy<GreaterOrEqualOp, compared<greaterOrEqual>>>(),
    hloRow<AndOp, legacy<AndOp, both>>(),
    hloRow<OrOp, legacy<OrOp, either>>(),
    hloRow<XorOp, legacy<XorOp, callTwo<exclusiveOr>>>(),
    hloBinary<BitwiseAndOp, both>(),
    hloBinary<BitwiseOrOp, either>(),
    hloBinary<BitwiseXorOp, callTwo<exclusiveOr>>(),
    hloRow<SumOp, folded<plus>>(),
    hloRow<MaxOp, folded<hlo::max>>(),
    hloRow<MinOp, folded<hlo::min>>(),
    hloRow<MeanOp, meanOf>(),
    hloRow<WhereOp, whereOf>(),
    hloRow<CastOp, converted>(),
    hloRow<CastLikeOp, converted>(),
    hloRow<DropoutOp, dropout>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloElementwise();
llvm::ArrayRef<HloLowering> hloElementwise() { return hlo::rows; }

} // namespace apc
