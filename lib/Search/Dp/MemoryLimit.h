// `dp` when the fastest assignment does not fit the memory limit.
#pragma once

#include "../Incumbent.h"
#include "Frontier.h"

namespace apc::dp {

/// The inputs of the search under a memory limit.
struct MemoryProblem {
  const Problem &problem; ///< with a memory limit
  const ReducedProblem &reduced;
  const EliminationOrder &order;
  const SearchOptions &options;
  const Deadline &deadline;
};

/// The least bytes that an assignment needs, with such an assignment. Stops early at an assignment that fits the limit.
/// Empty at the deadline.
struct LeastMemory {
  int64_t bytes;
  Assignment assignment;
};
std::optional<LeastMemory> findLeastMemory(const MemoryProblem &memory, Elimination &elimination);

/// Best-first search over ranges of the largest transient bytes. In a range, transient bytes may reach the upper end,
/// and the persistent bytes may take the limit minus the lower end: one linear constraint. Its Lagrangian bound comes
/// first: the multiplier lies where the lines of the best assignments on either side meet, each evaluation is one
/// elimination, and the dual is solved exactly. Then the frontier follows, within a growing distance of that bound. An
/// answer whose own transient bytes do not fit splits its range there. \p known: assignments to start the dual from
/// (the fastest of all, the smallest of all). Updates `incumbent`; returns the proven bound in seconds.
double searchRanges(const MemoryProblem &memory, llvm::ArrayRef<Assignment> known, Elimination &elimination,
                    Incumbent &incumbent);

} // namespace apc::dp
