// Judging answers and bounds.
#include "Incumbent.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace apc {

Evaluation Incumbent::offer(const Assignment &assignment) {
  Evaluation cost = evaluate(problem, assignment);
  if (found && cost.seconds >= bestCost.seconds)
    return cost;
  if (llvm::Error error = verify(problem, assignment)) {
    llvm::consumeError(std::move(error));
    return cost;
  }
  found = true;
  best = assignment;
  bestCost = cost;
  return cost;
}

std::optional<double> Incumbent::secondsToBeat() const {
  if (!found)
    return cutoff;
  return cutoff ? std::min(*cutoff, bestCost.seconds) : bestCost.seconds;
}

bool Incumbent::isNear(double bound, double seconds, double gapTolerance) const {
  constexpr double rounding = 1e-12;
  return bound >= seconds * (1 - std::max(gapTolerance, rounding));
}

bool Incumbent::isReachedBy(double bound, double gapTolerance) const {
  std::optional<double> seconds = secondsToBeat();
  return seconds && isNear(bound, *seconds, gapTolerance);
}

SearchResult Incumbent::result(double bound) const {
  SearchResult answer;
  if (!found) {
    answer.status = cutoff ? SearchStatus::CutOff : SearchStatus::Unknown;
    answer.reason = cutoff ? "no assignment is faster than the cutoff" : "no assignment was found";
    answer.lowerBoundSeconds = std::max(bound, 0.0);
    return answer;
  }
  answer.status = isNear(bound, bestCost.seconds, 0) ? SearchStatus::Optimal : SearchStatus::Feasible;
  answer.assignment = best;
  answer.seconds = bestCost.seconds;
  answer.bytes = bestCost.bytes();
  answer.lowerBoundSeconds = answer.status == SearchStatus::Optimal ? bestCost.seconds : std::max(bound, 0.0);
  return answer;
}

SearchResult infeasible(std::string reason) {
  SearchResult answer;
  answer.status = SearchStatus::Infeasible;
  answer.reason = std::move(reason);
  return answer;
}

SearchResult aboveMemoryLimit(const Problem &problem, int64_t fewestBytes) {
  return infeasible(llvm::formatv("every assignment needs at least {0} bytes of memory; the limit is {1}", fewestBytes,
                                  *problem.memoryLimitBytes));
}

} // namespace apc
