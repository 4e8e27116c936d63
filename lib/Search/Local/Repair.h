// The repair pass of `recursive`: moves of one and of two nodes until none gains.
#pragma once

#include "../Deadline.h"
#include "../Reduce/WeightedProblem.h"

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Strategies are counted within the reduction's kept ones. A move is taken when it gives fewer impossible pairs or
/// choices, or else fewer bytes above the limit, or else a lower price under the landscape's weights. Two nodes move
/// together when they are neighbours and, on small problems with a limit, any two: one gives the memory that the other
/// takes. Never worse than it began; stops at the deadline. Work: a sweep is the sum of all table sizes at most.
void repair(const Landscape &landscape, std::optional<int64_t> memoryLimitBytes, const Deadline &deadline,
            std::vector<uint32_t> &chosen);

/// The same without a limit, from what some other move has made of \p repaired, which `repair` has left under the same
/// weights: only what differs from it and the neighbours of that can gain.
void repairSince(llvm::ArrayRef<uint32_t> repaired, const Landscape &landscape, const Deadline &deadline,
                 std::vector<uint32_t> &chosen);

} // namespace apc
