// What the stages of one problem share.
#include "Recursive/Recursive.h"

namespace apc {

Preparation::Preparation() : parts(std::make_unique<Parts>()) {}
Preparation::~Preparation() = default;
Preparation::Preparation(Preparation &&) noexcept = default;

std::optional<dp::Impossible> Preparation::Parts::make(const Problem &problem) {
  if (reduction)
    return std::nullopt;
  auto dominance = problem.memoryLimitBytes ? dp::Dominance::SecondsAndBytes : dp::Dominance::Seconds;
  std::variant<dp::Reduction, dp::Impossible> reduced = dp::reduce(problem, dominance);
  if (const dp::Impossible *impossible = std::get_if<dp::Impossible>(&reduced))
    return *impossible;
  reduction = std::move(std::get<dp::Reduction>(reduced));
  if (std::optional<Folding> folding = fold(problem, *reduction)) {
    // Shaving has left its strategies; what pairs of a class with itself would add to that is next to nothing.
    std::variant<dp::Reduction, dp::Impossible> again = dp::tablesOf(folding->problem, dp::keepAll(folding->problem));
    if (dp::Reduction *foldedReduction = std::get_if<dp::Reduction>(&again))
      folded.emplace(FoldedParts{std::move(*folding), std::move(*foldedReduction)});
  }
  return std::nullopt;
}

Landscape &Preparation::Parts::landscapeOfWhole() {
  if (!landscape)
    landscape.emplace(*reduction);
  return *landscape;
}

} // namespace apc
