// Operators that pick or place elements by index, in StableHLO.
#include "Forest.h"
#include "LabelTable.h"

#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "llvm/ADT/StringSwitch.h"

namespace apc {

namespace hlo {
namespace {

unsigned place(int64_t axis, size_t numDims) {
  return static_cast<unsigned>(axis < 0 ? axis + static_cast<int64_t>(numDims) : axis);
}

/// Indices as a list, counted from the front of the whole, then from where the piece begins.
template <typename Op>
Hlo placesOf(Op op, HloWriter &h, int64_t held) {
  Hlo indices = convert(h(op.getIndices()), h.i64());
  indices = reshape(indices, {indices.type().getNumElements()});
  auto size = static_cast<double>(op.getSize().value_or(static_cast<uint64_t>(held)));
  indices = select(compare(indices, "LT", 0), indices + size, indices);
  if (op.getOffsets().empty())
    return indices;
  Hlo begin = h(op.getOffsets().front());
  begin = begin.numDims() == 1 ? slice(begin, 0, 0, 1) : begin;
  return indices - reshape(begin, {});
}

HloList gather(GatherOp op, HloWriter &h) {
  Hlo data = h(op.getData());
  unsigned dim = place(op.getAxis(), data.numDims());
  int64_t held = data.size(dim);
  Hlo places = placesOf(op, h, held);
  if (op.getOffsets().empty())
    return reshape(take(data, places, dim), dimsOf(op.getOutput()));
  Hlo isHere = compare(places, "GE", 0) & compare(places, "LT", static_cast<double>(held));
  Hlo inside = hlo::max(hlo::min(places, filled(places, static_cast<double>(held - 1))), filled(places, 0));
  Hlo slices = take(data, inside, dim);
  HloDims beside(slices.numDims(), 1);
  beside[dim] = slices.size(dim);
  return reshape(select(reshape(isHere, beside), slices, filled(slices, 0)), dimsOf(op.getOutput()));
}

HloList gatherGradient(GatherGradOp op, HloWriter &h) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getDX());
  unsigned dim = place(op.getAxis(), dims.size());
  Hlo places = placesOf(op, h, dims[dim]);
  HloDims updates(dims);
  updates[dim] = places.size(0);
  // Places in front of the piece are dropped as those behind it are.
  Hlo isHere = compare(places, "GE", 0);
  places = select(isHere, places, filled(places, static_cast<double>(dims[dim])));
  return addAt(dims, places, reshape(h(op.getDY()), updates), dim);
}

/// The place of each element of `indices`, which replace one coordinate of their own, in the last dim.
Hlo coordinatesOf(Hlo indices, unsigned dim, int64_t size) {
  HloWriter &h = *indices.writer;
  indices = convert(indices, h.i64());
  indices = select(compare(indices, "LT", 0), indices + static_cast<double>(size), indices);
  HloList coordinates;
  for (unsigned other = 0; other < indices.numDims(); ++other)
    coordinates.push_back(
        unsqueeze(other == dim ? indices : iota(h, h.i64(), indices.dims(), other), indices.numDims()));
  return concat(coordinates, indices.numDims());
}

HloList gatherElements(GatherElementsOp op, HloWriter &h) {
  Hlo data = h(op.getData());
  unsigned dim = place(op.getAxis(), data.numDims());
  return pick(data, coordinatesOf(h(op.getIndices()), dim, data.size(dim)));
}

HloList scatterElements(ScatterElementsOp op, HloWriter &h) {
  Hlo data = h(op.getData());
  unsigned dim = place(op.getAxis(), data.numDims());
  auto combination = llvm::StringSwitch<std::optional<llvm::StringRef>>(op.getReduction())
                         .Case("none", "")
                         .Case("add", "stablehlo.add")
                         .Case("mul", "stablehlo.multiply")
                         .Case("max", "stablehlo.maximum")
                         .Case("min", "stablehlo.minimum")
                         .Default(std::nullopt);
  if (!combination)
    return h.refuse("reduction '" + op.getReduction() + "'");
  return put(data, coordinatesOf(h(op.getIndices()), dim, data.size(dim)), h(op.getUpdates()), *combination);
}

HloList oneHot(OneHotOp op, HloWriter &h) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getOutput());
  unsigned dim = place(op.getAxis(), dims.size());
  auto depth = static_cast<double>(dims[dim]);
  Hlo indices = convert(h(op.getIndices()), h.i64()), values = h(op.getValues());
  indices = unsqueeze(select(compare(indices, "LT", 0), indices + depth, indices), dim);
  Hlo isHot = compare(indices, "EQ", iota(h, h.i64(), dims, dim));
  return select(isHot, reshape(slice(values, 0, 1, 2), {}), reshape(slice(values, 0, 0, 1), {}));
}

