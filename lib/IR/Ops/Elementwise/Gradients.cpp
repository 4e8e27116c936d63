// Gradients of elementwise operators. Choices at kinks are PyTorch's.
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <numbers>

namespace apc {

namespace {

using mlir::Value;

/// Gives the gradient of operand 0, of the shape of the result.
bool giveFirst(GradientBuilder &g, Value gradient) {
  g.give(0, gradient);
  return true;
}

Value multiplied(GradientBuilder &g, Value value, double factor) { return g.mul(value, g.scalar(factor, value)); }
Value squared(GradientBuilder &g, Value value) { return g.mul(value, value); }
/// `a` where the condition does not hold, 0 elsewhere.
Value whereNot(GradientBuilder &g, Value condition, Value a) { return g.make<WhereOp>({condition, g.scalar(0, a), a}); }
Value isPositive(GradientBuilder &g, Value value) { return g.make<GreaterOp>({value, g.scalar(0, value)}); }

/// The dim of operand 0 at which the dims of operand 1 begin, where that is not the end.
std::optional<size_t> placeOf(mlir::Operation *op, std::optional<int64_t> axis) {
  auto a = static_cast<int64_t>(dimsOf(op->getOperand(0)).size()),
       b = static_cast<int64_t>(dimsOf(op->getOperand(1)).size());
  if (!axis || b == 0 || *axis < 0 || *axis + b >= a)
    return std::nullopt;
  return static_cast<size_t>(*axis);
}

/// Operand 1 of an op of two operands, whose dims may stand at an axis of operand 0 (opsets before 7).
class PlacedOperand {
public:
  PlacedOperand(GradientBuilder &g, std::optional<int64_t> axis) : g(g), place(placeOf(g.getForward(), axis)) {}

  /// The operand with dims that broadcast to the result: B [3, 4] at axis 1 of A [2, 3, 4, 5] is [3, 4, 1].
  Value aligned() {
    Value value = g.operand(1);
    if (!place)
      return value;
    llvm::SmallVector<int64_t, 4> dims(dimsOf(value));
    dims.append(dimsOf(g.operand(0)).size() - *place - dims.size(), 1);
    return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", 1));
  }
  /// States the operand's gradient: the sum of `gradient`, which has the result's shape.
  void give(Value gradient) { g.give(1, place ? sum(gradient) : g.sumTo(gradient, g.operand(1))); }

private:
  Value sum(Value gradient) {
    Value like = g.operand(1);
    llvm::ArrayRef<int64_t> from = dimsOf(gradient), to = dimsOf(like);
    llvm::SmallVector<int64_t, 4> axes;
    for (size_t dim = 0; dim < from.size(); ++dim)
      if (dim < *place || dim >= *place + to.size() || to[dim - *place] != from[dim])
        axes.push_back(static_cast<int64_t>(dim));
    Value total = g.make<ReduceSumOp>({gradient, g.integers(axes)}, g.attribute("keepdims", 0));
    return g.castTo(g.reshapeTo(total, like), like);
  }

  GradientBuilder &g;
  std::optional<size_t> place;
};

} // namespace

bool AddOp::differentiate(GradientBuilder &g) {
  if (g.wants(0))
    g.give(0, g.sumTo(g.incoming(), g.operand(0)));
  if (g.wants(1))
    PlacedOperand(g, getAxis()).give(g.incoming());
  return true;
}

bool SubOp::differentiate(GradientBuilder &g) {
  if (g.wants(0))
    g.give(0, g.sumTo(g.incoming(), g.operand(0)));
  if (g.wants(1))
    PlacedOperand(g, getAxis()).give(g.neg(g.incoming()));
  return true;
}

bool MulOp::differentiate(GradientBuilder &g) {
  PlacedOperand b(g, getAxis());
  if (g.wants(0))
    g.give(0, g.sumTo(g.mul(g.incoming(), b.aligned()), g.operand(0)));
  if (g.wants(1))
    b.give(g.mul(g.incoming(), g.operand(0)));
  return true;
}

// y = a / b: dL/db = -g y / b, of which g / b is the gradient of a before it is summed.
bool DivOp::differentiate(GradientBuilder &g) {
  PlacedOperand b(g, getAxis());
  Value quotient = g.div(g.incoming(), b.aligned());
  if (g.wants(0))
    g.give(0, g.sumTo(quotient, g.operand(0)));
  if (g.wants(1))
    b.give(g.neg(g.mul(quotient, g.result())));
  return true;
}

/// g e x^(e - 1), which is 0 where e is.
static Value baseGradient(GradientBuilder &g, Value exponent) {
  Value x = g.operand(0);
  mlir::DenseElementsAttr constant = constantOf(g.operand(1));
  if (constant && constant.getNumElements() == 1) {
    double e = getElement(Tensor::read(constant), 0).asReal();
    if (e == 0 || e == 1)
      return multiplied(g, g.incoming(), e);
    return g.mul(g.incoming(), multiplied(g, e == 2 ? x : g.make<PowOp>({x, g.scalar(e - 1, x)}), e));
  }
  Value e = g.castTo(exponent, x);
  Value power = g.mul(e, g.make<PowOp>({x, g.sub(e, g.scalar(1, e))}));
  return g.mul(g.incoming(), whereNot(g, g.make<EqualOp>({e, g.scalar(0, e)}), power));
}

// d/de x^e = y ln x, taken as 0 at x = 0 for e >= 0.
bool PowOp::differentiate(GradientBuilder &g) {
  PlacedOperand b(g, getAxis());
  Value x = g.operand(0), exponent = b.aligned();
  if (g.wants(0))
    g.give(0, g.sumTo(baseGradient(g, exponent), x));
  if (g.wants(1)) {
    Value isZero = g.make<EqualOp>({x, g.scalar(0, x)});
    Value isFlat = g.make<AndOp>({isZero, g.make<GreaterOrEqualOp>({exponent, g.scalar(0, exponent)})});
    Value slope = g.mul(g.result(), g.make<LogOp>({x}));
    b.give(g.mul(g.incoming(), whereNot(g, isFlat, slope)));
  }
  return true;
}

// y = a - b q with a whole number q, the quotient rounded as `fmod` says: dy/db = -q = (y - a) / b.
bool ModOp::differentiate(GradientBuilder &g) {
  Value a = g.operand(0), b = g.operand(1);
  if (g.wants(0))
    g.give(0, g.sumTo(g.incoming(), a));
  if (g.wants(1))
    g.give(1, g.sumTo(g.mul(g.incoming(), g.div(g.sub(g.result(), a), b)), b));
  return true;
}

bool PReluOp::differentiate(GradientBuilder &g) {
  bool atChannels = getOpsetVersion() < 7 && dimsOf(getSlope()).size() == 1 && dimsOf(getSlope())[0] != 1;
  PlacedOperand slope(g, atChannels ? std::optional<int64_t>(1) : std::nullopt);
  Value positive = isPositive(g, g.operand(0));
  if (g.wants(0))
    g.give(0, g.make<WhereOp>({positive, g.incoming(), g.mul(g.incoming(), slope.aligned())}));
  if (g.wants(1))
    slope.give(whereNot(g, positive, g.mul(g.incoming(), g.operand(0))));
  return true;
}

bool AbsOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.mul(g.incoming(), g.make<SignOp>({g.operand(0)})));
}

