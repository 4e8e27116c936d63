// `dp` when the fastest assignment does not fit the memory limit.
#pragma once

#include "../Incumbent.h"
#include "Frontier.h"

namespace apc::dp {

/// Everything that the search under a memory limit works on.
struct MemoryProblem {
  const Problem &problem; ///< with a memory limit
  const Reduction &reduction;
  const Plan &plan;
  const SearchOptions &options;
  const Deadline &deadline;
};

/// The least bytes that an assignment needs, with an assignment that does. Stops early at one that fits the limit.
/// Empty at the deadline.
struct LeastMemory {
  int64_t bytes;
  Assignment assignment;
};
std::optional<LeastMemory> findLeastMemory(const MemoryProblem &memory, Elimination &elimination);

/// Best-first over ranges of the largest transient bytes. In a range, the transient bytes are bounded by its upper end
/// and taken as its lower end, so what remains is one linear constraint on the persistent bytes: a Lagrangian bound
/// (the multiplier by intersecting the lines of the two best assignments on either side; exact in the dual, and each
/// evaluation is one elimination), then the frontier within a growing distance of that bound. An answer whose own
/// transient bytes do not fit splits its range there. `known` are assignments to start the dual from (the fastest of
/// all, the smallest of all). Updates `incumbent`; returns the proven bound in seconds.
double searchRanges(const MemoryProblem &memory, llvm::ArrayRef<Assignment> known, Elimination &elimination,
                    Incumbent &incumbent);

} // namespace apc::dp
