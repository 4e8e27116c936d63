// The place where a plan's memory is largest, and what lies there.
#pragma once

#include "apc/Plan/Plan.h"

namespace apc {

/// "largest at h.1/Add"; of a worker with several stages "largest on worker 1, stages 1 and 5"; empty where the plan
/// does not say.
std::string peakText(const Plan &plan);

/// The values that the memory is made of where it is largest; of a worker with several stages those of each stage at
/// its own largest.
void printPeak(const Plan &plan, llvm::raw_ostream &os);

} // namespace apc
