// Slices of row-major tensors as strided runs.
#include "apc/Checkpoint/ByteRanges.h"

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

/// One range for each choice of a run in each dim, row-major.
void setRanges(Shard &shard, llvm::ArrayRef<int64_t> dims) {
  int64_t numRanges = 1;
  for (const auto &runs : shard.runs)
    numRanges *= static_cast<int64_t>(runs.size());
  for (int64_t index = 0; index < numRanges; ++index) {
    llvm::SmallVector<int64_t, 4> begin(dims.size()), count(dims.size());
    int64_t rest = index;
    for (size_t dim = dims.size(); dim-- > 0;) {
      auto numRuns = static_cast<int64_t>(shard.runs[dim].size());
      const DimRun &run = shard.runs[dim][static_cast<size_t>(rest % numRuns)];
      begin[dim] = run.begin;
      count[dim] = run.count;
      rest /= numRuns;
    }
    ByteRange range = llvm::is_contained(count, 0) ? ByteRange() : elementRange(dims, begin, count);
    if (index == 0)
      shard.range = std::move(range);
    else
      shard.furtherRanges.push_back(std::move(range));
  }
}

} // namespace

ByteLayout layoutOf(const TensorShape &shape, const Sharding &sharding, const Mesh &mesh) {
  ByteLayout layout{shape, localShape(shape, sharding, mesh), sharding, 8, {}, {}};
  size_t numShards = 1;
  for (const AxisList &axes : sharding.dims) {
    layout.ways.push_back(static_cast<size_t>(mesh.size(axes)));
    numShards *= layout.ways.back();
  }
  layout.shards.resize(numShards);
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
    for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
      shard.runs.push_back(dimRuns(shape.dims[dim], sharding, dim, mesh, rank));
      shard.begin.push_back(shard.runs.back().front().begin);
      shard.count.push_back(0);
      for (const DimRun &run : shard.runs.back())
        shard.count.back() += run.count;
    }
    setRanges(shard, shape.dims);
  }
  int64_t bits = shape.elementBits, total = shape.numElements() * bits;
  auto isWhole = [&](const ByteRange &range) { return isOfBytes(range, bits, total); };
  if (!llvm::all_of(layout.shards, [&](const Shard &shard) {
        return isWhole(shard.range) && llvm::all_of(shard.furtherRanges, isWhole);
      }))
    layout.unitBits = 1;
  for (Shard &shard : layout.shards) {
    shard.range = inUnits(shard.range, bits, layout.unitBits);
    for (ByteRange &range : shard.furtherRanges)
      range = inUnits(range, bits, layout.unitBits);
  }
  return layout;
}

} // namespace apc
