// Kernels of operators that pick or place elements.
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "../HeldSpan.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/RuleBuilder.h"

namespace apc {

using Index = llvm::ArrayRef<int64_t>;

int64_t wrapIndex(int64_t index, int64_t size) {
  if (index < -size || index >= size)
    return -1;
  return index < 0 ? index + size : index;
}

namespace {

/// The operands; none when one is missing or `indices` are no integers.
std::optional<Operands> readAll(Operands operands, unsigned indices) {
  if (llvm::is_contained(operands, nullptr) || operands[indices]->isFloat())
    return std::nullopt;
  return operands;
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
void place(Tensor &data, int64_t at, const Tensor &updates, int64_t from, llvm::StringRef reduction) {
  if (data.isFloat())
    data.floats[at] = combined(data.floats[at], updates.floats[from], reduction);
  else
    data.ints[at] = combinedInts(data.ints[at], updates.ints[from], reduction);
}

/// Of a table of 10 rows, rows 4 to 6 are here (offset 4): index -5 is row 5, the second here; index 8 gives zeros.
Evaluated gatherFromPiece(GatherOp op, Operands operands) {
  auto tensors = readAll(operands, 1);
  auto held = HeldSpan::read(operands[2]);
  if (!tensors || !held || !op.getSize())
    return std::nullopt;
  const Tensor &data = *operands[0], &indices = *operands[1];
  auto axis = static_cast<size_t>(op.getAxis());
  Tensor result = zeros(op.getOutput().getType());
  llvm::SmallVector<int64_t, 4> from;
  int64_t at = 0;
  bool inside = true;
  forEachIndex(result.dims, [&](Index index) {
    int64_t picked = indices.ints[positionOf(index.slice(axis, indices.dims.size()), indices.dims)];
    int64_t whole = wrapIndex(picked, static_cast<int64_t>(*op.getSize()));
    inside &= whole >= 0;
    from.assign(index.begin(), index.begin() + static_cast<int64_t>(axis));
    from.push_back(whole - held->begin);
    from.append(index.begin() + static_cast<int64_t>(axis + indices.dims.size()), index.end());
    if (held->contains(whole) && whole - held->begin < data.dims[axis])
      setElement(result, at, getElement(data, positionOf(from, data.dims)));
    ++at;
  });
  return inside ? evaluatedAs(std::move(result)) : std::nullopt;
}

} // namespace

Evaluated GatherOp::evaluate(Operands operands) {
  if (!getOffsets().empty())
    return gatherFromPiece(*this, operands);
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  auto tensors = readAll(operands, 1);
  mlir::RankedTensorType type = tensors ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type || mlir::failed(axis))
    return std::nullopt;
  const Tensor &indices = *(*tensors)[1];
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(*operands[0], type, [&](Index index) -> int64_t {
    int64_t picked = indices.ints[positionOf(index.slice(*axis, indices.dims.size()), indices.dims)];
    from.assign(index.begin(), index.begin() + *axis);
    from.push_back(wrapIndex(picked, dims[*axis]));
    from.append(index.begin() + *axis + indices.dims.size(), index.end());
    return from[*axis] < 0 ? -1 : positionOf(from, dims);
  }));
}

Evaluated GatherElementsOp::evaluate(Operands operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  auto tensors = readAll(operands, 1);
  mlir::RankedTensorType type = tensors ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type || mlir::failed(axis))
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData());
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(*operands[0], type, [&](Index index) -> int64_t {
    from.assign(index.begin(), index.end());
    from[*axis] = wrapIndex((*tensors)[1]->ints[positionOf(index, type.getShape())], dims[*axis]);
    return from[*axis] < 0 ? -1 : positionOf(from, dims);
  }));
}

Evaluated GatherNDOp::evaluate(Operands operands) {
  auto tensors = readAll(operands, 1);
  mlir::RankedTensorType type = tensors ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type)
    return std::nullopt;
  llvm::ArrayRef<int64_t> dims = dimsOf(getData()), indices = dimsOf(getIndices());
  int64_t tuple = indices.back();
  llvm::SmallVector<int64_t, 4> from;
  return evaluatedAs(pickElements(*operands[0], type, [&](Index index) -> int64_t {
    int64_t row = positionOf(index.take_front(indices.size() - 1), indices.drop_back()) * tuple;
    from.assign(index.begin(), index.begin() + static_cast<int64_t>(getBatchDims()));
    for (int64_t i = 0; i < tuple; ++i)
      from.push_back(wrapIndex((*tensors)[1]->ints[row + i], dims[from.size()]));
    from.append(index.begin() + static_cast<int64_t>(indices.size()) - 1, index.end());
    return llvm::is_contained(from, -1) ? -1 : positionOf(from, dims);
  }));
}

