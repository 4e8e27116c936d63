// Reduced problems, for tests of the parts that work on them.
#pragma once

#include "../../lib/Search/Reduce/ReducedProblem.h"

namespace apc::test {

/// For a problem that has a possible assignment.
inline ReducedProblem reducedProblemOf(const Problem &problem, Dominance dominance) {
  return std::get<ReducedProblem>(reduceProblem(problem, dominance));
}

} // namespace apc::test
