// The groupings of prime axes that searches work on.
#include "apc/Sharding/Mesh.h"

#include <algorithm>

namespace apc {

namespace {

/// The mesh whose axes end at `cuts` (indices of prime axes that start a new axis) and at every change of level.
Mesh grouped(const Mesh &prime, llvm::ArrayRef<unsigned> cuts) {
  std::vector<MeshAxis> axes;
  for (unsigned i = 0; i < prime.numAxes(); ++i) {
    const MeshAxis &axis = prime.getAxes()[i];
    bool starts = i == 0 || axis.level != prime.getAxes()[i - 1].level || llvm::is_contained(cuts, i);
    if (starts)
      axes.push_back({"x" + std::to_string(axes.size()), axis.size, axis.level});
    else
      axes.back().size *= axis.size;
  }
  return Mesh(std::move(axes));
}

} // namespace

std::vector<Mesh> logicalMeshes(const Mesh &prime, unsigned maxAxes) {
  // Where an axis may be cut inside a level: [2, 2, 2 | 2, 2, 2] -> 1, 2, 4, 5.
  llvm::SmallVector<unsigned, 8> places;
  unsigned numLevels = prime.numAxes() == 0 ? 0 : 1;
  for (unsigned i = 1; i < prime.numAxes(); ++i) {
    if (prime.getAxes()[i].level == prime.getAxes()[i - 1].level)
      places.push_back(i);
    else
      ++numLevels;
  }
  unsigned spare = maxAxes > numLevels ? maxAxes - numLevels : 0;
  unsigned numCuts = std::min<unsigned>(spare, places.size());

  // All subsets of `numCuts` places in lexicographic order: fewer cuts would be refined by one of these.
  std::vector<Mesh> meshes;
  llvm::SmallVector<unsigned, 8> chosen(numCuts);
  for (unsigned i = 0; i < numCuts; ++i)
    chosen[i] = i;
  while (true) {
    llvm::SmallVector<unsigned, 8> cuts;
    for (unsigned index : chosen)
      cuts.push_back(places[index]);
    meshes.push_back(grouped(prime, cuts));
    unsigned moving = numCuts;
    while (moving > 0 && chosen[moving - 1] == places.size() - numCuts + moving - 1)
      --moving;
    if (moving == 0)
      return meshes;
    ++chosen[moving - 1];
    for (unsigned i = moving; i < numCuts; ++i)
      chosen[i] = chosen[i - 1] + 1;
  }
}

} // namespace apc
