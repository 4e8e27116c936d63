// Gradients of the operators that move elements: the way back.
#include "apc/IR/Ops/Movement/Movement.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

namespace apc {

namespace {

using mlir::Value;

bool giveFirst(GradientBuilder &g, Value gradient) {
  g.give(0, gradient);
  return true;
}

Value reshape(GradientBuilder &g, Value value, llvm::ArrayRef<int64_t> dims) {
  return g.make<ReshapeOp>({value, g.integers(dims)}, g.attribute("allowzero", 1));
}

/// The reverse of Pad by `padded` with a constant: pads are cropped, and cropped elements are 0.
Value unpad(GradientBuilder &g, Value value, llvm::ArrayRef<PaddedDim> padded,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  llvm::SmallVector<int64_t, 8> pads;
  for (const PaddedDim &dim : padded)
    pads.push_back(-dim.before);
  for (const PaddedDim &dim : padded)
    pads.push_back(-dim.after);
  if (llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return value;
  return g.make<PadOp>({value, g.integers(pads), g.absent(), g.absent()}, attributes);
}

/// `value` with `dim` of `size`, element i added at `places[i]` along it.
Value place(GradientBuilder &g, Value value, size_t dim, llvm::ArrayRef<int64_t> places, int64_t size) {
  llvm::SmallVector<int64_t, 4> shape(dimsOf(value));
  shape[dim] = size;
  return g.make<GatherGradOp>({value, g.integers(places)},
                              {g.attribute("shape", shape), g.attribute("axis", static_cast<int64_t>(dim))});
}

} // namespace

bool TransposeOp::differentiate(GradientBuilder &g) {
  auto permutation = permutationOf(*this);
  assert(mlir::succeeded(permutation) && "the forward op is well formed");
  llvm::SmallVector<int64_t, 4> inverse(permutation->size());
  for (auto [to, from] : llvm::enumerate(*permutation))
    inverse[from] = static_cast<int64_t>(to);
  return giveFirst(g, g.make<TransposeOp>({g.incoming()}, g.attribute("perm", inverse)));
}

bool ReshapeOp::differentiate(GradientBuilder &g) {
  std::optional<PartedDim> parted = partedData(*this);
  if (!parted)
    return giveFirst(g, g.reshapeTo(g.incoming(), getData()));
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes(partsOnTheWayBack(getContext(), parted));
  attributes.push_back(g.attribute("allowzero", 1));
  return giveFirst(g, g.make<ReshapeOp>({g.incoming(), g.integers(dimsOf(getData()))}, attributes));
}

bool ExpandOp::differentiate(GradientBuilder &g) { return giveFirst(g, g.sumTo(g.incoming(), g.operand(0))); }

// [6] of [2] repeated 3 times is [3, 2], summed over the copies.
bool TileOp::differentiate(GradientBuilder &g) {
  llvm::SmallVector<int64_t, 4> apart, copies;
  for (auto [from, to] : llvm::zip_equal(dimsOf(getInput()), dimsOf(getOutput()))) {
    if (from != to) {
      copies.push_back(static_cast<int64_t>(apart.size()));
      apart.push_back(to / from);
    }
    apart.push_back(from);
  }
  if (copies.empty())
    return giveFirst(g, g.incoming());
  return giveFirst(
      g, g.make<ReduceSumOp>({reshape(g, g.incoming(), apart), g.integers(copies)}, g.attribute("keepdims", 0)));
}

bool ConcatOp::differentiate(GradientBuilder &g) {
  auto axis = concatDim(*this);
  assert(mlir::succeeded(axis) && "the forward op is well formed");
  int64_t start = 0;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    int64_t end = start + (dimsOf(input).empty() ? 1 : dimsOf(input)[*axis]);
    if (g.wants(static_cast<unsigned>(index))) {
      Value part = g.make<SliceOp>(
          {g.incoming(), g.integers(start), g.integers(end), g.integers(static_cast<int64_t>(*axis)), g.absent()});
      g.give(static_cast<unsigned>(index), g.reshapeTo(part, input));
    }
    start = end;
  }
  return true;
}

bool SplitOp::differentiate(GradientBuilder &g) {
  llvm::SmallVector<Value> parts;
  for (auto [index, result] : llvm::enumerate((*this)->getResults())) {
    Value part = g.incoming(static_cast<unsigned>(index));
    parts.push_back(part ? part : g.make<ExpandOp>({g.scalar(0, result), g.integers(dimsOf(result))}));
  }
  auto parted = partedSplit(*this);
  assert(mlir::succeeded(parted) && "the forward op is well formed");
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes(partsOnTheWayBack(getContext(), *parted));
  attributes.push_back(g.attribute("axis", static_cast<int64_t>(getAxis())));
  return giveFirst(g, g.make<ConcatOp>(parts, attributes));
}

bool SliceOp::differentiate(GradientBuilder &g) {
  auto sliced = slicedDims(*this);
  assert(mlir::succeeded(sliced) && "the forward op is well formed");
  Value gradient = g.incoming();
  llvm::SmallVector<PaddedDim, 4> taken(sliced->size());
  for (auto [dim, part] : llvm::enumerate(*sliced)) {
    int64_t size = dimsOf(getData())[dim];
    if (part.step == 1) {
      taken[dim] = {-part.start, part.start + part.count - size};
      continue;
    }
    llvm::SmallVector<int64_t, 8> places;
    for (int64_t i = 0; i < part.count; ++i)
      places.push_back(part.start + i * part.step);
    gradient = place(g, gradient, dim, places, size);
  }
  return giveFirst(g, unpad(g, gradient, taken, partsOnTheWayBack(getContext(), partedData(*this))));
}

/// All that arrives but what goes to the data was the constant's.
static Value constantGradient(GradientBuilder &g, Value dataGradient) {
  auto total = [&](Value value) { return g.make<ReduceSumOp>({value, g.absent()}, g.attribute("keepdims", 0)); };
  return g.reshapeTo(g.sub(total(g.incoming()), total(dataGradient)), g.operand(2));
}

bool PadOp::differentiate(GradientBuilder &g) {
  auto padded = paddedDims(*this);
  assert(mlir::succeeded(padded) && "the forward op is well formed");
  Value gradient = g.incoming();
  if (getMode() == "constant") {
    gradient = unpad(g, gradient, *padded);
    if (g.wants(2))
      g.give(2, constantGradient(g, gradient));
    return giveFirst(g, gradient);
  }
  for (auto [dim, pad] : llvm::enumerate(*padded)) {
    if (pad.before == 0 && pad.after == 0)
      continue;
    llvm::SmallVector<int64_t, 8> places;
    int64_t size = dimsOf(getData())[dim];
    for (int64_t at = -pad.before; at < size + pad.after; ++at)
      places.push_back(paddedSource(at, size, getMode()));
    gradient = place(g, gradient, dim, places, size);
  }
  return giveFirst(g, gradient);
}

bool CenterCropPadOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, unpad(g, g.incoming(), centeredDims(dimsOf(getInputData()), dimsOf(getOutputData()))));
}

