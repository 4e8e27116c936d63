// Reductions for tests of the parts that work on them.
#pragma once

#include "../../lib/Search/Reduce/ReducedProblem.h"

namespace apc::test {

/// Of a problem in which something is possible.
inline dp::Reduction reductionOf(const Problem &problem, dp::Dominance dominance) {
  return std::get<dp::Reduction>(dp::reduce(problem, dominance));
}

} // namespace apc::test
