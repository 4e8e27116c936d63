// Shapes of the operators that move elements, from the data's dims, attributes and constant operands.
#include "apc/IR/Ops/Movement/Movement.h"

#include "apc/IR/RuleBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace apc {

namespace {

/// The dims that Reshape's `shape` gives for `data`; errors at the op. Dims copied by 0 leave the quotient for -1 on
/// both sides, so it follows even when they are of size 0.
mlir::FailureOr<llvm::SmallVector<int64_t, 4>> reshapedDims(ReshapeOp op, llvm::ArrayRef<int64_t> data,
                                                            llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> dims(shape.begin(), shape.end()), restOfData(data.begin(), data.end()), restOfShape;
  std::optional<size_t> inferred;
  for (auto [dim, size] : llvm::enumerate(dims)) {
    if (size == 0 && op.getAllowzero() == 0) {
      if (dim >= data.size())
        return op.emitOpError() << "shape " << printDims(shape) << " copies dim " << dim << " of data "
                                << printDims(data),
               mlir::failure();
      size = data[dim];
      restOfData[dim] = 1;
    } else if (size == -1 && !inferred) {
      inferred = dim;
    } else if (size < 0) {
      return op.emitOpError() << "shape " << printDims(shape) << " holds " << size << " at dim " << dim
                              << "; accepted are sizes, 0 and one -1",
             mlir::failure();
    } else {
      restOfShape.push_back(size);
    }
  }
  std::optional<int64_t> from = checkedProduct(restOfData), to = checkedProduct(restOfShape);
  if (from && to && inferred && *to != 0 && *from % *to == 0)
    dims[*inferred] = *from / *to;
  else if (!from || !to || inferred || checkedProduct(dims) != checkedProduct(data))
    return op.emitOpError() << "shape " << printDims(shape) << " does not hold the elements of data "
                            << printDims(data),
           mlir::failure();
  return dims;
}

} // namespace

mlir::LogicalResult ReshapeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto shape = requireInts(*this, 1);
  if (mlir::failed(shape))
    return mlir::failure();
  auto dims = reshapedDims(*this, dimsOf(getData()), *shape);
  if (mlir::failed(dims))
    return mlir::failure();
  return addType(*this, *dims, operandElement(*this, 0), types);
}

mlir::LogicalResult FlattenOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  auto axis = static_cast<int64_t>(getAxis()), count = static_cast<int64_t>(dims.size());
  if (axis < -count || axis > count)
    return emitOpError() << "axis " << axis << " is outside [" << -count << ", " << count << "]";
  size_t cut = axis < 0 ? axis + count : axis;
  return addType(*this, {mergedSize(dims.take_front(cut)), mergedSize(dims.drop_front(cut))}, operandElement(*this, 0),
                 types);
}

mlir::FailureOr<llvm::SmallBitVector> squeezedDims(SqueezeOp op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getData());
  llvm::SmallBitVector removed(dims.size());
  if (isAbsent(op.getAxes())) {
    for (auto [dim, size] : llvm::enumerate(dims))
      removed[dim] = size == 1;
    return removed;
  }
  auto axes = requireInts(op, 1);
  if (mlir::failed(axes))
    return mlir::failure();
  auto normalized = normalizeAxes(op, *axes, dims.size());
  if (mlir::failed(normalized))
    return mlir::failure();
  for (unsigned dim : *normalized) {
    if (dims[dim] != 1)
      return op.emitOpError() << "removes dim " << dim << " of " << printDims(dims) << ", which is not of size 1",
             mlir::failure();
    removed.set(dim);
  }
  return removed;
}

mlir::LogicalResult SqueezeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto removed = squeezedDims(*this);
  if (mlir::failed(removed))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims;
  for (auto [dim, size] : llvm::enumerate(dimsOf(getData())))
    if (!removed->test(dim))
      dims.push_back(size);
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<llvm::SmallBitVector> unsqueezedDims(UnsqueezeOp op) {
  auto axes = requireInts(op, 1);
  if (mlir::failed(axes))
    return mlir::failure();
  size_t numDims = dimsOf(op.getData()).size() + axes->size();
  auto normalized = normalizeAxes(op, *axes, numDims);
  if (mlir::failed(normalized))
    return mlir::failure();
  llvm::SmallBitVector added(numDims);
  for (unsigned dim : *normalized)
    added.set(dim);
  return added;
}

