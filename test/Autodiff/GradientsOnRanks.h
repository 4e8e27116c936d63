// Gradients run on ranks.
#pragma once

#include "GradientPrograms.h"

#include <cstddef>

namespace apc {

/// The gradients of the float inputs are on [2, 2] ranks those of one device: each op under every legal strategy while
/// the others are whole, and all under strategies by lot, so that operands also arrive cut and partial. The number of
/// programs that were run.
size_t runOnRanks(const GradientProgram &program);

} // namespace apc