// CRD: n c (h p) (w q) back to n (c p q) h w.
bool DepthToSpaceOp::differentiate(GradientBuilder &g) {
  auto block = static_cast<int64_t>(getBlocksize());
  if (getMode() == "DCR")
    return giveFirst(g, g.make<SpaceToDepthOp>({g.incoming()}, g.attribute("blocksize", block)));
  llvm::ArrayRef<int64_t> dims = dimsOf(getOutput());
  Value blocks = reshape(g, g.incoming(), {dims[0], dims[1], dims[2] / block, block, dims[3] / block, block});
  Value depth = g.make<TransposeOp>({blocks}, g.attribute("perm", llvm::ArrayRef<int64_t>({0, 1, 3, 5, 2, 4})));
  return giveFirst(g, g.reshapeTo(depth, getInput()));
}

bool SpaceToDepthOp::differentiate(GradientBuilder &g) {
  return giveFirst(
      g, g.make<DepthToSpaceOp>({g.incoming()}, g.attribute("blocksize", static_cast<int64_t>(getBlocksize()))));
}

// Elements that are reversed twice stand where they stood.
bool ReverseSequenceOp::differentiate(GradientBuilder &g) {
  return giveFirst(g, g.make<ReverseSequenceOp>({g.incoming(), g.operand(1)},
                                                {g.attribute("time_axis", static_cast<int64_t>(getTimeAxis())),
                                                 g.attribute("batch_axis", static_cast<int64_t>(getBatchAxis()))}));
}

} // namespace apc
