// Gradients of recurrent operators: the backward pass through the positions, then products and sums over all of them.
#include "../ForwardAttributes.h"
#include "Sizes.h"

#include "apc/IR/Gradient.h"
#include "apc/IR/Ops/Contraction/Contraction.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

using namespace recurrent;
using mlir::Value;

namespace {

/// Gradients of the parameters from those of the gates' sums, which have the letters `sequence` (`sdbg` or `bsdg`).
class ParameterGradients {
public:
  ParameterGradients(GradientBuilder &g, const RecurrentSizes &sizes, mlir::Operation *backward)
      : g(g), sizes(sizes), backward(backward) {}

  Value ofInput() const { return g.einsum(sequence('g') + ",dgi->" + input(), {gates(), g.operand(W)}); }
  Value ofW() const { return g.einsum(sequence('g') + "," + input() + "->dgi", {gates(), g.operand(X)}); }

  Value ofR() const {
    bool hasReset = sizes.cell == Cell::Gru && !isAbsent(backward->getResult(3));
    if (!hasReset)
      return product(recurrent(), backward->getResult(1));
    int64_t split = 2 * sizes.hidden;
    return g.make<ConcatOp>({product(lastSlice(gates(), 0, split), backward->getResult(1)),
                             product(lastSlice(gates(), split, sizes.rows()), backward->getResult(3))},
                            g.attribute("axis", 1));
  }

  /// Wb and Rb are added to the same sums, but for a Gru whose reset comes behind R.
  Value ofB() const {
    Value ofInput = sum(gates()), ofState = recurrent() == gates() ? ofInput : sum(recurrent());
    return g.make<ConcatOp>({ofInput, ofState}, g.attribute("axis", 1));
  }

  // The gates i, o and f stand in front in the sums, as in P.
  Value ofPeepholes() const { return sum(g.mul(lastSlice(gates(), 0, sizes.peepholes()), backward->getResult(4))); }

private:
  Value gates() const { return backward->getResult(0); }
  Value recurrent() const {
    bool isApart = sizes.cell == Cell::Gru && !isAbsent(backward->getResult(4));
    return isApart ? backward->getResult(4) : gates();
  }
  std::string sequence(char width) const { return (sizes.batchFirst ? "bsd" : "sdb") + std::string(1, width); }
  std::string input() const { return sizes.batchFirst ? "bsi" : "sbi"; }
  Value product(Value slopes, Value states) const {
    return g.einsum(sequence('g') + "," + sequence('h') + "->dgh", {slopes, states});
  }
  Value sum(Value value) const {
    llvm::SmallVector<int64_t, 2> axes = {0, sizes.batchFirst ? 1 : 2};
    return g.make<ReduceSumOp>({value, g.integers(axes)}, g.attribute("keepdims", 0));
  }
  Value lastSlice(Value value, int64_t begin, int64_t end) const {
    return g.make<SliceOp>({value, g.integers({begin}), g.integers({end}), g.integers({3}), g.absent()});
  }

  GradientBuilder &g;
  const RecurrentSizes &sizes;
  mlir::Operation *backward;
};

mlir::Operation *makeBackward(GradientBuilder &g, Cell cell) {
  llvm::SmallVector<Value, 11> operands(g.getForward()->getOperands().take_front(numOperands(cell)));
  for (unsigned result = 0; result < g.getForward()->getNumResults(); ++result)
    operands.push_back(g.incoming(result) ? g.incoming(result) : g.absent());
  auto attributes = forwardAttributes(g, {"activation_alpha", "activation_beta", "activations", "clip", "direction",
                                          "hidden_size", "layout", "linear_before_reset", "input_forget"});
  return cell == Cell::Rnn   ? g.create<RNNGradOp>(operands, attributes)
         : cell == Cell::Gru ? g.create<GRUGradOp>(operands, attributes)
                             : g.create<LSTMGradOp>(operands, attributes);
}

} // namespace

bool differentiateRecurrent(GradientBuilder &g, Cell cell) {
  auto sizes = readRecurrent(g.getForward(), cell);
  if (mlir::failed(sizes))
    return false;
  mlir::Operation *backward = makeBackward(g, cell);
  ParameterGradients parameters(g, *sizes, backward);
  if (g.wants(X))
    g.give(X, parameters.ofInput());
  if (g.wants(W))
    g.give(W, parameters.ofW());
  if (g.wants(R))
    g.give(R, parameters.ofR());
  if (g.wants(B))
    g.give(B, parameters.ofB());
  if (g.wants(InitialH))
    g.give(InitialH, backward->getResult(2));
  if (cell != Cell::Lstm)
    return true;
  if (g.wants(InitialC))
    g.give(InitialC, backward->getResult(3));
  if (g.wants(P))
    g.give(P, parameters.ofPeepholes());
  return true;
}

} // namespace apc
