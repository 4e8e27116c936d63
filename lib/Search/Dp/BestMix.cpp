// A problem with the strategies of a few answers alone, solved by `dp`.
#include "BestMix.h"

#include "Start.h"

#include "apc/Support/Interner.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

/// For each node the strategies that it has in \p answers.
static Survivors strategiesOf(const Problem &problem, llvm::ArrayRef<Assignment> answers) {
  Survivors survivors;
  Interner<std::vector<uint32_t>> sets;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    std::vector<uint32_t> strategies;
    for (const Assignment &answer : answers)
      strategies.push_back(answer.strategies[node]);
    llvm::sort(strategies);
    strategies.erase(llvm::unique(strategies), strategies.end());
    survivors.setOf.push_back(sets.idOf(std::move(strategies)));
  }
  survivors.sets = sets.take();
  return survivors;
}

std::optional<Assignment> bestMix(const Problem &problem, const Assignment &best, llvm::ArrayRef<Assignment> answers,
                                  const SearchOptions &options, double secondsLeft) {
  std::vector<Assignment> all(answers.begin(), answers.end());
  all.push_back(best);
  std::variant<ReducedProblem, Impossible> tables = tablesOf(problem, strategiesOf(problem, all));
  const auto *mixed = std::get_if<ReducedProblem>(&tables);
  if (!mixed)
    return std::nullopt;
  SearchOptions quick = options;
  constexpr double most = 2; // seconds' worth of tables
  quick.timeLimitSeconds = std::min(most, options.timeLimitSeconds);
  DpStart start{&best, std::nullopt, std::min(secondsLeft, quick.timeLimitSeconds), mixed, /*onlyExact=*/true};
  llvm::Expected<SearchResult> found = searchDpFrom(problem, quick, start);
  if (!found) {
    llvm::consumeError(found.takeError());
    return std::nullopt;
  }
  bool isFaster = found->hasAnswer() && found->seconds < evaluate(problem, best).seconds;
  return isFaster ? std::optional(std::move(found->assignment)) : std::nullopt;
}

} // namespace apc
