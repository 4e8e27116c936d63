// A small plan that tests read, print and explain.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// Two layers of MatMul and Add on [data=2 | model=4], the second layer waiting for an AllReduce.
Plan samplePlan();

/// The sample with both layers' MatMuls cut along n instead of k: a fifth faster, on twice the devices.
Plan changedPlan();

/// A request in which every field differs from its default.
PlanRequest unusualRequest();

/// The strategy that a text as "k:model" names.
NamedStrategy strategy(llvm::StringRef text);

} // namespace apc