HloList triangle(TriluOp op, HloWriter &h) {
  Hlo x = h(op.getInput());
  auto diagonal = isAbsent(op.getK()) ? llvm::SmallVector<int64_t, 6>{0}
                                      : constantInts(op.getK()).value_or(llvm::SmallVector<int64_t, 6>{});
  if (diagonal.empty())
    return h.refuse("a diagonal that is no constant");
  HloDims matrix(x.dims().take_back(2));
  Hlo row = iota(h, h.i64(), matrix, 0) + static_cast<double>(diagonal.front()), column = iota(h, h.i64(), matrix, 1);
  return select(compare(column, op.getUpper() != 0 ? "GE" : "LE", row), x, filled(x, 0));
}

/// The first key that an element equals says which value it takes; NaN equals itself.
HloList labels(LabelEncoderOp op, HloWriter &h) {
  LabelTable table = *readLabelTable(op);
  int64_t count = table.keys.numElements();
  Tensor values = zeros(mlir::RankedTensorType::get({count + 1}, table.values.element));
  for (int64_t i = 0; i < count; ++i)
    setElement(values, i, getElement(table.values, i));
  setElement(values, count, table.otherwise);
  Hlo keys = reshape(h.constant(table.keys.toAttribute()), {count});
  Hlo x = convert(h(op.getX()), keys.element());
  x = unsqueeze(x, x.numDims());
  Hlo isKey = compare(x, "EQ", keys);
  if (keys.isFloat())
    isKey = isKey | (compare(x, "NE", x) & compare(keys, "NE", keys));
  Hlo places = select(isKey, iota(h, h.i64(), {count}, 0), filled(h, h.i64(), {count}, static_cast<double>(count)));
  places = reduce(Combiner::Min, places, {x.numDims() - 1});
  Hlo found = take(h.constant(values.toAttribute()), reshape(places, {places.type().getNumElements()}), 0);
  return reshape(found, dimsOf(op.getY()));
}

/// A forest as tables, in which leaf i stands behind the nodes and leads to itself.
class ForestTables {
public:
  ForestTables(const forests::Forest &forest, HloWriter &h, mlir::Type element)
      : forest(forest), h(h), element(element), numNodes(static_cast<int64_t>(forest.nodes.size())),
        numLeaves(static_cast<int64_t>(forest.begins.size()) - 1) {}

  /// The leaves that rows of features [r, f] reach, [r * trees].
  Hlo leaves(Hlo x) const {
    int64_t rows = x.size(0), trees = static_cast<int64_t>(forest.roots.size());
    Hlo places = reshape(iota(h, h.i64(), {rows, trees}, 0) * static_cast<double>(x.size(1)), {rows * trees});
    Hlo features = ofNodes([](auto &node) { return node.feature; }), flat = reshape(x, {rows * x.size(1)});
    Hlo modes = ofNodes([](auto &node) { return node.mode; });
    Hlo missing = ofNodes([](auto &node) { return int64_t(node.tracksMissing); });
    Hlo whenTrue = ofNodes([&](auto &node) { return place(node.whenTrue); }, /*leads=*/true);
    Hlo whenFalse = ofNodes([&](auto &node) { return place(node.whenFalse); }, /*leads=*/true);
    Hlo splits = splitsOfNodes();
    Hlo roots = reshape(broadcast(table(forest.roots), {rows, trees}), {rows * trees});
    HloScan found = h.addScan(depth(), false, {roots}, {}, [&](llvm::ArrayRef<Hlo> states, llvm::ArrayRef<Hlo>) {
      Hlo at = states[0], value = take(flat, places + take(features, at, 0), 0);
      Hlo split = take(splits, at, 0), mode = take(modes, at, 0);
      Hlo holds = compare(value, "NE", value) & compare(take(missing, at, 0), "NE", 0);
      constexpr llvm::StringLiteral directions[] = {"LE", "LT", "GE", "GT", "EQ", "NE"}; // by mode
      for (auto [number, direction] : llvm::enumerate(directions))
        holds = holds | (compare(mode, "EQ", static_cast<double>(number)) & compare(value, direction, split));
      return HloScan{{select(holds, take(whenTrue, at, 0), take(whenFalse, at, 0))}, {}};
    });
    return found.states[0] - static_cast<double>(numNodes);
  }

  /// For each leaf and target the weights put together, and whether there are any.
  std::pair<Hlo, Hlo> votes(Combiner combiner) const {
    std::vector<double> weights(static_cast<size_t>(numLeaves * forest.numTargets)), known(weights);
    for (int64_t leaf = 0; leaf < numLeaves; ++leaf)
      for (int64_t vote = forest.begins[leaf]; vote < forest.begins[leaf + 1]; ++vote) {
        auto at = static_cast<size_t>(leaf * forest.numTargets + forest.targets[vote]);
        double weight = forest.weights[vote], before = weights[at];
        weights[at] = known[at] == 0              ? weight
                      : combiner == Combiner::Sum ? before + weight
                      : combiner == Combiner::Min ? std::min(before, weight)
                                                  : std::max(before, weight);
        known[at] = 1;
      }
    HloDims dims = {numLeaves, forest.numTargets};
    return {reshape(reals(weights), dims), reshape(reals(known), dims)};
  }

