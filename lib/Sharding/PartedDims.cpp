// Dims that are cut inside parts: their text, local sizes and runs.
#include "apc/Sharding/Sharding.h"

#include <numeric>

namespace apc {

llvm::ArrayRef<int64_t> partsOf(llvm::ArrayRef<PartedDim> parted, unsigned dim) {
  for (const PartedDim &entry : parted)
    if (entry.dim == dim)
      return entry.sizes;
  return {};
}

void setParts(PartedDims &parted, unsigned dim, llvm::ArrayRef<int64_t> sizes) {
  auto *place = llvm::find_if(parted, [&](const PartedDim &entry) { return entry.dim >= dim; });
  if (place != parted.end() && place->dim == dim)
    place = parted.erase(place);
  if (sizes.size() > 1)
    parted.insert(place, PartedDim{dim, llvm::SmallVector<int64_t, 4>(sizes)});
}

std::string partsText(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "{" : " ") + std::to_string(size);
  return text.empty() ? text : text + "}";
}

std::optional<llvm::SmallVector<int64_t, 4>> parseParts(llvm::StringRef text) {
  llvm::SmallVector<int64_t, 4> sizes;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words)
    if (word.getAsInteger(10, sizes.emplace_back()))
      return std::nullopt;
  return sizes.size() < 2 ? std::nullopt : std::optional(std::move(sizes));
}

llvm::SmallVector<int64_t, 4> localParts(int64_t size, const Sharding &sharding, unsigned dim, const Mesh &mesh) {
  llvm::SmallVector<int64_t, 4> sizes(sharding.partsOf(dim));
  if (sizes.empty())
    sizes.push_back(size);
  for (int64_t &part : sizes)
    part = localSize(part, sharding.dims[dim], mesh);
  return sizes;
}

int64_t localSize(int64_t size, const Sharding &sharding, unsigned dim, const Mesh &mesh) {
  llvm::SmallVector<int64_t, 4> sizes = localParts(size, sharding, dim, mesh);
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
}

llvm::SmallVector<DimRun, 1> dimRuns(int64_t size, const Sharding &sharding, unsigned dim, const Mesh &mesh,
                                     int64_t rank) {
  llvm::ArrayRef<int64_t> sizes = sharding.partsOf(dim);
  llvm::SmallVector<DimRun, 1> runs;
  int64_t begin = 0, at = 0;
  for (int64_t part : sizes.empty() ? llvm::ArrayRef(size) : sizes) {
    DimSlice slice = dimSlice(part, sharding.dims[dim], mesh, rank);
    runs.push_back({begin + slice.begin, slice.count, at, localSize(part, sharding.dims[dim], mesh)});
    begin += part;
    at += runs.back().room;
  }
  return runs;
}

} // namespace apc
