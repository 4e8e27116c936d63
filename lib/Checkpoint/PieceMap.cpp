// The boxes that pieces of two layouts have in common, dim by dim.
#include "apc/Checkpoint/Reshard.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// The slices of each dim, by their place along it; one of all where the tensor is stored whole.
std::vector<std::vector<PieceMap::Slice>> slicesOf(const ByteLayout &layout, bool isWhole) {
  std::vector<std::vector<PieceMap::Slice>> slices;
  size_t outer = layout.shards.size(); // pieces with the same places along the dims before this one
  for (auto [dim, size] : llvm::enumerate(layout.shape.dims)) {
    std::vector<PieceMap::Slice> &own = slices.emplace_back();
    size_t inner = outer / layout.ways[dim]; // pieces with the same place along this dim, too
    for (size_t shard = 0; shard < outer && !isWhole; shard += inner)
      own.push_back({layout.shards[shard].begin[dim], layout.shards[shard].count[dim]});
    if (isWhole)
      own.push_back({0, size});
    outer = inner;
  }
  return slices;
}

/// Both lists ascend, and each makes up the whole dim; some slices are empty, wherever they say that they begin.
std::vector<PieceMap::Run> commonRuns(llvm::ArrayRef<PieceMap::Slice> from, llvm::ArrayRef<PieceMap::Slice> to) {
  std::vector<PieceMap::Run> runs;
  unsigned source = 0;
  for (auto [target, slice] : llvm::enumerate(to)) {
    int64_t at = slice.begin, end = slice.begin + slice.count;
    while (at < end) {
      while (from[source].count == 0 || from[source].begin + from[source].count <= at)
        ++source;
      int64_t next = std::min(end, from[source].begin + from[source].count);
      runs.push_back({static_cast<unsigned>(target), source, at, next - at});
      at = next;
    }
  }
  return runs;
}

} // namespace

llvm::SmallVector<unsigned, 4> PieceMap::slicesOf(unsigned shard) const {
  llvm::SmallVector<unsigned, 4> slices(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    auto ways = static_cast<unsigned>(dims[dim].to.size());
    slices[dim] = shard % ways;
    shard /= ways;
  }
  return slices;
}

int64_t PieceMap::numBoxes(unsigned shard) const {
  int64_t boxes = 1;
  for (auto [dim, slice] : llvm::zip_equal(dims, slicesOf(shard)))
    boxes *= llvm::count_if(dim.runs, [slice = slice](const Run &run) { return run.to == slice; });
  return boxes;
}

PieceMap mapPieces(const ByteLayout &from, bool isFromWhole, const ByteLayout &to, bool isToWhole,
                   unsigned elementBits) {
  PieceMap map;
  if (isFromWhole && isToWhole) {
    int64_t bytes = TensorShape{from.shape.dims, elementBits}.bytes();
    map.dims.push_back({bytes, {{0, bytes}}, {{0, bytes}}, {}});
    if (bytes > 0)
      map.dims.front().runs.push_back({0, 0, 0, bytes});
    return map;
  }
  map.elementBytes = elementBits / 8;
  auto sources = slicesOf(from, isFromWhole), targets = slicesOf(to, isToWhole);
  for (auto [dim, size] : llvm::enumerate(from.shape.dims))
    map.dims.push_back({size, sources[dim], targets[dim], commonRuns(sources[dim], targets[dim])});
  return map;
}

} // namespace apc