mlir::LogicalResult UnsqueezeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto added = unsqueezedDims(*this);
  if (mlir::failed(added))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims;
  llvm::ArrayRef<int64_t> rest = dimsOf(getData());
  for (unsigned dim = 0; dim < added->size(); ++dim) {
    dims.push_back(added->test(dim) ? 1 : rest.front());
    if (!added->test(dim))
      rest = rest.drop_front();
  }
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<llvm::SmallVector<unsigned, 4>> permutationOf(TransposeOp op) {
  auto numDims = static_cast<unsigned>(dimsOf(op.getData()).size());
  llvm::SmallVector<unsigned, 4> permutation;
  if (!op.getPerm()) {
    for (unsigned dim = numDims; dim-- > 0;)
      permutation.push_back(dim);
    return permutation;
  }
  llvm::ArrayRef<int64_t> perm = *op.getPerm();
  for (int64_t dim : perm)
    if (dim >= 0 && dim < numDims && !llvm::is_contained(permutation, dim))
      permutation.push_back(static_cast<unsigned>(dim));
  if (perm.size() != numDims || permutation.size() != numDims)
    return op.emitOpError() << "perm " << printDims(perm) << " is no permutation of " << numDims << " dims",
           mlir::failure();
  return permutation;
}

mlir::LogicalResult TransposeOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto permutation = permutationOf(*this);
  if (mlir::failed(permutation))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims;
  for (unsigned dim : *permutation)
    dims.push_back(dimsOf(getData())[dim]);
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::LogicalResult ExpandOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto shape = requireInts(*this, 1);
  if (mlir::failed(shape))
    return mlir::failure();
  auto dims = broadcastDims(*this, dimsOf(getInput()), *shape);
  return mlir::failed(dims) ? mlir::failure() : addType(*this, *dims, operandElement(*this, 0), types);
}

mlir::LogicalResult TileOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto repeats = requireInts(*this, 1);
  if (mlir::failed(repeats))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getInput()));
  if (repeats->size() != dims.size())
    return emitOpError() << "repeats has " << repeats->size() << " entries for " << dims.size() << " dims";
  for (auto [size, count] : llvm::zip_equal(dims, *repeats))
    size = mergedSize({size, count});
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<unsigned> concatDim(ConcatOp op) {
  if (op.getInputs().empty())
    return op.emitOpError() << "needs at least one input", mlir::failure();
  // Old exporters join scalars where the standard asks for lists of one.
  size_t numDims = std::max<size_t>(1, dimsOf(op.getInputs().front()).size());
  return normalizeAxis(op, static_cast<int64_t>(op.getAxis()), numDims);
}

mlir::LogicalResult ConcatOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto axis = concatDim(*this);
  if (mlir::failed(axis))
    return mlir::failure();
  auto listOf = [](mlir::Value value) {
    llvm::SmallVector<int64_t, 4> dims(dimsOf(value));
    return dims.empty() ? llvm::SmallVector<int64_t, 4>{1} : dims;
  };
  llvm::SmallVector<int64_t, 4> dims = listOf(getInputs().front());
  for (unsigned i = 1; i < getInputs().size(); ++i) {
    mlir::Value input = getInputs()[i];
    llvm::SmallVector<int64_t, 4> other = listOf(input);
    int64_t sum = 0;
    bool fits = other.size() == dims.size() && !llvm::AddOverflow(dims[*axis], other[*axis], sum);
    for (size_t dim = 0; fits && dim < dims.size(); ++dim)
      fits = dim == *axis || dims[dim] == other[dim];
    if (!fits)
      return emitOpError() << "cannot join " << printDims(dimsOf(input)) << " to " << printDims(dims) << " along dim "
                           << *axis << "; the other dims must be equal";
    dims[*axis] = sum;
  }
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<llvm::SmallVector<int64_t, 6>> splitSizes(SplitOp op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getInput());
  auto axis = normalizeAxis(op, static_cast<int64_t>(op.getAxis()), dims.size());
  if (mlir::failed(axis))
    return mlir::failure();
  int64_t size = dims[*axis], count = op->getNumResults(), rest = size;
  if (op.getNumOutputs() && static_cast<int64_t>(*op.getNumOutputs()) != count)
    return op.emitOpError() << "attribute 'num_outputs' is " << *op.getNumOutputs() << " for " << count << " results",
           mlir::failure();
  llvm::SmallVector<int64_t, 6> sizes;
  if (!isAbsent(op.getSplit())) {
    auto given = requireInts(op, 1);
    if (mlir::failed(given))
      return mlir::failure();
    sizes = *given;
  } else {
    int64_t part = count == 0 ? 0 : llvm::divideCeil(size, count);
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(std::min(part, size - std::min(size, i * part)));
  }
  bool fits = static_cast<int64_t>(sizes.size()) == count;
  for (int64_t part : sizes) {
    fits &= part >= 0 && part <= rest;
    rest -= fits ? part : 0;
  }
  if (!fits || rest != 0)
    return op.emitOpError() << "splits dim " << *axis << " of " << printDims(dims) << " into parts " << printDims(sizes)
                            << " for " << count << " results",
           mlir::failure();
  return sizes;
}

