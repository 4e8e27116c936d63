// One point of a training step with every policy of recomputation, with fewer layers, and with pairs of policies.
#include "TrainingTrials.h"

#include "apc/Driver/TrainModel.h"
#include "apc/Planning/RecomputedLayers.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Expected<PolicySteps> TrainingTrials::tryFewerLayers(const PolicyTrial &trial, int64_t layers, double end) {
  const auto &[own, all] = trial;
  LayerSearch search(layers, all.rank.bytes, all.limitBytes);
  double fastest = all.rank.seconds;
  for (auto next = search.next(); next && secondsLeft() > end; next = search.next()) {
    PlanRequest fewer = own;
    fewer.recompute.layers = *next;
    auto fitting = tryOne(fewer, secondsLeft() - end);
    if (!fitting)
      return fitting.takeError();
    bool isGood = *fitting && (*fitting)->rank.seconds <= fastest;
    search.add(*next, isGood, isGood ? (*fitting)->rank.bytes : 0);
    if (isGood)
      fastest = (*fitting)->rank.seconds;
  }
  return PolicySteps{own.recompute.policy, layers, search.fewest(), all.rank.seconds, fastest};
}

llvm::Error TrainingTrials::tryLayers(llvm::ArrayRef<PolicyTrial> fitting, llvm::ArrayRef<RecomputeChoice> others,
                                      double end) {
  llvm::Expected<int64_t> layers = repeatedLayers(fitting.front().first);
  if (!layers)
    return layers.takeError();
  std::vector<PolicySteps> steps;
  size_t shares = fitting.size() + (others.empty() ? 0 : 1);
  for (auto [index, trial] : llvm::enumerate(fitting)) {
    double left = secondsLeft() - end;
    if (left <= 0)
      break;
    if (trial.first.recompute == RecomputeChoice::None) // has no layers to leave out
      continue;
    auto own = tryFewerLayers(trial, *layers, secondsLeft() - left / static_cast<double>(shares - index));
    if (!own)
      return own.takeError();
    steps.push_back(*own);
  }
  auto planPair = [&](const RecomputeSetting &pair) -> llvm::Expected<std::optional<StepCost>> {
    PlanRequest own = fitting.front().first;
    own.recompute = pair;
    if (secondsLeft() <= end)
      return std::nullopt;
    auto found = tryOne(own, secondsLeft() - end);
    if (!found)
      return found.takeError();
    return *found ? std::optional(StepCost{(*found)->rank.seconds, (*found)->rank.bytes}) : std::nullopt;
  };
  return searchPairs(steps, others, fitting.front().second.limitBytes, planPair);
}

bool TrainingTrials::isLeftOut(const PlanRequest &trial, bool fits) {
  constexpr double little = 0.02;
  const bool isOther = ofLayout && ofLayout->first.microBatch != trial.microBatch;
  const bool mayWin = isOther && !fits && knownLeast(trial) < (1 - little) * secondsToBeat();
  const bool isFar = isLed() && !isNearLayout(trial) && !mayWin;
  return isFar || (best && isProven(leastWithAnyMemory(trial) + secondsAddedTo(trial)));
}

llvm::Expected<std::optional<double>> TrainingTrials::tryPolicies(const PlanRequest &point, double end) {
  std::vector<PolicyTrial> fitting;
  std::vector<RecomputeChoice> others;
  auto leastOfAll = leastBesideLayout(point);
  if (!leastOfAll || isProven(leastOfAll->value_or(0)))
    return leastOfAll;
  for (auto [index, policy] : llvm::enumerate(policies)) {
    if ((index > 0 || *leastOfAll) && (isStopped() || (best && secondsLeft() <= 0)))
      return knownLeast(point); // of policies that are left, nothing else is known
    PlanRequest trial = point;
    trial.recompute = policy;
    if (*leastOfAll && isLeftOut(trial, !fitting.empty()))
      continue;
    constexpr size_t mostShares = 2; // the first policies are often enough
    auto found =
        tryPolicy(trial, (secondsLeft() - end) / static_cast<double>(std::min(mostShares, policies.size() - index)));
    if (!found)
      return found.takeError();
    if (isRefused)
      return std::nullopt;
    if (!*found && !(policy == RecomputeChoice::None))
      others.push_back(policy.policy);
    if (!*found || policies.size() == 1 || isStopped())
      continue;
    fitting.emplace_back(trial, **found);
    auto settled = isSettledBy(trial, **found);
    if (!settled)
      return settled.takeError();
    *leastOfAll = settled->leastSeconds;
    if (settled->isSettled)
      return leastOfAll;
  }
  llvm::stable_sort(fitting,
                    [](const auto &a, const auto &b) { return a.second.rank.seconds < b.second.rank.seconds; });
  constexpr double near = 1.1; // of the best: fewer layers to recompute give some per cent
  if (!fitting.empty() && !isLed() && fitting.front().second.rank.seconds <= near * secondsToBeat())
    if (llvm::Error error = tryLayers(fitting, others, end))
      return std::move(error);
  return leastOfAll;
}

} // namespace apc
