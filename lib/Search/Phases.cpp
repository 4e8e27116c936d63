// The work that the phases of one problem share.
#include "Recursive/Recursive.h"

namespace apc {

SharedWork::SharedWork() : parts(std::make_unique<Parts>()) {}
SharedWork::~SharedWork() = default;
SharedWork::SharedWork(SharedWork &&) noexcept = default;

std::optional<Impossible> SharedWork::Parts::make(const Problem &problem) {
  if (reduced)
    return std::nullopt;
  auto dominance = problem.memoryLimitBytes ? Dominance::SecondsAndBytes : Dominance::Seconds;
  std::variant<ReducedProblem, Impossible> whole = reduceProblem(problem, dominance);
  if (const Impossible *impossible = std::get_if<Impossible>(&whole))
    return *impossible;
  reduced = std::move(std::get<ReducedProblem>(whole));
  if (std::optional<Folding> folding = fold(problem, *reduced)) {
    // Not pruned again: the strategies are pruned already, and pairs of a class with itself would remove almost none.
    std::variant<ReducedProblem, Impossible> small = tablesOf(folding->problem, keepAll(folding->problem));
    if (ReducedProblem *tables = std::get_if<ReducedProblem>(&small))
      folded.emplace(FoldedParts{std::move(*folding), std::move(*tables)});
  }
  return std::nullopt;
}

WeightedProblem &SharedWork::Parts::weightedWhole() {
  if (!weighted)
    weighted.emplace(*reduced);
  return *weighted;
}

} // namespace apc
