// The work that the phases of one problem share.
#include "Recursive/Recursive.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace apc {

SharedWork::SharedWork() : parts(std::make_unique<Parts>()) {}
SharedWork::~SharedWork() = default;
SharedWork::SharedWork(SharedWork &&) noexcept = default;

void SharedWork::endFirstPhase() {
  parts->folded.reset();
  parts->hasFolded = false;
}

void SharedWork::endRaise() { parts->whole.reset(); }

void SharedWork::end() {
  auto rest = std::make_unique<Parts>();
  rest->proven = std::move(parts->proven);
  parts = std::move(rest);
}

std::optional<Impossible> SharedWork::Parts::make(const Problem &problem, unsigned numThreads) {
  if (!reduced) {
    auto dominance = problem.memoryLimitBytes ? Dominance::SecondsAndBytes : Dominance::Seconds;
    std::variant<ReducedProblem, Impossible> whole = reduceProblem(problem, dominance, nullptr, numThreads);
    if (const Impossible *impossible = std::get_if<Impossible>(&whole))
      return *impossible;
    reduced = std::move(std::get<ReducedProblem>(whole));
  }
  if (std::exchange(hasFolded, true))
    return std::nullopt;
  if (std::optional<Folding> folding = fold(problem, *reduced, numThreads)) {
    // Not pruned again: the strategies are pruned already, and pairs of a class with itself would remove almost none.
    std::variant<ReducedProblem, Impossible> small = tablesOf(folding->problem, keepAll(folding->problem), numThreads);
    if (ReducedProblem *tables = std::get_if<ReducedProblem>(&small))
      folded.emplace(FoldedParts{std::move(*folding), std::move(*tables)});
  }
  return std::nullopt;
}

Messaging &SharedWork::Parts::messagesOfWhole(unsigned numThreads) {
  if (!whole)
    whole.emplace(*reduced, numThreads);
  return *whole;
}

void SharedWork::Parts::remember(const Problem &problem, const LeastWith &leastWith, bool ignoresLimit) {
  // Without a limit nothing changes between searches of a problem.
  if (!problem.memoryLimitBytes || (proven && !proven->memoryLimitBytes))
    return;
  ProvenLeast now{{}, problem.memoryLimitBytes, ignoresLimit};
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    std::vector<double> &own = now.leastWith.emplace_back(problem.tableOf(NodeId(node)).costs.size(), 0.0);
    for (auto [strategy, seconds] : llvm::zip_equal(reduced->survivors.of(node), leastWith[node]))
      own[strategy] = seconds;
  }
  proven = std::move(now);
}

bool SharedWork::Parts::knowsOf(const Problem &problem) const {
  return proven && problem.memoryLimitBytes &&
         (!proven->memoryLimitBytes || *problem.memoryLimitBytes <= *proven->memoryLimitBytes);
}

LeastWith SharedWork::Parts::recall(const Problem &problem) const {
  if (!knowsOf(problem))
    return {};
  LeastWith known;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    std::vector<double> &own = known.emplace_back();
    for (uint32_t strategy : reduced->survivors.of(node))
      own.push_back(proven->leastWith[node][strategy]);
  }
  return known;
}

void SharedWork::trust(const SharedWork &other) {
  parts->proven = other.parts->proven;
  if (parts->proven)
    parts->proven->memoryLimitBytes.reset();
}

} // namespace apc
