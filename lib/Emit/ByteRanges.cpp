// Slices of row-major tensors as strided runs.
#include "apc/Emit/ByteRanges.h"

namespace apc {

namespace {

/// The elements [begin, begin + count) of each dim as runs, in elements. Dims that are whole join the run within.
ByteRange elementRange(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> count) {
  ByteRange range{0, 1, {}};
  int64_t size = 1; // of the dims within, in elements
  for (size_t dim = dims.size(); dim-- > 0; size *= dims[dim]) {
    range.offset += begin[dim] * size;
    if (count[dim] == 1)
      continue;
    ByteRange::Repeat *outer = range.repeats.empty() ? nullptr : &range.repeats.front();
    if (!outer && range.length == size)
      range.length *= count[dim];
    else if (outer && outer->stride * outer->count == size)
      outer->count *= count[dim];
    else
      range.repeats.insert(range.repeats.begin(), {size, count[dim]});
  }
  return range;
}

/// True when all numbers of `range`, in elements of `elementBits`, are whole bytes.
bool isOfBytes(const ByteRange &range, int64_t elementBits, int64_t totalBits) {
  auto whole = [&](int64_t elements) { return elements * elementBits % 8 == 0; };
  bool endsTensor = range.repeats.empty() && (range.offset + range.length) * elementBits == totalBits;
  return whole(range.offset) && (whole(range.length) || endsTensor) &&
         llvm::all_of(range.repeats, [&](const ByteRange::Repeat &repeat) { return whole(repeat.stride); });
}

ByteRange inUnits(ByteRange range, int64_t elementBits, int64_t unitBits) {
  range.offset = range.offset * elementBits / unitBits;
  range.length = (range.length * elementBits + unitBits - 1) / unitBits;
  for (ByteRange::Repeat &repeat : range.repeats)
    repeat.stride = repeat.stride * elementBits / unitBits;
  return range;
}

} // namespace

ByteLayout layoutOf(const TensorShape &shape, const Sharding &sharding, const Mesh &mesh) {
  ByteLayout layout{shape, localShape(shape, sharding, mesh), sharding, 8, {}, {}};
  int64_t numShards = 1;
  for (const AxisList &axes : sharding.dims)
    numShards *= mesh.size(axes);
  layout.shards.resize(static_cast<size_t>(numShards));
  std::vector<bool> known(layout.shards.size());
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    size_t index = 0;
    for (const AxisList &axes : sharding.dims)
      index = index * static_cast<size_t>(mesh.size(axes)) + static_cast<size_t>(mesh.indexInGroup(rank, axes));
    layout.shardOfRank.push_back(static_cast<unsigned>(index));
    if (known[index])
      continue;
    known[index] = true;
    Shard &shard = layout.shards[index];
    for (auto [dim, axes] : llvm::enumerate(sharding.dims)) {
      DimSlice slice = dimSlice(shape.dims[dim], axes, mesh, rank);
      shard.begin.push_back(slice.begin);
      shard.count.push_back(slice.count);
    }
    if (!llvm::is_contained(shard.count, 0))
      shard.range = elementRange(shape.dims, shard.begin, shard.count);
  }
  int64_t bits = shape.elementBits, total = shape.numElements() * bits;
  if (!llvm::all_of(layout.shards, [&](const Shard &shard) { return isOfBytes(shard.range, bits, total); }))
    layout.unitBits = 1;
  for (Shard &shard : layout.shards)
    shard.range = inUnits(shard.range, bits, layout.unitBits);
  return layout;
}

} // namespace apc
