// Shardings to try: all of a tensor that use each axis on one dim or not at all.
#pragma once

#include "apc/Sharding/Sharding.h"

namespace apc::test {

inline void visitShardings(const TensorShape &shape, const Mesh &mesh, unsigned axis, Sharding &current,
                           std::vector<Sharding> &found) {
  if (axis == mesh.numAxes()) {
    found.push_back(current);
    return;
  }
  visitShardings(shape, mesh, axis + 1, current, found);
  for (unsigned dim = 0; dim < shape.numDims(); ++dim) {
    if (mesh.size(current.dims[dim]) * mesh.getAxes()[axis].size > shape.dims[dim])
      continue;
    current.dims[dim].push_back(AxisId(axis));
    visitShardings(shape, mesh, axis + 1, current, found);
    current.dims[dim].pop_back();
  }
}

/// Without partial axes; no dim is cut into more pieces than it has elements.
inline std::vector<Sharding> shardingsOf(const TensorShape &shape, const Mesh &mesh) {
  std::vector<Sharding> found;
  Sharding current = Sharding::replicated(shape.numDims());
  visitShardings(shape, mesh, 0, current, found);
  return found;
}

} // namespace apc::test