Evaluated ScatterElementsOp::evaluate(Operands operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getData()).size());
  auto tensors = readAll(operands, 1);
  if (!tensors || mlir::failed(axis))
    return std::nullopt;
  Tensor result = *(*tensors)[0];
  const Tensor &indices = *(*tensors)[1];
  llvm::SmallVector<int64_t, 4> at;
  bool inside = true;
  int64_t position = 0;
  forEachIndex(indices.dims, [&](Index index) {
    at.assign(index.begin(), index.end());
    at[*axis] = wrapIndex(indices.ints[position], result.dims[*axis]);
    inside &= at[*axis] >= 0;
    if (inside)
      place(result, positionOf(at, result.dims), *(*tensors)[2], position, getReduction());
    ++position;
  });
  return inside ? evaluatedAs(result) : std::nullopt;
}

Evaluated ScatterNDOp::evaluate(Operands operands) {
  auto tensors = readAll(operands, 1);
  if (!tensors)
    return std::nullopt;
  Tensor result = *(*tensors)[0];
  const Tensor &indices = *(*tensors)[1];
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
      place(result, at * slice + i, *(*tensors)[2], row * slice + i, getReduction());
  }
  return evaluatedAs(result);
}

// Of a cache of 4 entries, an update of 2 from index 3 circularly replaces entries 3 and 0.
Evaluated TensorScatterOp::evaluate(Operands operands) {
  auto axis = normalizeAxis(*this, static_cast<int64_t>(getAxis()), dimsOf(getPastCache()).size());
  bool hasIndices = !isAbsent(getWriteIndices());
  if (mlir::failed(axis) || !operands[0] || !operands[1] || (hasIndices && !operands[2]))
    return std::nullopt;
  Tensor result = *operands[0];
  int64_t size = result.dims[*axis], from = 0;
  bool circular = getMode() == "circular", inside = true;
  llvm::SmallVector<int64_t, 4> at;
  forEachIndex(operands[1]->dims, [&](Index index) {
    at.assign(index.begin(), index.end());
    at[*axis] += hasIndices ? operands[2]->ints[index[0]] : 0;
    if (circular && size > 0)
      at[*axis] = (at[*axis] % size + size) % size;
    inside &= at[*axis] >= 0 && at[*axis] < size;
    if (inside)
      place(result, positionOf(at, result.dims), *operands[1], from, "none");
    ++from;
  });
  return inside ? evaluatedAs(std::move(result)) : std::nullopt;
}

Evaluated OneHotOp::evaluate(Operands operands) {
  auto axis = oneHotDim(*this);
  mlir::RankedTensorType type = llvm::is_contained(operands, nullptr) ? mlir::RankedTensorType() : evaluatedType(*this);
  if (!type || mlir::failed(axis))
    return std::nullopt;
  const Tensor &indices = *operands[0];
  int64_t depth = type.getDimSize(*axis);
  llvm::SmallVector<int64_t, 4> at;
  return evaluatedAs(pickElements(*operands[2], type, [&](Index index) -> int64_t {
    at.assign(index.begin(), index.end());
    at.erase(at.begin() + *axis);
    int64_t position = positionOf(at, indices.dims);
    auto wanted = indices.isFloat() ? static_cast<int64_t>(indices.floats[position]) : indices.ints[position];
    return wrapIndex(wanted, depth) == index[*axis] ? 1 : 0;
  }));
}

Evaluated TriluOp::evaluate(Operands operands) {
  if (!operands[0] || (!isAbsent(getK()) && !operands[1]))
    return std::nullopt;
  Tensor result = *operands[0];
  int64_t diagonal = 0;
  if (operands[1]) {
    const Tensor &k = *operands[1];
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
  return evaluatedAs(result);
}

} // namespace apc
