// The parts of a step: computation, and what rests between two steps.
#pragma once

#include "apc/Graph/OpGraph.h"

namespace apc {

/// The part of an op in a step. Parameters and states include what is decided together with them: the new value of a
/// parameter; sums of gradients, the step of the optimizer.
enum class StepPart : uint8_t { Computation, Parameter, State };

/// By op; ops that are tied have the part of their leader: a parameter, a state, or the step of an optimizer without
/// states.
std::vector<StepPart> stepParts(const OpGraph &graph);

} // namespace apc
