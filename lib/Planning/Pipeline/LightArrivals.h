// Values that arrive at a stage in the pieces that it reads.
#pragma once

#include "../Task.h"

namespace apc {

/// \p candidate, a program of a stage, whose values from other stages arrive as one of their readers takes them, where
/// a device then receives fewer bytes, and the stage takes neither more seconds nor, beyond its limit, more bytes. A
/// search of the stage alone does not see what a transfer costs.
Candidate withLightArrivals(const PlanningTask &task, Candidate candidate);

} // namespace apc
