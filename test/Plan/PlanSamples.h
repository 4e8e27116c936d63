// A small plan that tests read, print and explain.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// Two layers of MatMul and Add on [data=2 | model=4], the second layer waiting for an AllReduce.
Plan samplePlan();

} // namespace apc
