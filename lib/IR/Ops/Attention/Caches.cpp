// Caches, masks and rotation around attention, and the heads of a piece.
#include "../Attributes.h"
#include "Kernels.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

namespace apc {

Tensor placePositions(const Tensor *past, const Tensor &current, llvm::ArrayRef<int64_t> begins, int64_t length) {
  Tensor cache;
  cache.element = current.element;
  cache.dims = current.dims;
  cache.dims[2] = length;
  cache.floats.resize(cache.numElements());
  int64_t size = current.dims[3], heads = current.dims[1];
  for (int64_t head = 0; head < current.dims[0] * heads; ++head) {
    int64_t begin = begins[head / heads];
    auto copy = [&](const Tensor &from, int64_t count, int64_t at) {
      for (int64_t i = 0; i < count; ++i)
        if (at + i >= 0 && at + i < length)
          std::copy_n(from.floats.begin() + (head * from.dims[2] + i) * size, size,
                      cache.floats.begin() + (head * length + at + i) * size);
    };
    if (past)
      copy(*past, std::min(begin, past->dims[2]), 0);
    copy(current, current.dims[2], begin);
  }
  return cache;
}

void rotate(Tensor &x, const Tensor &cosines, const Tensor &sines, bool interleaved,
            llvm::function_ref<int64_t(int64_t, int64_t)> row) {
  int64_t heads = x.dims[1], positions = x.dims[2], size = x.dims[3], pairs = cosines.dims.back();
  int64_t numRows = pairs == 0 ? 0 : cosines.numElements() / pairs;
  for (int64_t i = 0, count = x.dims[0] * heads * positions; i < count; ++i) {
    int64_t at = row(i / positions / heads, i % positions);
    if (at < 0 || at >= numRows)
      continue;
    double *elements = x.floats.data() + i * size;
    for (int64_t pair = 0; pair < pairs; ++pair) {
      double &a = elements[interleaved ? 2 * pair : pair], &b = elements[interleaved ? 2 * pair + 1 : pairs + pair];
      double cosine = cosines.floats[at * pairs + pair], sine = sines.floats[at * pairs + pair],
             turned = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = turned;
    }
  }
}

ScoreMask::ScoreMask(const Tensor *mask) : mask(mask), strides(4, 0) {
  if (!mask)
    return;
  keys = mask->dims.back();
  int64_t stride = 1;
  for (size_t i = 1; i <= mask->dims.size(); ++i) {
    int64_t size = mask->dims[mask->dims.size() - i];
    strides[4 - i] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

double ScoreMask::at(const ScoreIndex &index) const {
  if (!mask)
    return 0;
  if (index.key >= keys && keys != 1)
    return masked;
  int64_t position =
      index.batch * strides[0] + index.head * strides[1] + index.query * strides[2] + index.key * strides[3];
  if (mask->isFloat())
    return mask->floats[position];
  if (!mask->element.isInteger(1))
    return static_cast<double>(mask->ints[position]);
  return mask->ints[position] != 0 ? 0 : masked;
}

bool PaddingMask::isPadding(const ScoreIndex &index, int64_t past) const {
  llvm::ArrayRef<int64_t> dims = mask->dims, values = mask->ints;
  auto isZero = [&](int64_t position) { return values[position] == 0; };
  int64_t element = dims[0] == 1 ? 0 : index.batch;
  switch (dims.size()) {
  case 1:
    if (dims[0] == 2 * batch && index.key < values[batch + index.batch])
      return true;
    return index.key >= values[index.batch];
  case 2:
    return index.key >= dims[1] || isZero(element * dims[1] + index.key);
  case 3:
    return index.key >= dims[2] || isZero((element * dims[1] + index.query) * dims[2] + index.key);
  default:
    return index.key >= dims[3] || isZero((element * dims[2] + past + index.query) * dims[3] + index.key);
  }
}

double PaddingMask::at(const ScoreIndex &index, int64_t past) const {
  return mask && isPadding(index, past) ? filter : 0;
}

double floatAttribute(mlir::Operation *op, llvm::StringRef name, double otherwise) {
  auto attribute = llvm::dyn_cast_if_present<mlir::FloatAttr>(op->getAttr(name));
  return attribute ? attribute.getValueAsDouble() : otherwise;
}

Tensor resultOrNone(mlir::Operation *op, unsigned index, Tensor tensor) {
  return isAbsent(op->getResult(index)) ? Tensor() : std::move(tensor);
}

int64_t localHeads(const LocalOp &local, llvm::ArrayRef<llvm::StringRef> factors) {
  int64_t heads = 1;
  for (auto [index, factor] : llvm::enumerate(local.rule.factors))
    if (llvm::is_contained(factors, factor.name)) {
      int64_t ways = local.mesh.size(local.strategy.axes[index]);
      heads *= (factor.size + ways - 1) / ways;
    }
  return heads;
}

mlir::Value firstHead(LocalOp &local, llvm::ArrayRef<llvm::StringRef> factors) {
  AxisList axes;
  int64_t size = 1;
  for (auto [index, factor] : llvm::enumerate(local.rule.factors)) {
    if (!llvm::is_contained(factors, factor.name))
      continue;
    size *= factor.size;
    llvm::append_range(axes, local.strategy.axes[index]);
  }
  auto type = mlir::RankedTensorType::get({}, local.builder.getI64Type());
  auto cut = AxesAttr::get(MeshAttr::get(local.builder.getContext(), local.mesh), axes);
  return ShardOffsetOp::create(local.builder, local.original->getLoc(), type, cut, size);
}

} // namespace apc
