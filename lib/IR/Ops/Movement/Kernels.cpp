// Kernels of operators that move elements.
#include "apc/IR/Ops/Movement/Movement.h"

#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"
namespace apc {

namespace {

using Index = llvm::ArrayRef<int64_t>;

/// The same elements under the type that follows.
Evaluated reshaped(mlir::Operation *op, Operands operands) {
  mlir::RankedTensorType type = operands.front() ? evaluatedType(op) : mlir::RankedTensorType();
  if (!type || type.getNumElements() != operands.front()->numElements())
    return std::nullopt;
  Tensor data = *operands.front();
  data.dims.assign(type.getShape().begin(), type.getShape().end());
  return evaluatedAs(std::move(data));
}

/// Each element of the result from the position of the first operand that `position` gives for its index.
Evaluated picked(mlir::Operation *op, Operands operands, llvm::function_ref<int64_t(Index)> position) {
  mlir::RankedTensorType type = operands.front() ? evaluatedType(op) : mlir::RankedTensorType();
  return type ? evaluatedAs(pickElements(*operands.front(), type, position)) : std::nullopt;
}

} // namespace

Evaluated ReshapeOp::evaluate(Operands operands) { return reshaped(*this, operands); }
Evaluated FlattenOp::evaluate(Operands operands) { return reshaped(*this, operands); }
Evaluated SqueezeOp::evaluate(Operands operands) { return reshaped(*this, operands); }
Evaluated UnsqueezeOp::evaluate(Operands operands) { return reshaped(*this, operands); }
Evaluated IdentityOp::evaluate(Operands operands) {
  return operands.front() ? evaluatedAs(*operands.front()) : std::nullopt;
}

Evaluated TransposeOp::evaluate(Operands operands) {
  auto permutation = permutationOf(*this);
  if (mlir::failed(permutation))
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from(dims.size());
  return picked(*this, operands, [&](Index index) {
    for (auto [result, data] : llvm::enumerate(*permutation))
      from[data] = index[result];
    return positionOf(from, dims);
  });
}

Evaluated ExpandOp::evaluate(Operands operands) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  llvm::SmallVector<int64_t, 4> from(dims.size());
  return picked(*this, operands, [&](Index index) {
    Index aligned = index.take_back(dims.size());
    for (size_t dim = 0; dim < dims.size(); ++dim)
      from[dim] = dims[dim] == 1 ? 0 : aligned[dim];
    return positionOf(from, dims);
  });
}

Evaluated TileOp::evaluate(Operands operands) {
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  llvm::SmallVector<int64_t, 4> from(dims.size());
  return picked(*this, operands, [&](Index index) {
    for (size_t dim = 0; dim < dims.size(); ++dim)
      from[dim] = index[dim] % dims[dim];
    return positionOf(from, dims);
  });
}

Evaluated ConcatOp::evaluate(Operands operands) {
  auto axis = concatDim(*this);
  mlir::RankedTensorType type = llvm::is_contained(operands, nullptr) ? mlir::RankedTensorType() : evaluatedType(*this);
  if (!type || mlir::failed(axis))
    return std::nullopt;
  Tensor result;
  result.dims.assign(type.getShape().begin(), type.getShape().end());
  result.element = type.getElementType();
  // Of [2, 3] and [2, 5] joined along dim 1, runs of 3 and 5 elements alternate, 2 times.
  int64_t repeats = checkedProduct(Index(result.dims).take_front(*axis)).value_or(0);
  for (int64_t i = 0; i < repeats; ++i)
    for (const Tensor *part : operands) {
      int64_t run = part->numElements() / repeats;
      for (int64_t position = i * run; position < (i + 1) * run; ++position)
        appendElement(result, *part, position);
    }
  return evaluatedAs(result);
}

Evaluated SplitOp::evaluate(Operands operands) {
  auto sizes = splitSizes(*this);
  if (!operands.front() || mlir::failed(sizes))
    return std::nullopt;
  llvm::SmallVector<int64_t, 4> dims(dimsOf(getInput()));
  auto axis = static_cast<int64_t>(getAxis());
  size_t dim = axis < 0 ? axis + dims.size() : axis;
  llvm::SmallVector<Tensor, 1> results;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    llvm::SmallVector<int64_t, 4> part = dims, from;
    part[dim] = size;
    auto type = mlir::RankedTensorType::get(part, operandElement(*this, 0));
    results.push_back(*pickElements(*operands.front(), type, [&](Index index) {
      from.assign(index.begin(), index.end());
      from[dim] += start;
      return positionOf(from, dims);
    }));
    start += size;
  }
  return results;
}