  bool hasMembers() const {
    return llvm::any_of(forest.nodes, [](auto &node) { return node.mode == forests::Member; });
  }
  /// The most nodes from a root to a leaf; all of them at most, where nodes stand in a circle.
  int64_t depth() const {
    std::vector<int64_t> front(forest.roots.begin(), forest.roots.end());
    int64_t steps = 0;
    for (; !front.empty() && steps <= numNodes; ++steps) {
      std::set<int64_t> next;
      for (int64_t at : front)
        for (forests::Child child : {forest.nodes[at].whenTrue, forest.nodes[at].whenFalse})
          if (!child.isLeaf)
            next.insert(child.index);
      front.assign(next.begin(), next.end());
    }
    return steps;
  }
  int64_t size() const { return numNodes; }

private:
  int64_t place(forests::Child child) const { return child.isLeaf ? numNodes + child.index : child.index; }
  Hlo table(llvm::ArrayRef<int64_t> values) const {
    auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, h.i64());
    return h.constant(mlir::DenseElementsAttr::get(type, values));
  }
  Hlo reals(llvm::ArrayRef<double> values) const {
    Tensor tensor = zeros(mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, element));
    for (auto [index, value] : llvm::enumerate(values))
      setElement(tensor, static_cast<int64_t>(index), Number::of(value));
    roundToElement(tensor);
    return h.constant(tensor.toAttribute());
  }
  /// A number of each node; of leaves 0, or where they lead.
  template <typename Get>
  Hlo ofNodes(Get get, bool leads = false) const {
    llvm::SmallVector<int64_t> values;
    for (const forests::TreeNode &node : forest.nodes)
      values.push_back(get(node));
    for (int64_t leaf = 0; leaf < numLeaves; ++leaf)
      values.push_back(leads ? numNodes + leaf : 0);
    return table(values);
  }
  Hlo splitsOfNodes() const {
    auto values = llvm::map_to_vector(forest.nodes, [](const forests::TreeNode &node) { return node.split; });
    values.resize(static_cast<size_t>(numNodes + numLeaves), 0);
    return reals(values);
  }

  const forests::Forest &forest;
  HloWriter &h;
  mlir::Type element;
  int64_t numNodes, numLeaves;
};

Hlo transformed(Hlo scores, int64_t how) {
  switch (how) {
  case forests::SoftMax:
    return softmax(scores, 1);
  case forests::SoftMaxZero: {
    Hlo counts = compare(abs(scores), "GT", 1e-7);
    Hlo shares = select(counts, exp(scores - reduce(Combiner::Max, scores, {1}, true)), filled(scores, 0));
    Hlo total = sum(shares, {1}, true);
    return select(compare(total, "GT", 0), shares / total, shares);
  }
  case forests::Logistic:
    return sigmoid(scores);
  case forests::Probit:
    return probit(scores);
  default:
    return scores;
  }
}

HloList trees(TreeEnsembleOp op, HloWriter &h) {
  forests::Forest forest = *readForest(op);
  Hlo x = precise(h(op.getX()));
  ForestTables tables(forest, h, x.element());
  if (tables.hasMembers())
    return h.refuse("tests of membership");
  if (tables.depth() > tables.size())
    return h.refuse("nodes in a circle");
  auto aggregate = static_cast<int64_t>(op.getAggregateFunction());
  Combiner combiner = aggregate == forests::Least      ? Combiner::Min
                      : aggregate == forests::Greatest ? Combiner::Max
                                                       : Combiner::Sum;
  auto [weights, known] = tables.votes(combiner);
  Hlo leaves = tables.leaves(x);
  auto numTrees = static_cast<int64_t>(forest.roots.size());
  HloDims dims = {x.size(0), numTrees, forest.numTargets};
  Hlo found = reshape(take(weights, leaves, 0), dims), isThere = reshape(take(known, leaves, 0), dims);
  Hlo scores = sum(found, {1});
  if (combiner != Combiner::Sum) {
    auto bound = neutralAttribute(combiner, found.element());
    Hlo neutral = h.constant(
        mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, found.element()), mlir::Attribute(bound)));
    Hlo most = reduce(combiner, select(compare(isThere, "NE", 0), found, neutral), {1});
    scores = select(compare(reduce(Combiner::Max, isThere, {1}), "NE", 0), most, filled(most, 0));
  } else if (aggregate == forests::Average) {
    scores = scores / static_cast<double>(numTrees);
  }
  Hlo result = transformed(scores, static_cast<int64_t>(op.getPostTransform()));
  return convert(result, h(op.getX()).element());
}

constexpr HloLowering rows[] = {
    hloRow<GatherOp, gather>(),
    hloRow<GatherGradOp, gatherGradient>(),
    hloRow<GatherElementsOp, gatherElements>(),
    hloRow<ScatterElementsOp, scatterElements>(),
    hloRow<LabelEncoderOp, labels>(),
    hloRow<OneHotOp, oneHot>(),
    hloRow<TreeEnsembleOp, trees>(),
    hloRow<TriluOp, triangle>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloIndexing();
llvm::ArrayRef<HloLowering> hloIndexing() { return hlo::rows; }

} // namespace apc
