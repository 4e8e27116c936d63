// Operators that pick or place elements by index, in StableHLO.
#include "LabelTable.h"

#include "apc/IR/Hlo/HloWriter.h"

#include "llvm/ADT/StringSwitch.h"

namespace apc {

namespace {

using namespace hlo;

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

constexpr HloLowering rows[] = {
    hloRow<GatherOp, gather>(),
    hloRow<GatherGradOp, gatherGradient>(),
    hloRow<GatherElementsOp, gatherElements>(),
    hloRow<ScatterElementsOp, scatterElements>(),
    hloRow<LabelEncoderOp, labels>(),
    hloRow<OneHotOp, oneHot>(),
    hloRow<TriluOp, triangle>(),
};

} // namespace

llvm::ArrayRef<HloLowering> hloIndexing();
llvm::ArrayRef<HloLowering> hloIndexing() { return rows; }

} // namespace apc
