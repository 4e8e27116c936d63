// Local search on a weighted problem: moves of one node and of two nodes until none gains.
#pragma once

#include "../Deadline.h"
#include "../Reduce/WeightedProblem.h"

#include "llvm/ADT/ArrayRef.h"

namespace apc {

/// Strategies are numbered within the surviving ones. A move is taken when it gives fewer impossible pairs or choices,
/// or else fewer bytes above the limit, or else a lower cost under the weights of the problem. Two nodes move together
/// when they are neighbours; on small problems with a limit any two nodes do, so that one can free the memory that the
/// other takes. Never worse than the start; stops at the deadline. Work: a sweep visits each cell of each table at most
/// once.
void repair(const WeightedProblem &weighted, std::optional<int64_t> memoryLimitBytes, const Deadline &deadline,
            std::vector<uint32_t> &chosen);

/// The same without a limit, after another kind of move has changed \p repaired into \p chosen. `repair` must have left
/// \p repaired under the same weights: then only nodes that differ from it, and their neighbours, can gain.
void repairSince(llvm::ArrayRef<uint32_t> repaired, const WeightedProblem &weighted, const Deadline &deadline,
                 std::vector<uint32_t> &chosen);

/// The same for an assignment of a problem with its own limit. The result may still not pass `verify`.
Assignment repaired(const Problem &problem, const Assignment &assignment, const Deadline &deadline);
/// The same on the strategies of \p reduced. Strategies of \p assignment that it lacks become the first ones.
Assignment repaired(const ReducedProblem &reduced, const Assignment &assignment,
                    std::optional<int64_t> memoryLimitBytes, const Deadline &deadline);

} // namespace apc