mlir::LogicalResult SplitOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sizes = splitSizes(*this);
  if (mlir::failed(sizes))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getInput()));
  auto axis = static_cast<int64_t>(getAxis());
  int64_t dim = axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis;
  for (int64_t size : *sizes) {
    dims[dim] = size;
    if (mlir::failed(addType(*this, dims, operandElement(*this, 0), types)))
      return mlir::failure();
  }
  return mlir::success();
}

namespace {

/// The part [start, end) by `step` of a dim of `size`, by ONNX's clamping: of 5, [-1, -6) by -2 is 4, 2, 0.
SlicedDim sliceOf(int64_t size, int64_t start, int64_t end, int64_t step) {
  bool forward = step > 0;
  auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  int64_t from = forward ? clamp(start, 0, size) : clamp(start, 0, std::max<int64_t>(size - 1, 0));
  int64_t to = forward ? clamp(end, 0, size) : clamp(end, -1, size - 1);
  int64_t distance = size == 0 ? 0 : forward ? to - from : from - to;
  uint64_t stride = forward ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  auto count = distance <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride + 1);
  return {from, step, count};
}

} // namespace

mlir::FailureOr<llvm::SmallVector<SlicedDim, 4>> slicedDims(SliceOp op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getData());
  llvm::SmallVector<SlicedDim, 4> sliced;
  for (int64_t size : dims)
    sliced.push_back({0, 1, size});
  auto starts = requireInts(op, 1), ends = requireInts(op, 2);
  if (mlir::failed(starts) || mlir::failed(ends))
    return mlir::failure();
  llvm::SmallVector<int64_t, 6> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  for (auto [operand, list] : {std::pair(3U, &axes), std::pair(4U, &steps)}) {
    if (isAbsent(op->getOperand(operand)))
      continue;
    auto given = requireInts(op, operand);
    if (mlir::failed(given))
      return mlir::failure();
    *list = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() || steps.size() != starts->size())
    return op.emitOpError() << "has " << starts->size() << " starts, " << ends->size() << " ends, " << axes.size()
                            << " axes and " << steps.size() << " steps; their numbers must be equal",
           mlir::failure();
  auto normalized = normalizeAxes(op, axes, dims.size());
  if (mlir::failed(normalized))
    return mlir::failure();
  for (auto [i, dim] : llvm::enumerate(*normalized)) {
    if (steps[i] == 0)
      return op.emitOpError() << "steps " << printDims(steps) << " holds 0", mlir::failure();
    sliced[dim] = sliceOf(dims[dim], (*starts)[i], (*ends)[i], steps[i]);
  }
  return sliced;
}

mlir::LogicalResult SliceOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto sliced = slicedDims(*this);
  if (mlir::failed(sliced))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims;
  for (const SlicedDim &dim : *sliced)
    dims.push_back(dim.count);
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<llvm::SmallVector<PaddedDim, 4>> paddedDims(PadOp op) {
  llvm::ArrayRef<int64_t> dims = dimsOf(op.getData());
  auto pads = requireInts(op, 1);
  if (mlir::failed(pads))
    return mlir::failure();
  llvm::SmallVector<int64_t, 6> axes;
  for (size_t dim = 0; dim < dims.size(); ++dim)
    axes.push_back(static_cast<int64_t>(dim));
  if (!isAbsent(op.getAxes())) {
    auto given = requireInts(op, 3);
    if (mlir::failed(given))
      return mlir::failure();
    axes = *given;
  }
  auto normalized = normalizeAxes(op, axes, dims.size());
  if (mlir::failed(normalized))
    return mlir::failure();
  if (pads->size() != 2 * axes.size())
    return op.emitOpError() << "has " << pads->size() << " pads for " << axes.size() << " axes; two each are needed",
           mlir::failure();
  llvm::SmallVector<PaddedDim, 4> padded(dims.size());
  for (auto [i, dim] : llvm::enumerate(*normalized))
    padded[dim] = {(*pads)[i], (*pads)[i + axes.size()]};
  return padded;
}

mlir::LogicalResult PadOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  if (!llvm::is_contained({"constant", "reflect", "edge", "wrap"}, getMode()))
    return emitOpError() << "mode '" << getMode() << "' is none of constant, reflect, edge, wrap";
  auto padded = paddedDims(*this);
  if (mlir::failed(padded))
    return mlir::failure();
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getData()));
  for (auto [size, pad] : llvm::zip_equal(dims, *padded))
    if (llvm::AddOverflow(size, pad.before, size) || llvm::AddOverflow(size, pad.after, size))
      size = std::min(pad.before, pad.after) < 0 ? -1 : std::numeric_limits<int64_t>::max();
  return addType(*this, dims, operandElement(*this, 0), types);
}

} // namespace apc
