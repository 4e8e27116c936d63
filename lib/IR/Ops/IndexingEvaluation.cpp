// Operators that pick or place elements, on small constants.
#include "apc/IR/Ops/Indexing.h"

namespace apc {

using Constants = llvm::ArrayRef<mlir::DenseElementsAttr>;
using Index = llvm::ArrayRef<int64_t>;

namespace {

/// An index that may count from the end; -1 when it lies outside `size`.
int64_t wrapIndex(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    return -1;
  return index < 0 ? index + size : index;
}

/// Reads the operands; none when one is missing or `indices` are no integers.
std::optional<llvm::SmallVector<ConstantTensor, 3>> readAll(Constants operands, unsigned indices) {
  if (llvm::is_contained(operands, mlir::DenseElementsAttr()))
    return std::nullopt;
  llvm::SmallVector<ConstantTensor, 3> tensors;
  for (mlir::DenseElementsAttr operand : operands)
    tensors.push_back(ConstantTensor::read(operand));
  return tensors[indices].isFloat() ? std::nullopt : std::optional(std::move(tensors));
}

template <typename Number>
Number combined(Number old, Number update, llvm::StringRef reduction) {
  if (reduction == "add")
    return old + update;
  if (reduction == "mul")
    return old * update;
  if (reduction == "max")
    return std::max(old, update);
  return reduction == "min" ? std::min(old, update) : update;
}

/// Unsigned arithmetic, so that sums and products of int64 wrap around.
int64_t combinedInts(int64_t old, int64_t update, llvm::StringRef reduction) {
  if (reduction == "add" || reduction == "mul")
    return static_cast<int64_t>(
        combined<uint64_t>(static_cast<uint64_t>(old), static_cast<uint64_t>(update), reduction));
  return combined<int64_t>(old, update, reduction);
}

/// Combines element `from` of `updates` into element `at` of `data`.
void place(ConstantTensor &data, int64_t at, const ConstantTensor &updates, int64_t from, llvm::StringRef reduction) {
  if (data.isFloat())
    data.floats[at] = combined(data.floats[at], updates.floats[from], reduction);
  else
    data.ints[at] = combinedInts(data.ints[at], updates.ints[from], reduction);
}

} // namespace

Evaluated GatherOp::evaluate(Constants operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  auto tensors = readAll(operands, 1);
  mlir::RankedTensorType type = tensors ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type || mlir::failed(axis))
    return std::nullopt;
  const ConstantTensor &indices = (*tensors)[1];
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(operands[0], type, [&](Index index) -> int64_t {
    int64_t picked = indices.ints[positionOf(index.slice(*axis, indices.dims.size()), indices.dims)];
    from.assign(index.begin(), index.begin() + *axis);
    from.push_back(wrapIndex(picked, dims[*axis]));
    from.append(index.begin() + *axis + indices.dims.size(), index.end());
    return from[*axis] < 0 ? -1 : positionOf(from, dims);
  }));
}

Evaluated GatherElementsOp::evaluate(Constants operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  auto tensors = readAll(operands, 1);
  mlir::RankedTensorType type = tensors ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type || mlir::failed(axis))
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(operands[0], type, [&](Index index) -> int64_t {
    from.assign(index.begin(), index.end());
    from[*axis] = wrapIndex((*tensors)[1].ints[positionOf(index, type.getShape())], dims[*axis]);
    return from[*axis] < 0 ? -1 : positionOf(from, dims);
  }));
}

Evaluated GatherNDOp::evaluate(Constants operands) {
  auto tensors = readAll(operands, 1);
  mlir::RankedTensorType type = tensors ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type)
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData()), indices = dimsOf(getIndices());
  int64_t tuple = indices.back();
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(operands[0], type, [&](Index index) -> int64_t {
    int64_t row = positionOf(index.take_front(indices.size() - 1), indices.drop_back()) * tuple;
    from.assign(index.begin(), index.begin() + static_cast<int64_t>(getBatchDims()));
    for (int64_t i = 0; i < tuple; ++i)
      from.push_back(wrapIndex((*tensors)[1].ints[row + i], dims[from.size()]));
    from.append(index.begin() + static_cast<int64_t>(indices.size()) - 1, index.end());
    return llvm::is_contained(from, -1) ? -1 : positionOf(from, dims);
  }));
}

