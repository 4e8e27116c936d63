// Gradients of reductions: spread over the dims that were reduced. Choices at ties are PyTorch's.
#include "apc/IR/Ops/Reduction/Reduction.h"

#include "../Attributes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

namespace {

using mlir::Value;

/// The tensors of a reduction with its dims kept as 1, so that they broadcast over the data: a [2, 3] that is reduced
/// to [2] has the gradient and the result [2, 1].
class KeptDims {
public:
  explicit KeptDims(GradientBuilder &g) : g(g), dims(dimsOf(g.operand(0))) {
    mlir::Operation *op = g.getForward();
    auto reduced = reducedDims(op, intAttribute(op, "noop_with_empty_axes", 0) != 0);
    assert(mlir::succeeded(reduced) && "the forward op is well formed");
    for (unsigned dim : reduced->set_bits()) {
      dims[dim] = 1;
      axes.push_back(dim);
    }
  }

  Value incoming() { return kept(g.incoming()); }
  Value result() { return kept(g.result()); }
  /// The number of elements that one element of the result is made of.
  int64_t count() const {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= dimsOf(g.operand(0))[axis];
    return count;
  }
  /// A tensor of the data's dims, reduced.
  Value sum(Value value) {
    if (axes.empty())
      return value;
    return g.make<ReduceSumOp>({value, g.integers(axes)}, g.attribute("keepdims", 1));
  }
  Value product(Value value) {
    if (axes.empty())
      return value;
    return g.make<ReduceProdOp>({value, g.integers(axes)}, g.attribute("keepdims", 1));
  }
  /// A tensor with kept dims, given to each element of the data.
  Value spread(Value value) {
    llvm::ArrayRef<int64_t> whole = dimsOf(g.operand(0));
    return dimsOf(value) == whole ? value : g.make<ExpandOp>({value, g.integers(whole)});
  }

private:
  Value kept(Value value) {
    if (dimsOf(value) == llvm::ArrayRef<int64_t>(dims))
      return value;
    return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", 1));
  }

  GradientBuilder &g;
  llvm::SmallVector<int64_t, 4> dims, axes;
};

bool giveFirst(GradientBuilder &g, Value gradient) {
  g.give(0, gradient);
  return true;
}

Value isZero(GradientBuilder &g, Value value) { return g.make<EqualOp>({value, g.scalar(0, value)}); }
Value whereNot(GradientBuilder &g, Value condition, Value a) { return g.make<WhereOp>({condition, g.scalar(0, a), a}); }

/// Elements that are equal to the extremum share what arrives there.
bool giveTied(GradientBuilder &g) {
  KeptDims kept(g);
  Value tied = g.make<EqualOp>({g.operand(0), kept.result()});
  Value share = g.div(kept.incoming(), kept.sum(g.castTo(tied, g.result())));
  return giveFirst(g, g.where(tied, share));
}

} // namespace

bool ReduceSumOp::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  return giveFirst(g, kept.spread(kept.incoming()));
}

bool ReduceMeanOp::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  Value incoming = kept.incoming();
  return giveFirst(g, kept.spread(g.mul(incoming, g.scalar(1 / static_cast<double>(kept.count()), incoming))));
}

bool ReduceMaxOp::differentiate(GradientBuilder &g) { return giveTied(g); }
bool ReduceMinOp::differentiate(GradientBuilder &g) { return giveTied(g); }

// The product of all others is the product over the element, where no element is 0. Where one is, only that one has a
// gradient, the product of the rest; where two are, none has.
bool ReduceProdOp::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  Value x = g.operand(0), zero = isZero(g, x);
  Value filled = g.make<WhereOp>({zero, g.scalar(1, x), x});
  Value numZeros = kept.sum(g.castTo(zero, x));
  Value product = g.mul(kept.incoming(), kept.product(filled));
  Value withNone = g.div(g.where(isZero(g, numZeros), product), filled);
  Value isOnly = g.make<EqualOp>({numZeros, g.scalar(1, numZeros)});
  return giveFirst(g, g.make<WhereOp>({zero, g.where(isOnly, product), withNone}));
}

bool ReduceL1Op::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.mul(g.make<SignOp>({g.operand(0)}), KeptDims(g).incoming()));
}

bool ReduceL2Op::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  Value norm = kept.result();
  return giveFirst(g, g.mul(g.operand(0), whereNot(g, isZero(g, norm), g.div(kept.incoming(), norm))));
}

bool ReduceSumSquareOp::differentiate(GradientBuilder &g) {
  Value incoming = KeptDims(g).incoming();
  return giveFirst(g, g.mul(g.operand(0), g.mul(incoming, g.scalar(2, incoming))));
}

// y = log(sum x): g / sum x.
bool ReduceLogSumOp::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  return giveFirst(g, kept.spread(g.div(kept.incoming(), g.make<ExpOp>({kept.result()}))));
}

bool ReduceLogSumExpOp::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  Value share = g.make<ExpOp>({g.sub(g.operand(0), kept.result())});
  return giveFirst(g, g.mul(share, kept.incoming()));
}

bool LogSumExpOp::differentiate(GradientBuilder &g) {
  KeptDims kept(g);
  Value x = g.castTo(g.operand(0), g.result());
  return giveFirst(g, g.castTo(g.mul(g.make<ExpOp>({g.sub(x, kept.result())}), kept.incoming()), g.operand(0)));
}

bool TopKOp::differentiate(GradientBuilder &g) {
  Value zeros = g.make<ExpandOp>({g.scalar(0, g.operand(0)), g.integers(dimsOf(g.operand(0)))});
  return giveFirst(g, g.make<ScatterElementsOp>({zeros, g.result(1), g.incoming()},
                                                g.attribute("axis", static_cast<int64_t>(getAxis()))));
}

// The sum of what arrives at the element and behind it.
bool CumSumOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.make<CumSumOp>({g.incoming(), g.operand(1)},
                                       {g.attribute("exclusive", static_cast<int64_t>(getExclusive())),
                                        g.attribute("reverse", static_cast<int64_t>(getReverse() == 0))}));
}

// The products that an element is in, each without it: where it is not 0, those over it that have no zero; where it is
// 0, those of which it is the only zero.
bool CumProdOp::differentiate(GradientBuilder &g) {
  Value x = g.operand(0), zero = isZero(g, x), filled = g.make<WhereOp>({zero, g.scalar(1, x), x});
  mlir::NamedAttribute exclusive = g.attribute("exclusive", static_cast<int64_t>(getExclusive()));
  mlir::NamedAttribute reverse = g.attribute("reverse", static_cast<int64_t>(getReverse()));
  mlir::NamedAttribute back = g.attribute("reverse", static_cast<int64_t>(getReverse() == 0));
  Value numZeros = g.make<CumSumOp>({g.castTo(zero, x), g.operand(1)}, {exclusive, reverse});
  Value product = g.mul(g.incoming(), g.make<CumProdOp>({filled, g.operand(1)}, {exclusive, reverse}));
  auto sumWith = [&](double count) {
    Value counted = g.make<EqualOp>({numZeros, g.scalar(count, numZeros)});
    return g.make<CumSumOp>({g.where(counted, product), g.operand(1)}, {exclusive, back});
  };
  return giveFirst(g, g.make<WhereOp>({zero, sumWith(1), g.div(sumWith(0), filled)}));
}

} // namespace apc
