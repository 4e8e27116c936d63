// `dp`, before anything else: the strategies that no best answer needs.
#pragma once

#include "apc/Search/Problem.h"

#include <string>
#include <variant>
#include <vector>

namespace apc::dp {

/// What dominance compares: bytes matter only where a memory limit binds.
enum class Dominance { Seconds, SecondsAndBytes };

/// Why there is no answer at all.
struct Impossible {
  std::string reason;
};

/// The strategies that each node keeps, ascending; nodes that keep the same share a set.
struct Kept {
  std::vector<std::vector<uint32_t>> sets;
  std::vector<uint32_t> setOf; ///< for each node
};

Kept keepAll(const Problem &problem);

/// Drops a strategy that fits no strategy of a neighbour, and a strategy that another one equals or beats in its own
/// costs and in every row or column of every incident table (ties: the lower index stays). Both are exact, are done
/// once for each class of identical nodes, and are repeated until nothing changes. Source: the shaving of XLA's
/// auto_sharding.
/// \p start: what is looked at, which may be what a dominance that drops no more has left.
std::variant<Kept, Impossible> shave(const Problem &problem, Dominance dominance, Kept start);

} // namespace apc::dp
