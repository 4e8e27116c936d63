// The step that is as fast as with any policy of recomputation.
#include "SecondsOnOne.h"
#include "StepsAtHand.h"

#include "apc/Graph/FewestMoves.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::Expected<StepsAtHand::Policies> StepsAtHand::fasterOnOne(const PlanRequest &request,
                                                               llvm::ArrayRef<RecomputeSetting> policies,
                                                               const Pool &pool, WorkClock &clock,
                                                               unsigned numThreads) {
  if (knownFaster && knownFaster->first == policies.vec())
    return knownFaster->second;
  auto withPolicy = [&](size_t index) {
    PlanRequest own = request;
    own.recompute = policies[index];
    return own;
  };
  std::vector<double> seconds(policies.size());
  if (auto known = secondsByLayers(request, policies, pool, clock)) {
    seconds = std::move(*known);
  } else {
    forEach(policies.size(), numThreads, [&](size_t index) {
      if (llvm::Expected<Step> step = uncounted(withPolicy(index)))
        seconds[index] = secondsOnOne((*step)->graph, pool);
      else
        llvm::consumeError(step.takeError()); // it comes again below
    });
    for (size_t index = 0; index < policies.size(); ++index)
      if (llvm::Error error = of(withPolicy(index), clock).takeError())
        return std::move(error);
  }
  Policies faster;
  for (size_t index = 0; index < policies.size(); ++index)
    if (seconds[index] < seconds.front())
      faster.push_back(policies[index]);
  knownFaster.emplace(policies.vec(), faster);
  return faster;
}

llvm::Expected<StepsAtHand::Step> StepsAtHand::fastestOf(const PlanRequest &request,
                                                         llvm::ArrayRef<RecomputeSetting> policies, const Pool &pool,
                                                         WorkClock &clock, unsigned numThreads) {
  if (policies.size() < 2 || !(request.recompute == policies.front()))
    return of(request, clock);
  llvm::Expected<Policies> faster = fasterOnOne(request, policies, pool, clock, numThreads);
  if (!faster)
    return faster.takeError();
  llvm::Expected<Step> own = of(request, clock);
  if (!own || faster->empty())
    return own;
  OpGraph fastest = (*own)->graph;
  for (const RecomputeSetting &policy : *faster) {
    PlanRequest other = request;
    other.recompute = policy;
    llvm::Expected<Step> step = of(other, clock);
    if (!step)
      return step.takeError();
    fastest = withFewerMoves(std::move(fastest), (*step)->graph);
  }
  auto isSame = [](const GraphOp &a, const GraphOp &b) { return a.kernel == b.kernel; };
  if (llvm::equal(fastest.ops, (*own)->graph.ops, isSame))
    return own;
  return std::make_shared<const StepAtHand>(
      StepAtHand{(*own)->report, std::move(fastest), (*own)->notes, (*own)->importSeconds});
}

} // namespace apc