bool ReciprocalOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.neg(g.mul(g.incoming(), squared(g, g.result()))));
}

bool SqrtOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.div(multiplied(g, g.incoming(), 0.5), g.result()));
}

bool ExpOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.mul(g.incoming(), g.result())); }
bool LogOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.div(g.incoming(), g.operand(0))); }

bool ErfOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.make<ErfGradOp>({g.incoming(), g.operand(0)})); }

bool SinOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.mul(g.incoming(), g.make<CosOp>({g.operand(0)})));
}

bool CosOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.neg(g.mul(g.incoming(), g.make<SinOp>({g.operand(0)}))));
}

bool TanOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.mul(g.incoming(), g.add(squared(g, g.result()), g.scalar(1, g.result()))));
}

/// g / sqrt(shift + sign x^2).
static Value overRoot(GradientBuilder &g, double shift, double sign) {
  Value square = squared(g, g.operand(0)), one = g.scalar(shift, square);
  Value under = sign < 0 ? g.sub(one, square) : g.add(square, one);
  return g.div(g.incoming(), g.make<SqrtOp>({under}));
}

bool AsinOp::differentiate(GradientBuilder &g) { return giveFirst(g, overRoot(g, 1, -1)); }
bool AcosOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.neg(overRoot(g, 1, -1))); }
bool AsinhOp::differentiate(GradientBuilder &g) { return giveFirst(g, overRoot(g, 1, 1)); }
bool AcoshOp::differentiate(GradientBuilder &g) { return giveFirst(g, overRoot(g, -1, 1)); }

bool AtanOp::differentiate(GradientBuilder &g) {
  Value square = squared(g, g.operand(0));
  return giveFirst(g, g.div(g.incoming(), g.add(square, g.scalar(1, square))));
}

bool AtanhOp::differentiate(GradientBuilder &g) {
  Value square = squared(g, g.operand(0));
  return giveFirst(g, g.div(g.incoming(), g.sub(g.scalar(1, square), square)));
}

bool SinhOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.mul(g.incoming(), g.make<CoshOp>({g.operand(0)})));
}

bool CoshOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.mul(g.incoming(), g.make<SinhOp>({g.operand(0)})));
}

bool CastOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.castTo(g.incoming(), g.operand(0))); }
bool CastLikeOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.castTo(g.incoming(), g.operand(0))); }

bool WhereOp::differentiate(GradientBuilder &g) {
  if (g.wants(1))
    g.give(1, g.sumTo(g.where(g.operand(0), g.incoming()), g.operand(1)));
  if (g.wants(2))
    g.give(2, g.sumTo(whereNot(g, g.operand(0), g.incoming()), g.operand(2)));
  return true;
}

static bool giveSum(GradientBuilder &g, Value gradient) {
  for (unsigned i = 0; i < g.getForward()->getNumOperands(); ++i)
    if (g.wants(i))
      g.give(i, g.sumTo(gradient, g.operand(i)));
  return true;
}

bool SumOp::differentiate(GradientBuilder &g) { return giveSum(g, g.incoming()); }

bool MeanOp::differentiate(GradientBuilder &g) {
  return giveSum(g, multiplied(g, g.incoming(), 1.0 / (*this)->getNumOperands()));
}

/// Operands that are equal to the result share what arrives there.
static bool giveTied(GradientBuilder &g) {
  unsigned numOperands = g.getForward()->getNumOperands();
  llvm::SmallVector<Value> chosen, counts;
  for (unsigned i = 0; i < numOperands; ++i) {
    chosen.push_back(g.make<EqualOp>({g.operand(i), g.result()}));
    counts.push_back(g.castTo(chosen.back(), g.result()));
  }
  Value share = numOperands == 1 ? g.incoming() : g.div(g.incoming(), g.make<SumOp>(counts));
  for (unsigned i = 0; i < numOperands; ++i)
    if (g.wants(i))
      g.give(i, g.sumTo(g.where(chosen[i], share), g.operand(i)));
  return true;
}

bool MaxOp::differentiate(GradientBuilder &g) { return giveTied(g); }
bool MinOp::differentiate(GradientBuilder &g) { return giveTied(g); }

} // namespace apc