Evaluated SliceOp::evaluate(Operands operands) {
  auto sliced = slicedDims(*this);
  if (mlir::failed(sliced))
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from(dims.size());
  return picked(*this, operands, [&](Index index) {
    for (size_t dim = 0; dim < dims.size(); ++dim)
      from[dim] = (*sliced)[dim].start + index[dim] * (*sliced)[dim].step;
    return positionOf(from, dims);
  });
}

int64_t paddedSource(int64_t at, int64_t size, llvm::StringRef mode) {
  if (at >= 0 && at < size)
    return at;
  if (mode == "constant" || size == 0)
    return -1;
  if (mode == "edge")
    return at < 0 ? 0 : size - 1;
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  int64_t phase = (at % period + period) % period;
  return phase < size ? phase : period - phase;
}

llvm::SmallVector<PaddedDim, 4> centeredDims(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  llvm::SmallVector<PaddedDim, 4> centered;
  for (auto [before, after] : llvm::zip_equal(from, to)) {
    int64_t added = after >= before ? (after - before) / 2 : -((before - after) / 2);
    centered.push_back({added, after - before - added});
  }
  return centered;
}

namespace {

/// `result` filled from `data` grown by `padded`, with element 0 of `fill` where the mode gives a constant.
Tensor padTo(Tensor result, const Tensor &data, const Tensor &fill, llvm::ArrayRef<PaddedDim> padded,
             llvm::StringRef mode) {
  llvm::SmallVector<int64_t, 4> from(data.dims.size());
  forEachIndex(result.dims, [&](Index index) {
    for (size_t dim = 0; dim < from.size(); ++dim)
      from[dim] = paddedSource(index[dim] - padded[dim].before, data.dims[dim], mode);
    bool outside = llvm::is_contained(from, -1);
    appendElement(result, outside ? fill : data, outside ? 0 : positionOf(from, data.dims));
  });
  return result;
}

} // namespace

Evaluated PadOp::evaluate(Operands operands) {
  auto padded = paddedDims(*this);
  mlir::RankedTensorType type = operands.front() ? evaluatedType(*this) : mlir::RankedTensorType();
  bool unknownFill = getMode() == "constant" && !isAbsent(getConstantValue()) && !operands[2];
  if (!type || mlir::failed(padded) || unknownFill)
    return std::nullopt;
  const Tensor &data = *operands.front();
  Tensor result, fill;
  result.dims.assign(type.getShape().begin(), type.getShape().end());
  result.element = fill.element = type.getElementType();
  fill.ints = {0};
  fill.floats = {getValue().value_or(llvm::APFloat(0.0F)).convertToFloat()};
  if (operands.size() > 2 && operands[2])
    fill = *operands[2];
  if (fill.isFloat() ? fill.floats.empty() : fill.ints.empty())
    return std::nullopt;
  return evaluatedAs(padTo(std::move(result), data, fill, *padded, getMode()));
}

Evaluated CenterCropPadOp::evaluate(Operands operands) {
  if (!operands[0])
    return std::nullopt;
  const Tensor &data = *operands[0];
  Tensor result, fill{{}, data.element, {0}, {0}};
  result.element = data.element;
  llvm::append_range(result.dims, dimsOf(getOutputData()));
  llvm::SmallVector<PaddedDim, 4> centered = centeredDims(data.dims, result.dims);
  return evaluatedAs(padTo(std::move(result), data, fill, centered, "constant"));
}

Evaluated DepthToSpaceOp::evaluate(Operands operands) {
  auto block = static_cast<int64_t>(getBlocksize());
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  int64_t channels = dimsOf(getOutput())[1];
  bool depthFirst = getMode() == "DCR";
  return picked(*this, operands, [&](Index index) {
    int64_t place = index[2] % block * block + index[3] % block;
    int64_t depth = depthFirst ? place * channels + index[1] : index[1] * block * block + place;
    return positionOf({index[0], depth, index[2] / block, index[3] / block}, dims);
  });
}

Evaluated SpaceToDepthOp::evaluate(Operands operands) {
  auto block = static_cast<int64_t>(getBlocksize());
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  return picked(*this, operands, [&](Index index) {
    int64_t place = index[1] / dims[1], channel = index[1] % dims[1];
    return positionOf({index[0], channel, index[2] * block + place / block, index[3] * block + place % block}, dims);
  });
}

Evaluated ReverseSequenceOp::evaluate(Operands operands) {
  if (!operands[1])
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getInput());
  auto time = static_cast<size_t>(getTimeAxis()), batch = static_cast<size_t>(getBatchAxis());
  llvm::SmallVector<int64_t, 4> from;
  return picked(*this, operands, [&](Index index) {
    from.assign(index.begin(), index.end());
    int64_t length = std::clamp<int64_t>(operands[1]->ints[index[batch]], 0, dims[time]);
    if (index[time] < length)
      from[time] = length - 1 - index[time];
    return positionOf(from, dims);
  });
}

} // namespace apc
