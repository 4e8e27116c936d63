// Judging answers and bounds.
#include "Incumbent.h"

#include "apc/Support/Units.h"

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

std::string againstLimit(int64_t bytes, int64_t limitBytes) {
  auto text = [](int64_t count) { return formatBytes(static_cast<double>(count)); };
  std::string sizes = text(bytes) + " of memory; the limit is " + text(limitBytes);
  // Rounded to the same text, the two would seem to agree.
  return text(bytes) == text(limitBytes) ? sizes + ", " + text(bytes - limitBytes) + " less" : sizes;
}

SearchResult aboveMemoryLimit(const Problem &problem, int64_t fewestBytes) {
  return infeasible("every assignment needs at least " + againstLimit(fewestBytes, *problem.memoryLimitBytes));
}

} // namespace apc
