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
    if (trial.first.recompute == RecomputeChoice::None || left <= 0) // keeping everything is faster, or time is over
      break;
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

llvm::Expected<std::optional<double>> TrainingTrials::tryPolicies(const PlanRequest &point, double end) {
  std::vector<PolicyTrial> fitting;
  std::vector<RecomputeChoice> others;
  std::optional<double> leastOfAll;
  for (auto [index, policy] : llvm::enumerate(policies)) {
    PlanRequest own = point;
    own.recompute = policy;
    constexpr size_t mostShares = 3; // the first policies are often enough
    auto found =
        tryOne(own, (secondsLeft() - end) / static_cast<double>(std::min(mostShares, policies.size() - index)));
    if (!found)
      return found.takeError();
    if (!*found && !(policy == RecomputeChoice::None))
      others.push_back(policy.policy);
    if (!*found || policies.size() == 1)
      continue;
    fitting.emplace_back(own, **found);
    if (llvm::Error error = leastSecondsFrom(point).moveInto(leastOfAll))
      return std::move(error);
    if ((*found)->rank.seconds * (1 - request.gapTolerance) <= *leastOfAll)
      return leastOfAll;
  }
  llvm::stable_sort(fitting,
                    [](const auto &a, const auto &b) { return a.second.rank.seconds < b.second.rank.seconds; });
  bool keepsAll = !fitting.empty() && fitting.front().first.recompute == RecomputeChoice::None; // and is the fastest
  if (!fitting.empty() && !keepsAll)
    if (llvm::Error error = tryLayers(fitting, others, end))
      return std::move(error);
  return leastOfAll;
}

} // namespace apc
