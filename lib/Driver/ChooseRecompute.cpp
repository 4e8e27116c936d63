// One plan for each policy, and the best of them.
#include "ChooseRecompute.h"

#include "apc/Planning/PlanRank.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

constexpr RecomputeChoice policies[] = {RecomputeChoice::None, RecomputeChoice::Norms, RecomputeChoice::Attention,
                                        RecomputeChoice::Full};

PlanRank rankOf(const Plan &plan) {
  PlanRank rank{plan.stepSeconds, plan.memory.total(), 0, plan.devicesUsed};
  for (const StagePlan &stage : plan.stages)
    for (const PlanMove &move : stage.moves)
      rank.collectives += static_cast<int64_t>(move.collectives.size());
  return rank;
}

/// The bound, gap and status of a plan that was chosen among all.
void boundByAll(Plan &best, double bound) {
  bool isProven = best.status == PlanStatus::Optimal && bound >= best.stepSeconds * (1 - sumRounding);
  best.status = isProven ? PlanStatus::Optimal : PlanStatus::Feasible;
  best.lowerBoundSeconds = isProven ? best.stepSeconds : std::min(bound, best.stepSeconds);
  best.gap = best.stepSeconds > 0 ? 1 - best.lowerBoundSeconds / best.stepSeconds : 0;
}

std::string describe(const Plan &plan) {
  return llvm::formatv("{0} {1} with {2}", recomputeChoiceName(plan.request.recompute), formatSeconds(plan.stepSeconds),
                       formatBytes(static_cast<double>(plan.memory.total())))
      .str();
}

} // namespace

llvm::Expected<Plan> chooseRecompute(const PlanRequest &request,
                                     llvm::function_ref<llvm::Expected<Plan>(const PlanRequest &)> plan) {
  std::vector<Plan> plans;
  std::vector<std::string> lines;
  std::string reason;
  for (RecomputeChoice policy : policies) {
    PlanRequest own = request;
    own.recompute = policy;
    own.timeLimitSeconds = request.timeLimitSeconds / std::size(policies);
    llvm::Expected<Plan> found = plan(own);
    if (found) {
      lines.push_back(describe(*found));
      plans.push_back(std::move(*found));
      continue;
    }
    auto [fault, message] = takeMessage(found.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    lines.push_back((recomputeChoiceName(policy) + " does not fit").str());
    reason = std::move(message);
  }
  if (plans.empty())
    return noPlanError("with any --recompute: {0}", reason);
  std::vector<PlanRank> ranks;
  llvm::transform(plans, std::back_inserter(ranks), rankOf);
  double bound = plans.front().lowerBoundSeconds;
  for (const Plan &each : plans)
    bound = std::min(bound, each.lowerBoundSeconds);
  Plan best = std::move(plans[bestOf(ranks)]);
  boundByAll(best, bound);
  best.request.timeLimitSeconds = request.timeLimitSeconds;
  best.notes.push_back(llvm::formatv("recompute '{0}' is the fastest that fits: {1}",
                                     recomputeChoiceName(best.request.recompute), llvm::join(lines, "; ")));
  return best;
}

} // namespace apc
