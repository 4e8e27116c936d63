// The names of a mesh's axes, by where they lie.
#pragma once

#include "Task.h"

namespace apc {

/// The mesh with its axes named by their levels: `node.a`, `node.b` and `device` on `[4, 2 | 8]` with the levels node
/// and device. A level with one axis gives it its name (`levelWord`); several axes of a level are told by letters,
/// outermost first.
Mesh withAxesNamed(const Mesh &mesh, const Pool &pool);

/// Devices that do something of their own: the product of the axes over which some op is cut, or something that an op
/// reads, as an input is that arrives in pieces.
int64_t devicesUsed(const OpGraph &graph, const Candidate &candidate);

} // namespace apc
