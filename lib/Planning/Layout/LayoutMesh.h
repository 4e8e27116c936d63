// The mesh of a layout.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Plan/ParallelDegrees.h"
#include "apc/Sharding/Mesh.h"

#include <optional>
#include <vector>

namespace apc {

/// The mesh of a layout and the axes of each of its degrees, outermost first.
struct LayoutMesh {
  Mesh mesh;
  AxisList data, context, tensor;
  AxisList experts; ///< the innermost axes of `tensor` where experts are whole, then of `context`, then of `data`
  AxisList storage; ///< axes over which ZeRO cuts: such innermost ones, or all of `replicas`

  /// The axes over which parameters other than experts are whole: dp's and cp's.
  AxisList replicas() const;
  /// Are the ranks of a shard next to each other: no axis of `replicas` that they leave is farther in?
  bool hasWholeGroups() const;
};

/// From the innermost level outwards tp takes what it can, then cp, then dp: dp=16,tp=4 on {8, 8} -> [d=8 | d=2, t=4].
/// Experts lie on the innermost part of cp and dp, or of tp, cp and dp where they are whole, and the ranks of a shard
/// on that of cp and dp. None where a degree does not divide what is left of a level.
std::optional<LayoutMesh> arrangeLayout(const Pool &pool, const ParallelDegrees &layout);

} // namespace apc
