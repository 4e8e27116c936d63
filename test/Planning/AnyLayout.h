// All layouts are allowed.
#pragma once

#include "apc/Plan/ParallelDegrees.h"

namespace apc {

inline bool always(const ParallelDegrees &) { return true; }

} // namespace apc
