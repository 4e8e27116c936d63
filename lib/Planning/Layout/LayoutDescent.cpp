// One thing after the other is changed, as long as that is faster.
#include "LayoutDescent.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace apc {

namespace {

/// Policies that layouts have, those that keep most first.
constexpr RecomputeChoice policies[] = {RecomputeChoice::None, RecomputeChoice::Norms, RecomputeChoice::Full};

RecomputeChoice policyOf(const ParallelDegrees &layout) {
  return layout.recompute ? layout.recompute->policy : RecomputeChoice::None;
}

/// The next policy that keeps less; none behind the last.
std::optional<RecomputeChoice> nextPolicy(const ParallelDegrees &layout) {
  const auto *own = llvm::find(policies, policyOf(layout));
  if (own == std::end(policies) || std::next(own) == std::end(policies))
    return std::nullopt;
  return *std::next(own);
}

ParallelDegrees withChunks(ParallelDegrees layout, int64_t chunks) {
  layout.chunks = chunks > 1 ? std::optional(chunks) : std::nullopt;
  return layout;
}

ParallelDegrees withPolicy(ParallelDegrees layout, RecomputeChoice policy) {
  layout.recompute = policy;
  return layout;
}

void addChunks(const ParallelDegrees &layout, std::vector<ParallelDegrees> &neighbours) {
  const int64_t chunks = layout.numChunks();
  if (layout.pipeline == 1)
    return;
  constexpr std::pair<int64_t, int64_t> changes[] = {{2, 1}, {3, 1}, {3, 2}, {3, 4}, {1, 2}};
  for (auto [times, part] : changes)
    if (chunks % part == 0)
      neighbours.push_back(withChunks(layout, chunks / part * times));
}

void addSamples(const ParallelDegrees &layout, std::vector<ParallelDegrees> &neighbours) {
  const int64_t samples = layout.microBatch.value_or(1);
  ParallelDegrees more = layout, fewer = layout;
  more.microBatch = samples * 2;
  neighbours.push_back(more);
  fewer.microBatch = samples / 2;
  if (samples % 2 == 0)
    neighbours.push_back(fewer);
}

void addTensor(const ParallelDegrees &layout, int64_t mostTensor, std::vector<ParallelDegrees> &neighbours) {
  const int64_t samples = layout.microBatch.value_or(1);
  ParallelDegrees fewer = layout, more = layout;
  fewer.tensor /= 2;
  fewer.data *= 2;
  fewer.microBatch = std::max<int64_t>(1, samples / 2);
  if (layout.tensor % 2 == 0)
    neighbours.push_back(fewer);
  more.tensor *= 2;
  more.data /= 2;
  more.microBatch = samples * 2;
  if (layout.data % 2 == 0 && more.tensor <= mostTensor)
    neighbours.push_back(more);
}

void addWorkers(const ParallelDegrees &layout, std::vector<ParallelDegrees> &neighbours) {
  const int64_t chunks = layout.numChunks();
  ParallelDegrees more = withChunks(layout, std::max<int64_t>(1, chunks / 2));
  more.pipeline *= 2;
  more.data /= 2;
  if (layout.data % 2 == 0)
    neighbours.push_back(more);
  ParallelDegrees fewer = withChunks(layout, chunks * 2);
  fewer.pipeline /= 2;
  fewer.data *= 2;
  if (fewer.pipeline == 1)
    fewer = withChunks(fewer, 1);
  if (layout.pipeline % 2 == 0)
    neighbours.push_back(fewer);
}

bool fits(const Plan &plan) { return plan.memory.total() <= plan.memoryLimitBytes; }

/// Goes from layout to layout.
class Descent {
public:
  Descent(EvaluatedLayout from, const StepSizes &step, MayTryLayout mayTry, TryLayout tryLayout)
      : best(std::move(from)), step(step), mayTry(mayTry), tryLayout(tryLayout), tried{best.layout} {}

  llvm::Expected<EvaluatedLayout> run(int64_t mostTensor) {
    for (bool isBetter = true; isBetter;) {
      isBetter = false;
      for (const ParallelDegrees &next : neighboursOf(best.layout, step, mostTensor)) {
        llvm::Expected<bool> found = tryWithPolicies(next);
        if (!found)
          return found.takeError();
        isBetter = *found;
        if (isBetter)
          break;
      }
    }
    return std::move(best);
  }

private:
  /// True where the layout, or with the next policy, is the best.
  llvm::Expected<bool> tryWithPolicies(const ParallelDegrees &next) {
    llvm::Expected<std::optional<bool>> isBetter = tryOne(next);
    if (!isBetter)
      return isBetter.takeError();
    std::optional<RecomputeChoice> policy = nextPolicy(next);
    if (!isBetter->has_value() && policy)
      isBetter = tryOne(withPolicy(next, *policy));
    if (!isBetter)
      return isBetter.takeError();
    return isBetter->value_or(false);
  }

  /// Is it the best? None where it would be, but does not fit.
  llvm::Expected<std::optional<bool>> tryOne(const ParallelDegrees &next) {
    if (llvm::is_contained(tried, next) || !mayTry(next))
      return std::optional(false);
    tried.push_back(next);
    llvm::Expected<std::optional<Plan>> plan = tryLayout(next, best.plan.stepSeconds);
    if (!plan)
      return plan.takeError();
    if (!*plan)
      return std::optional(false);
    if ((*plan)->stepSeconds >= best.plan.stepSeconds) // and recomputation only adds to it
      return std::optional(false);
    if (!fits(**plan))
      return std::nullopt;
    best = {next, std::move(**plan)};
    return std::optional(true);
  }

  EvaluatedLayout best;
  const StepSizes &step;
  MayTryLayout mayTry;
  TryLayout tryLayout;
  std::vector<ParallelDegrees> tried;
};

} // namespace

std::vector<ParallelDegrees> neighboursOf(const ParallelDegrees &layout, const StepSizes &step, int64_t mostTensor) {
  std::vector<ParallelDegrees> neighbours;
  addTensor(layout, mostTensor, neighbours);
  addWorkers(layout, neighbours);
  addChunks(layout, neighbours);
  addSamples(layout, neighbours);
  for (RecomputeChoice policy : policies)
    if (policy != policyOf(layout))
      neighbours.push_back(withPolicy(layout, policy));
  for (ParallelDegrees &own : neighbours)
    own.experts = step.experts > 0 ? std::gcd(step.experts, own.data) : 1;
  llvm::erase_if(neighbours,
                 [&](const ParallelDegrees &own) { return step.batch % (own.data * own.microBatch.value_or(1)) != 0; });
  return neighbours;
}

llvm::Expected<EvaluatedLayout> improveLayout(EvaluatedLayout from, const StepSizes &step, int64_t mostTensor,
                                              MayTryLayout mayTry, TryLayout tryLayout) {
  return Descent(std::move(from), step, mayTry, tryLayout).run(mostTensor);
}

} // namespace apc