Evaluated ScatterElementsOp::evaluate(Constants operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  auto tensors = readAll(operands, 1);
  if (!tensors || mlir::failed(axis))
    return std::nullopt;
  ConstantTensor result = (*tensors)[0];
  const ConstantTensor &indices = (*tensors)[1];
  llvm::SmallVector<int64_t, 4> at;
  bool inside = true;
  int64_t position = 0;
  forEachIndex(indices.dims, [&](Index index) {
    at.assign(index.begin(), index.end());
    at[*axis] = wrapIndex(indices.ints[position], result.dims[*axis]);
    inside &= at[*axis] >= 0;
    if (inside)
      place(result, positionOf(at, result.dims), (*tensors)[2], position, getReduction());
    ++position;
  });
  return inside ? evaluatedAs(result.toAttribute()) : std::nullopt;
}

Evaluated ScatterNDOp::evaluate(Constants operands) {
  auto tensors = readAll(operands, 1);
  if (!tensors)
    return std::nullopt;
  ConstantTensor result = (*tensors)[0];
  const ConstantTensor &indices = (*tensors)[1];
  int64_t tuple = indices.dims.back();
  // Data [4, 5] and tuples of 1 replace slices of 5 elements.
  int64_t slice = checkedProduct(Index(result.dims).drop_front(tuple)).value_or(0);
  for (int64_t row = 0; row < indices.numElements() / tuple; ++row) {
    int64_t at = 0;
    for (int64_t i = 0; i < tuple; ++i) {
      int64_t index = wrapIndex(indices.ints[row * tuple + i], result.dims[i]);
      if (index < 0)
        return std::nullopt;
      at = at * result.dims[i] + index;
    }
    for (int64_t i = 0; i < slice; ++i)
      place(result, at * slice + i, (*tensors)[2], row * slice + i, getReduction());
  }
  return evaluatedAs(result.toAttribute());
}

Evaluated OneHotOp::evaluate(Constants operands) {
  auto axis = oneHotDim(*this);
  mlir::RankedTensorType type =
      llvm::is_contained(operands, mlir::DenseElementsAttr()) ? mlir::RankedTensorType() : evaluatedType(*this);
  if (!type || mlir::failed(axis))
    return std::nullopt;
  ConstantTensor indices = ConstantTensor::read(operands[0]);
  int64_t depth = type.getDimSize(*axis);
  llvm::SmallVector<int64_t, 4> at;
  return evaluatedAs(pickElements(operands[2], type, [&](Index index) -> int64_t {
    at.assign(index.begin(), index.end());
    at.erase(at.begin() + *axis);
    int64_t position = positionOf(at, indices.dims);
    auto wanted = indices.isFloat() ? static_cast<int64_t>(indices.floats[position]) : indices.ints[position];
    return wrapIndex(wanted, depth) == index[*axis] ? 1 : 0;
  }));
}

Evaluated TriluOp::evaluate(Constants operands) {
  if (!operands[0] || (!isAbsent(getK()) && !operands[1]))
    return std::nullopt;
  ConstantTensor result = ConstantTensor::read(operands[0]);
  int64_t diagonal = 0;
  if (operands[1]) {
    ConstantTensor k = ConstantTensor::read(operands[1]);
    if (k.ints.size() != 1)
      return std::nullopt;
    diagonal = k.ints.front();
  }
  size_t row = result.dims.size() - 2;
  int64_t position = 0;
  forEachIndex(result.dims, [&](Index index) {
    int64_t distance = index[row + 1] - index[row];
    bool kept = getUpper() != 0 ? distance >= diagonal : distance <= diagonal;
    if (!kept && result.isFloat())
      result.floats[position] = 0;
    else if (!kept)
      result.ints[position] = 0;
    ++position;
  });
  return evaluatedAs(result.toAttribute());
}

} // namespace apc
