// Shardings as PyTorch writes them: for each axis of the mesh, what it does.
#pragma once

#include "../BoundOps.h"

namespace apc {

/// One axis: cuts a dim, or leaves parts of a sum, or repeats.
struct ValuePlacement {
  std::optional<int64_t> dim;
  std::optional<Combiner> partial;
};

/// One for each axis of the mesh.
std::vector<ValuePlacement> placementsOf(const PlanMesh &mesh, const NamedSharding &sharding);

/// Adds the reasons why placements say less than the sharding.
void addPlacementReasons(const PlanMesh &mesh, const PlanSharding &sharding, GroupedReasons &reasons);

} // namespace apc
