// Gradients of operators that pick or place elements: what was picked is added back where it was.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "apc/IR/Ops/Movement/Movement.h"

namespace apc {

namespace {

using mlir::Value;

bool giveFirst(GradientBuilder &g, Value gradient) {
  g.give(0, gradient);
  return true;
}

Value zerosLike(GradientBuilder &g, Value like) {
  return g.make<ExpandOp>({g.scalar(0, like), g.integers(dimsOf(like))});
}

/// A tensor of `shape` with the slices of `value` added at `indices` along `axis`.
Value addBack(GradientBuilder &g, Value value, Value indices, llvm::ArrayRef<int64_t> shape, int64_t axis) {
  return g.make<GatherGradOp>({value, indices}, {g.attribute("shape", shape), g.attribute("axis", axis)});
}

} // namespace

bool GatherOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, addBack(g, g.incoming(), g.operand(1), dimsOf(getData()), static_cast<int64_t>(getAxis())));
}

bool GatherElementsOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.make<ScatterElementsOp>(
                          {zerosLike(g, g.operand(0)), g.operand(1), g.incoming()},
                          {g.attribute("axis", static_cast<int64_t>(getAxis())), g.attribute("reduction", "add")}));
}

bool GatherNDOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.make<GatherNDGradOp>({g.incoming(), g.operand(1)},
                                             {g.attribute("shape", dimsOf(getData())),
                                              g.attribute("batch_dims", static_cast<int64_t>(getBatchDims()))}));
}

// Elements of the data that updates replace have no gradient; those that they are added to keep theirs.
bool ScatterElementsOp::differentiate(GradientBuilder &g) {
  bool adds = getReduction() == "add";
  if (!adds && getReduction() != "none")
    return false;
  mlir::NamedAttribute axis = g.attribute("axis", static_cast<int64_t>(getAxis()));
  if (g.wants(0))
    g.give(0, adds ? g.incoming()
                   : g.make<ScatterElementsOp>({g.incoming(), g.operand(1), zerosLike(g, g.operand(2))}, axis));
  if (g.wants(2))
    g.give(2, g.make<GatherElementsOp>({g.incoming(), g.operand(1)}, axis));
  return true;
}

bool ScatterNDOp::differentiate(GradientBuilder &g) {
  bool adds = getReduction() == "add";
  if (!adds && getReduction() != "none")
    return false;
  if (g.wants(0))
    g.give(0, adds ? g.incoming() : g.make<ScatterNDOp>({g.incoming(), g.operand(1), zerosLike(g, g.operand(2))}));
  if (g.wants(2))
    g.give(2, g.make<GatherNDOp>({g.incoming(), g.operand(1)}));
  return true;
}

bool TriluOp::differentiate(GradientBuilder &g) {
  return giveFirst(
      g, g.make<TriluOp>({g.incoming(), g.operand(1)}, g.attribute("upper", static_cast<int64_t>(getUpper()))));
}

bool CompressOp::differentiate(GradientBuilder &g) {
  auto condition = requireSelecting(*this, 1);
  assert(mlir::succeeded(condition) && "the forward op is well formed");
  llvm::SmallVector<int64_t, 8> places;
  for (auto [place, taken] : llvm::enumerate(condition->ints))
    if (taken != 0)
      places.push_back(static_cast<int64_t>(place));
  if (getAxis())
    return giveFirst(
        g, addBack(g, g.incoming(), g.integers(places), dimsOf(getInput()), static_cast<int64_t>(*getAxis())));
  int64_t count = llvm::cast<mlir::RankedTensorType>(getInput().getType()).getNumElements();
  return giveFirst(g, g.reshapeTo(addBack(g, g.incoming(), g.integers(places), count, 0), getInput()));
}

} // namespace apc
