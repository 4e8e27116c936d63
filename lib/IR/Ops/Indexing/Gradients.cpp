// Gradients of operators that pick or place elements: what was picked is added back where it was.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "../ForwardAttributes.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Movement/Movement.h"

#include <numeric>

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

bool ArrayFeatureExtractorOp::differentiate(GradientBuilder &g) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getX());
  const int64_t count = mlir::ShapedType::getNumElements(dimsOf(getY()));
  llvm::SmallVector<int64_t, 2> taken(dims);
  taken.back() = count;
  auto shaped = [&](Value value, llvm::ArrayRef<int64_t> own) { return g.make<ReshapeOp>({value, g.integers(own)}); };
  return giveFirst(
      g, addBack(g, shaped(g.incoming(), taken), shaped(getY(), {count}), dims, static_cast<int64_t>(dims.size()) - 1));
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

namespace {

/// Places of a scatter, by element or by tuples of indices.
class Places {
public:
  explicit Places(GradientBuilder &g) : g(g), isByElement(llvm::isa<ScatterElementsOp>(g.getForward())) {
    if (mlir::Attribute axis = g.getForward()->getAttr("axis"); axis && isByElement)
      attributes.push_back(g.attribute("axis", axis));
  }

  Value pick(Value data) {
    return isByElement ? g.make<GatherElementsOp>({data, g.operand(1)}, attributes)
                       : g.make<GatherNDOp>({data, g.operand(1)});
  }
  Value combine(Value data, Value updates, llvm::StringRef reduction) {
    llvm::SmallVector<mlir::NamedAttribute, 2> all = attributes;
    all.push_back(g.attribute("reduction", reduction));
    return isByElement ? g.make<ScatterElementsOp>({data, g.operand(1), updates}, all)
                       : g.make<ScatterNDOp>({data, g.operand(1), updates}, all);
  }

private:
  GradientBuilder &g;
  bool isByElement;
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes;
};

/// The product of all others at its place is the product over the update, where none is 0. Where one is, only that one
/// has a gradient, the product of the rest; where two are, none has.
void givePlacedProduct(GradientBuilder &g, Places places) {
  Value data = g.operand(0), updates = g.operand(2);
  if (g.wants(0))
    g.give(0, places.combine(g.incoming(), updates, "mul"));
  if (!g.wants(2))
    return;
  Value zero = g.make<EqualOp>({updates, g.scalar(0, updates)});
  Value filled = g.make<WhereOp>({zero, g.scalar(1, updates), updates});
  Value numZeros = places.pick(places.combine(zerosLike(g, data), g.castTo(zero, updates), "add"));
  Value product = places.pick(g.mul(g.incoming(), places.combine(data, filled, "mul")));
  auto ifCounted = [&](double count) {
    return g.where(g.make<EqualOp>({numZeros, g.scalar(count, numZeros)}), product);
  };
  g.give(2, g.make<WhereOp>({zero, ifCounted(1), g.div(ifCounted(0), filled)}));
}

/// The elements that are equal to the extremum at a place, that of the data among them, share what arrives there.
void givePlacedExtremum(GradientBuilder &g, Places places) {
  Value data = g.operand(0), updates = g.operand(2), result = g.result();
  Value stays = g.make<EqualOp>({data, result}), wins = g.make<EqualOp>({updates, places.pick(result)});
  Value count = places.combine(g.castTo(stays, data), g.castTo(wins, updates), "add");
  Value share = g.div(g.incoming(), count);
  g.give(0, g.where(stays, share));
  if (g.wants(2))
    g.give(2, g.where(wins, places.pick(share)));
}

/// Elements of the data that updates replace have no gradient; those that they are added to keep theirs.
bool differentiateScatter(GradientBuilder &g, llvm::StringRef reduction) {
  Places places(g);
  if (reduction == "mul") {
    givePlacedProduct(g, places);
  } else if (reduction == "max" || reduction == "min") {
    givePlacedExtremum(g, places);
  } else {
    if (g.wants(0))
      g.give(0, reduction == "add" ? g.incoming() : places.combine(g.incoming(), zerosLike(g, g.operand(2)), "none"));
    if (g.wants(2))
      g.give(2, places.pick(g.incoming()));
  }
  return true;
}

} // namespace

bool ScatterElementsOp::differentiate(GradientBuilder &g) { return differentiateScatter(g, getReduction()); }
bool ScatterNDOp::differentiate(GradientBuilder &g) { return differentiateScatter(g, getReduction()); }

// The entries that an update replaces have no gradient in the cache.
bool TensorScatterOp::differentiate(GradientBuilder &g) {
  llvm::ArrayRef<int64_t> cache = dimsOf(getPastCache()), update = dimsOf(getUpdate());
  auto rank = static_cast<int64_t>(cache.size()), given = static_cast<int64_t>(getAxis());
  int64_t axis = given < 0 ? given + rank : given;
  if (g.wants(0))
    g.give(0, g.make<TensorScatterOp>({g.incoming(), zerosLike(g, getUpdate()), getWriteIndices()},
                                      forwardAttributes(g, {"axis", "mode"})));
  if (!g.wants(1))
    return true;
  llvm::SmallVector<int64_t, 8> places(static_cast<size_t>(update[axis])), dims(cache.size(), 1);
  std::iota(places.begin(), places.end(), 0);
  dims[axis] = update[axis];
  auto shaped = [&](Value value) {
    return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", int64_t(1)));
  };
  Value at = shaped(g.integers(places));
  if (!isAbsent(getWriteIndices())) {
    dims.assign(cache.size(), 1);
    dims[0] = cache[0];
    at = g.add(at, shaped(getWriteIndices()));
  }
  if (getMode() == "circular")
    at = g.make<ModOp>({at, g.integers({cache[axis]})});
  at = g.make<ExpandOp>({at, g.integers(update)});
  g.give(1, g.make<GatherElementsOp>({g.incoming(), at}, g.attribute("axis", axis)));
  return true;
}

bool TriluOp::differentiate(GradientBuilder &g) {
  return giveFirst(
      g, g.make<TriluOp>({g.incoming(), g.operand(1)}, g.attribute("upper", static_cast<int64_t>(getUpper()))));
}

bool CompressOp::differentiate(GradientBuilder &g) {
  if (getBound())
    return g.refuse("operand 'condition' is made as the model runs, and a constant one is accepted");
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
