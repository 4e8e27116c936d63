// Boxes in the order of the target's bytes.
#include "PieceCopier.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

constexpr int64_t allWindows = 32 << 20;
constexpr size_t mostSources = 64;

/// A dim along which the piece has all elements, out of one slice that has them all.
bool isWhole(const PieceMap::Dim &dim, llvm::ArrayRef<PieceMap::Run> runs) {
  return runs.size() == 1 && runs.front().count == dim.size && dim.from[runs.front().from].count == dim.size;
}

} // namespace

void SourcePool::fitTo(size_t numSources) {
  isCrowded = numSources > mostSources;
  numSources = std::clamp<size_t>(numSources, 1, mostSources);
  int64_t wanted = std::min(WeightSource::windowBytes, allWindows / static_cast<int64_t>(numSources));
  if (wanted == window && sources.size() >= numSources)
    return;
  window = wanted;
  sources.clear();
  for (size_t source = 0; source < numSources; ++source)
    sources.push_back(std::make_unique<WeightSource>(window));
}

llvm::Error SourcePool::read(size_t source, const std::string &path, int64_t offset, int64_t length, int64_t gap,
                             OutputFile &out) {
  WeightSource &from = *sources[source % sources.size()];
  if (llvm::Error error = from.open(path))
    return error;
  while (length > 0) {
    int64_t part = std::min(length, window);
    if (from.isHole(offset, part)) {
      if (llvm::Error error = out.writeZeros(part))
        return error;
    } else {
      auto text = from.read(offset, part, isCrowded ? INT64_MAX : gap);
      if (!text)
        return text.takeError();
      if (llvm::Error error = out.write(*text))
        return error;
    }
    offset += part;
    length -= part;
  }
  return llvm::Error::success();
}

llvm::Error PieceCopier::run(unsigned shard) {
  runs.clear();
  for (auto [dim, wanted] : llvm::zip_equal(map.dims, map.slicesOf(shard))) {
    auto begin = llvm::partition_point(dim.runs, [w = wanted](const PieceMap::Run &run) { return run.to < w; });
    auto end = llvm::partition_point(dim.runs, [w = wanted](const PieceMap::Run &run) { return run.to <= w; });
    runs.push_back(llvm::ArrayRef(dim.runs).slice(static_cast<size_t>(begin - dim.runs.begin()),
                                                  static_cast<size_t>(end - begin)));
  }
  at.assign(map.dims.size(), 0);
  slice.assign(map.dims.size(), 0);
  innermost = map.dims.empty() ? 0 : map.dims.size() - 1;
  block = map.elementBytes;
  for (; innermost > 0 && isWhole(map.dims[innermost], runs[innermost]); --innermost)
    block *= map.dims[innermost].size;
  pool.fitTo(runs.empty() ? 1 : runs[innermost].size());
  if (map.dims.empty())
    return pool.read(0, *pieces[0].path, pieces[0].offset, block, 0, out);
  return copyDim(0);
}

llvm::Error PieceCopier::copyDim(size_t dim) {
  if (dim == innermost)
    return copyRuns();
  for (const PieceMap::Run &run : runs[dim]) {
    slice[dim] = run.from;
    for (at[dim] = run.begin; at[dim] < run.begin + run.count; ++at[dim])
      if (llvm::Error error = copyDim(dim + 1))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error PieceCopier::copyRuns() {
  for (auto [number, run] : llvm::enumerate(runs[innermost])) {
    at[innermost] = run.begin;
    slice[innermost] = run.from;
    size_t piece = 0;
    int64_t element = 0; // in the source's piece
    for (size_t dim = 0; dim < map.dims.size(); ++dim) {
      const PieceMap::Dim &own = map.dims[dim];
      unsigned place = dim <= innermost ? slice[dim] : runs[dim].front().from;
      piece = piece * own.from.size() + place;
      if (dim <= innermost)
        element = element * own.from[place].count + at[dim] - own.from[place].begin;
    }
    int64_t rest = map.dims[innermost].from[run.from].count - run.count;
    if (llvm::Error error = pool.read(number, *pieces[piece].path, pieces[piece].offset + element * block,
                                      run.count * block, rest * block, out))
      return error;
  }
  return llvm::Error::success();
}

} // namespace apc
