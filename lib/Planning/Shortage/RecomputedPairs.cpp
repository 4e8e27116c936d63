// Pairs of policies: bounded by seconds, then searched by bytes.
#include "apc/Planning/RecomputedPairs.h"

#include "apc/Planning/RecomputedLayers.h"

#include <algorithm>
#include <cmath>

namespace apc {

namespace {

class PairSearch {
public:
  PairSearch(llvm::ArrayRef<PolicySteps> fitting, int64_t limitBytes, PlanOfPair plan)
      : fitting(fitting), tried(triedOf(fitting)), limitBytes(limitBytes), plan(plan) {
    for (const PolicySteps &own : fitting)
      fastest = std::min(fastest, own.fewestSeconds);
  }

  /// Tries all pairs with \p light for the last layers.
  llvm::Error tryLight(RecomputeChoice light);

private:
  /// The policy that measures what light ones take: the fastest with fewer than all layers, where there is one.
  static const PolicySteps &triedOf(llvm::ArrayRef<PolicySteps> fitting);
  /// Seconds that a layer takes longer with `heavy` than with the light policy of \p trial, whose first layers are
  /// those of `tried`. None where the layers of a policy are not known one by one.
  std::optional<double> secondsMore(const PolicySteps &heavy, const StepCost &trial) const;
  /// The first layers of the first step that is planned with a light policy: the fewest, with a layer left.
  int64_t firstLayers() const { return std::min(tried.fewest, tried.layers - 1); }
  /// Fewer and fewer layers of `own`, from those that it has on.
  llvm::Error searchFrom(RecomputeSetting own);

  llvm::ArrayRef<PolicySteps> fitting;
  const PolicySteps &tried;
  int64_t limitBytes;
  PlanOfPair plan;
  double fastest = fitting.front().fewestSeconds;
};

const PolicySteps &PairSearch::triedOf(llvm::ArrayRef<PolicySteps> fitting) {
  return *std::min_element(fitting.begin(), fitting.end(), [](const PolicySteps &a, const PolicySteps &b) {
    bool aNeedsAll = a.fewest == a.layers, bNeedsAll = b.fewest == b.layers;
    return aNeedsAll != bNeedsAll ? bNeedsAll : a.fewestSeconds < b.fewestSeconds;
  });
}

std::optional<double> PairSearch::secondsMore(const PolicySteps &heavy, const StepCost &trial) const {
  auto secondsOf = [](const PolicySteps &own) {
    return (own.allSeconds - own.fewestSeconds) / static_cast<double>(own.layers - own.fewest);
  };
  double more = (tried.allSeconds - trial.seconds) / static_cast<double>(tried.layers - firstLayers());
  if (heavy.policy == tried.policy)
    return more;
  if (heavy.fewest == heavy.layers || tried.fewest == tried.layers)
    return std::nullopt;
  return more + secondsOf(heavy) - secondsOf(tried);
}

llvm::Error PairSearch::searchFrom(RecomputeSetting own) {
  std::optional<LayerSearch> search;
  for (std::optional<int64_t> next = own.layers; next; next = search->next()) {
    own.layers = *next;
    std::optional<StepCost> cost;
    if (llvm::Error error = plan(own).moveInto(cost))
      return error;
    bool isGood = cost && cost->seconds <= fastest;
    if (!search && !isGood)
      return llvm::Error::success();
    if (search)
      search->add(*next, isGood, isGood ? cost->bytes : 0);
    else
      search.emplace(*next, cost->bytes, limitBytes);
    if (isGood)
      fastest = cost->seconds;
  }
  return llvm::Error::success();
}

llvm::Error PairSearch::tryLight(RecomputeChoice light) {
  if (firstLayers() < 1)
    return llvm::Error::success();
  std::optional<StepCost> trial;
  if (llvm::Error error = plan({tried.policy, firstLayers(), light}).moveInto(trial))
    return error;
  if (!trial)
    return llvm::Error::success();
  fastest = std::min(fastest, trial->seconds);
  for (const PolicySteps &heavy : fitting) {
    std::optional<double> more = secondsMore(heavy, *trial);
    if (!more || *more <= 0)
      continue;
    double allLight = heavy.allSeconds - static_cast<double>(heavy.layers) * *more;
    auto most = static_cast<int64_t>(std::ceil((fastest - allLight) / *more)) - 1;
    most = std::min(most, heavy.layers - 1);
    if (most >= 1)
      if (llvm::Error error = searchFrom({heavy.policy, most, light}))
        return error;
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error searchPairs(llvm::ArrayRef<PolicySteps> fitting, llvm::ArrayRef<RecomputeChoice> others, int64_t limitBytes,
                        PlanOfPair plan) {
  if (fitting.empty())
    return llvm::Error::success();
  PairSearch search(fitting, limitBytes, plan);
  for (RecomputeChoice light : others)
    if (llvm::Error error = search.tryLight(light))
      return error;
  return llvm::Error::success();
}

} // namespace apc
