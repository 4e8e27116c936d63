// What every search does with an answer that it has found.
#include "Incumbent.h"

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

bool Incumbent::isReachedBy(double bound, double gapTolerance) const {
  constexpr double rounding = 1e-12;
  return found && bound >= bestCost.seconds * (1 - std::max(gapTolerance, rounding));
}

SearchResult Incumbent::result(double bound) const {
  SearchResult answer;
  answer.status = isReachedBy(bound, 0) ? SearchStatus::Optimal : SearchStatus::Feasible;
  answer.assignment = best;
  answer.seconds = bestCost.seconds;
  answer.bytes = bestCost.bytes();
  answer.lowerBoundSeconds = answer.status == SearchStatus::Optimal ? bestCost.seconds : std::max(bound, 0.0);
  return answer;
}

SearchResult infeasible(std::string reason) {
  SearchResult answer;
  answer.reason = std::move(reason);
  return answer;
}

} // namespace apc
